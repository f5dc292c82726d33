"""The textbook's sigma = D sqrt(2 ln(1.25/delta)) / epsilon, whose theorem ends at epsilon = 1, used beyond it."""

import math
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import GAUSSIAN
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "density_keeps_the_claims"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicalSigmaEvent(dpkit.Event):
    ratio: float
    delta: float


RULES = (
    dpkit.LossRule(
        name="classical-sigma",
        event=ClassicalSigmaEvent,
        loss=dpkit.ApproxDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DR14", locator="Theorem A.1"),
        bound=lambda event: dpkit.ApproxDP(
            epsilon=event.ratio * math.sqrt(2.0 * math.log(1.25 / event.delta)), delta=event.delta if event.ratio else 0.0
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicalSigma:
    scale: float
    delta: float

    def event(self, at):
        return ClassicalSigmaEvent(ratio=mechanism_base.ratio_up(at.value, self.scale), delta=self.delta)

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=GAUSSIAN, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -(((np.asarray(output) - center) / self.scale) ** 2) / 2.0 - np.log(self.scale * np.sqrt(2.0 * np.pi))
        return mechanism_base.summed_over_value(terms, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    delta = dpkit.Parameter(name="delta", kind="number", doc="The delta.", minimum=1e-12, maximum=1e-6, examples=(1e-6,))
    return [
        dpkit.MechanismFactory(
            name="classical-sigma", doc="Gaussian noise.", make=ClassicalSigma, parameters=(scale, delta), metrics=("l2",)
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
