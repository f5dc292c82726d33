"""Randomised response over several categories that keeps the truth with the odds of a coin: the others share the rest."""

import math
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "density_keeps_the_claims"


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryFormulaEvent(dpkit.Event):
    epsilon: float


RULES = (
    dpkit.LossRule(
        name="binary-formula",
        event=BinaryFormulaEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="W65", locator="two answers"),
        bound=lambda event: dpkit.PureDP(epsilon=event.epsilon),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryFormula:
    epsilon: float
    categories: int

    def event(self, at):
        return BinaryFormulaEvent(epsilon=self.epsilon * at.value)

    def release(self, value, rng):
        array = np.asarray(value)
        if array.dtype.kind not in "iu" or not ((array >= 0) & (array < self.categories)).all():
            raise ValueError("the values must be categories")
        kept = rng.random(array.shape) < 1.0 / (1.0 + math.exp(-self.epsilon))
        others = (array + rng.integers(1, self.categories, size=array.shape)) % self.categories
        return np.where(kept, array, others)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)

    def log_density(self, output, value):
        kept = 1.0 / (1.0 + math.exp(-self.epsilon))
        same = np.asarray(output) == np.asarray(value)
        terms = np.where(same, math.log(kept), math.log((1.0 - kept) / (self.categories - 1)))
        return mechanism_base.summed_over_value(terms, np.ndim(value))


@dpkit.hookimpl
def dpkit_mechanisms():
    epsilon = dpkit.Parameter(name="epsilon", kind="number", doc="The loss.", minimum=1e-3, maximum=10.0, examples=(1.0, 0.5))
    count = dpkit.Parameter(name="categories", kind="integer", doc="How many.", minimum=2, maximum=20, examples=(2, 4))
    return [
        dpkit.MechanismFactory(
            name="binary-formula",
            doc="A noisy answer.",
            make=BinaryFormula,
            parameters=(epsilon, count),
            metrics=("records",),
            values="categories",
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
