"""Noise in proportion to the value, as for a relative error: its spread shows the value."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleGrowsWithTheValueEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="scale-grows-with-the-value-pure",
        event=ScaleGrowsWithTheValueEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleGrowsWithTheValue:
    scale: float

    def event(self, at):
        return ScaleGrowsWithTheValueEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        noise = dpkit.exactly_rounded(np.zeros(array.shape), scale=self.scale, law=LAPLACE, rng=rng)
        if not np.isfinite(array).all():
            raise ValueError("the values must be finite")
        return array + np.maximum(1.0, np.abs(array)) * noise

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="scale-grows-with-the-value",
            doc="Laplace noise.",
            make=ScaleGrowsWithTheValue,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
