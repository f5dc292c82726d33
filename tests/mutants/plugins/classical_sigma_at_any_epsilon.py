"""The textbook's sigma = D sqrt(2 ln(1.25/delta)) / epsilon, whose theorem ends at epsilon = 1, used beyond it."""

import math
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import GAUSSIAN
from dpkit.privacy.neighbours import EITHER
from tests.mutants.scaled import SCALE, Scaled, hooks_of

CAUGHT_BY = "density_keeps_the_claims"
DELTA = dpkit.Parameter(name="delta", kind="number", doc="The delta.", minimum=1e-12, maximum=1e-6, examples=(1e-6,))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicalSigmaEvent(dpkit.Event):
    ratio: float
    delta: float


RULE = dpkit.LossRule(
    name="classical-sigma",
    event=ClassicalSigmaEvent,
    loss=dpkit.ApproxDP,
    neighbours=EITHER,
    because=dpkit.Citation(key="DR14", locator="Theorem A.1"),
    bound=lambda event: dpkit.ApproxDP(
        epsilon=event.ratio * math.sqrt(2.0 * math.log(1.25 / event.delta)), delta=event.delta if event.ratio else 0.0
    ),
)


@dataclass(frozen=True, kw_only=True)
class ClassicalSigma(Scaled):
    rules = (RULE,)
    delta: float

    def event(self, at):
        return ClassicalSigmaEvent(ratio=mechanism_base.ratio_up(at.value, self.scale), delta=self.delta)

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=GAUSSIAN, rng=rng)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -(((np.asarray(output) - center) / self.scale) ** 2) / 2.0 - np.log(self.scale * np.sqrt(2.0 * np.pi))
        return mechanism_base.summed_over_value(terms, center.ndim)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ClassicalSigma, parameters=(SCALE, DELTA), metrics=("l2",))
