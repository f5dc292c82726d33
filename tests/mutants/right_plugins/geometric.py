"""Integers with two-sided geometric noise: the difference of two geometric numbers (GRS09)."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSidedGeometricEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="two-sided-geometric-pure",
        event=TwoSidedGeometricEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="GRS09", locator="Definition 4"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometric:
    scale: float

    def event(self, at):
        return TwoSidedGeometricEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value)
        if array.dtype.kind not in "iu":
            raise ValueError("the values must be whole numbers")
        stop = -np.expm1(-1.0 / self.scale)
        return array + rng.geometric(stop, array.shape) - rng.geometric(stop, array.shape)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours, assuming=("real arithmetic",))

    def log_density(self, output, value):
        center = np.asarray(value)
        terms = -np.abs(np.asarray(output) - center) / self.scale + np.log(np.tanh(0.5 / self.scale))
        return mechanism_base.summed_over_value(terms, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=0.05, maximum=1e4, examples=(1.0, 0.3, 40.0))
    return [
        dpkit.MechanismFactory(
            name="two-sided-geometric",
            doc="Geometric noise on integers.",
            make=Geometric,
            parameters=(scale,),
            metrics=("l1",),
            values="integers",
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
