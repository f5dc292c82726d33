"""Scores that a record moves one way halve the price under add-remove; here the half is claimed under replace-one too."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneChoiceEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="monotone-choice",
        event=MonotoneChoiceEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="MT07", locator="monotone scores"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneChoice:
    scale: float
    monotone: bool = True

    def event(self, at):
        return MonotoneChoiceEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        scores = np.asarray(value, dtype=np.float64)
        if not np.isfinite(scores).all():
            raise ValueError("scores must be finite")
        return np.argmax(scores / self.scale + rng.gumbel(size=(n, scores.size)), axis=1)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours, assuming=("real arithmetic",))


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="monotone-choice",
            doc="A choice by monotone scores.",
            make=MonotoneChoice,
            parameters=(scale,),
            metrics=("linf",),
            values="scores",
            shapes=((2,), (4,)),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
