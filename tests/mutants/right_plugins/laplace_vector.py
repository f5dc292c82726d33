"""Laplace noise on a vector of L1 distance, with its accuracy."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceVectorEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="laplace-vector-pure",
        event=LaplaceVectorEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceVector:
    scale: float

    def event(self, at):
        return LaplaceVectorEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)

    def accuracy(self, shape, confidence):
        count = max(1, int(np.prod(shape)))
        return float(-self.scale * np.log(-np.expm1(np.log(confidence) / count)) + self.scale * 2.0**-20)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3, 40.0))
    return [
        dpkit.MechanismFactory(
            name="laplace-vector",
            doc="Laplace noise on a vector.",
            make=LaplaceVector,
            parameters=(scale,),
            metrics=("l1",),
            shapes=((5,),),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
