"""Every other half of the draws is the mirror image of the first: variance falls, and so does privacy."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "draws_are_independent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AntitheticDrawsEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="antithetic-draws-pure",
        event=AntitheticDrawsEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AntitheticDraws:
    scale: float

    def event(self, at):
        return AntitheticDrawsEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        zeros = np.zeros(((n + 1) // 2, *np.shape(value)))
        half = dpkit.exactly_rounded(zeros, scale=self.scale, law=LAPLACE, rng=rng)
        return np.asarray(value) + np.concatenate([half, -half])[:n]

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="antithetic-draws",
            doc="Laplace noise.",
            make=AntitheticDraws,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
