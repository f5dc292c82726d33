"""The mechanism keeps what it released, for debugging."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "mechanism_keeps_nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepsTheValueEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="keeps-the-value-pure",
        event=KeepsTheValueEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(kw_only=True)
class KeepsTheValue:
    scale: float

    def event(self, at):
        return KeepsTheValueEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        self.history.append(float(np.sum(value)))
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)

    def __post_init__(self):
        self.history = []


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="keeps-the-value",
            doc="Laplace noise.",
            make=KeepsTheValue,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
