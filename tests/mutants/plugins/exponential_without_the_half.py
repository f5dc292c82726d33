"""Scores weighted by exp(score / scale) and priced as if by exp(score / 2 scale), though a score may rise while others fall."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "density_keeps_the_claims"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeExponentEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="whole-exponent-pure",
        event=WholeExponentEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="MT07", locator="Theorem 6"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeExponent:
    scale: float

    def event(self, at):
        return WholeExponentEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        scores = np.asarray(value, dtype=np.float64)
        if scores.ndim != 1 or not np.isfinite(scores).all():
            raise ValueError("the scores must be finite")
        return np.argmax(scores / self.scale + rng.gumbel(size=(n, len(scores))), axis=1)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)

    def log_density(self, output, value):
        logits = np.asarray(value, dtype=np.float64) / self.scale
        return (logits - np.logaddexp.reduce(logits))[np.asarray(output)]


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="whole-exponent",
            doc="A choice.",
            make=WholeExponent,
            parameters=(scale,),
            metrics=("linf",),
            values="scores",
            shapes=((3,), (5,)),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
