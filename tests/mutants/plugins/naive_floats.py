"""Textbook floating-point noise: which numbers can come out depends on the value (Mironov 2012)."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "outputs_lie_on_a_fixed_grid"


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveFloatsEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="naive-floats-pure",
        event=NaiveFloatsEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveFloats:
    scale: float

    def event(self, at):
        return NaiveFloatsEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return np.asarray(value, dtype=np.float64) + rng.laplace(0.0, self.scale, np.shape(value))

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="naive-floats",
            doc="Laplace noise.",
            make=NaiveFloats,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
