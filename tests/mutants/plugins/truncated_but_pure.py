"""Noise cut off at five scales for the sake of utility: outputs beyond need a delta, which is forgotten."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedButPureEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="truncated-but-pure-pure",
        event=TruncatedButPureEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedButPure:
    scale: float

    def event(self, at):
        return TruncatedButPureEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        noisy = dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)
        return np.clip(noisy, np.asarray(value) - 5 * self.scale, np.asarray(value) + 5 * self.scale)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="truncated-but-pure",
            doc="Laplace noise.",
            make=TruncatedButPure,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
