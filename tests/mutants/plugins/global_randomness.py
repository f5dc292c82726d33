"""The generator that was passed in is ignored: noise comes from numpy's global state."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "release_is_deterministic_given_the_rng"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalRandomnessEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="global-randomness-pure",
        event=GlobalRandomnessEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalRandomness:
    scale: float

    def event(self, at):
        return GlobalRandomnessEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return np.asarray(value, dtype=np.float64) + np.random.laplace(0.0, self.scale, np.shape(value))

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="global-randomness",
            doc="Laplace noise.",
            make=GlobalRandomness,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
