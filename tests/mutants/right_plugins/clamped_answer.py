"""Laplace noise whose answer is clamped to a public interval: atoms at the ends, and right."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class ClampedAnswerEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="clamped-answer-pure",
        event=ClampedAnswerEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class ClampedAnswer:
    scale: float

    def event(self, at):
        return ClampedAnswerEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        """Post-processing: the answer is clamped to [0, 1]."""
        return np.clip(dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng), 0.0, 1.0)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="clamped-answer",
            doc="Laplace noise.",
            make=ClampedAnswer,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
