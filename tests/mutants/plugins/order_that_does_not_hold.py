"""Its events declare that a smaller scale is cheaper: a plan would cover releases with less noise than it counted."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "the_order_of_its_events_holds"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsideDownEvent(dpkit.Event):
    cheaper_below: ClassVar[tuple[str, ...]] = ("scale",)

    moved: float
    scale: float


RULE = dpkit.LossRule(
    name="upside-down-pure",
    event=UpsideDownEvent,
    loss=dpkit.PureDP,
    neighbours=EITHER,
    because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
    bound=lambda event: dpkit.PureDP(epsilon=mechanism_base.ratio_up(event.moved, event.scale)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsideDown:
    scale: float

    def event(self, at):
        return UpsideDownEvent(moved=at.value, scale=self.scale)

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), [RULE], neighbours=neighbours)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -np.abs(np.asarray(output) - center) / self.scale - np.log(2.0 * self.scale)
        return mechanism_base.summed_over_value(terms, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [dpkit.MechanismFactory(name="upside-down", doc="Laplace.", make=UpsideDown, parameters=(scale,), metrics=("l1",))]


@dpkit.hookimpl
def dpkit_loss_rules():
    return [RULE]
