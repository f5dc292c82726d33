"""Staircase noise for a sensitivity of one: steps of width one, the first part of each higher (GV16)."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER

GAMMA = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class StaircaseEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="staircase-pure",
        event=StaircaseEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="GV16", locator="Definition 1, groups by the triangle inequality"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase:
    epsilon: float

    def event(self, at):
        # a shift by less than a step may still cross one: every step that is begun is paid for
        return StaircaseEvent(ratio=float(np.ceil(at.value)) * self.epsilon)

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        if not np.isfinite(array).all():
            raise ValueError("the values must be finite")
        step = rng.geometric(-np.expm1(-self.epsilon), array.shape) - 1
        low = rng.random(array.shape) < GAMMA / (GAMMA + np.exp(-self.epsilon) * (1.0 - GAMMA))
        within = np.where(low, GAMMA * rng.random(array.shape), GAMMA + (1.0 - GAMMA) * rng.random(array.shape))
        return array + rng.choice([-1.0, 1.0], array.shape) * (step + within)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours, assuming=("real arithmetic",))

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        gap = np.abs(np.asarray(output) - center)
        top = -np.expm1(-self.epsilon) / (2.0 * (GAMMA + np.exp(-self.epsilon) * (1.0 - GAMMA)))
        steps = np.floor(gap) + (gap - np.floor(gap) >= GAMMA)
        return mechanism_base.summed_over_value(np.log(top) - steps * self.epsilon, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    epsilon = dpkit.Parameter(name="epsilon", kind="number", doc="The loss.", minimum=0.01, maximum=5.0, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="staircase",
            doc="Staircase noise.",
            make=Staircase,
            parameters=(epsilon,),
            metrics=("l1",),
            shapes=((),),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
