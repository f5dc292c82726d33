"""The exponential mechanism as the largest of scores with Gumbel noise."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class GumbelChoiceEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="gumbel-choice-pure",
        event=GumbelChoiceEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="MT07", locator="Theorem 6: twice the change of a score"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GumbelChoice:
    scale: float

    def event(self, at):
        return GumbelChoiceEvent(ratio=mechanism_base.ratio_up(at.value, self.scale, factor=2))

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        scores = np.asarray(value, dtype=np.float64)
        if scores.ndim != 1 or not np.isfinite(scores).all():
            raise ValueError("the scores must be a vector of finite numbers")
        return np.argmax(scores / self.scale + rng.gumbel(size=(n, scores.size)), axis=1)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours, assuming=("real arithmetic",))

    def log_density(self, output, value):
        logits = np.asarray(value, dtype=np.float64) / self.scale
        top = np.max(logits)
        return (logits - top - np.log(np.sum(np.exp(logits - top))))[np.asarray(output)]


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3, 40.0))
    return [
        dpkit.MechanismFactory(
            name="gumbel-choice",
            doc="A choice by noisy scores.",
            make=GumbelChoice,
            parameters=(scale,),
            metrics=("linf",),
            values="scores",
            shapes=((2,), (4,)),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
