"""Laplace noise cut to a whole number towards zero: zero gets the mass of two numbers."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutTowardsZeroEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="cut-towards-zero-pure",
        event=CutTowardsZeroEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutTowardsZero:
    scale: float

    def event(self, at):
        return CutTowardsZeroEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value)
        if array.dtype.kind not in "iu":
            raise ValueError("the values must be whole numbers")
        return array + np.trunc(rng.laplace(0.0, self.scale, array.shape)).astype(np.int64)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="cut-towards-zero",
            doc="Laplace noise.",
            make=CutTowardsZero,
            parameters=(scale,),
            metrics=("l1",),
            values="integers",
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
