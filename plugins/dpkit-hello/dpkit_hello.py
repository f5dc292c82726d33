"""Logistic noise for dpkit: a mechanism, its event, one theorem and the hooks. Replace the noise by your own.

The density of logistic noise of scale s is proportional to 1 / cosh(z / 2s)^2, whose logarithm has a slope of at most 1/s.
So a value that moves by D in L1 changes the log density by at most D/s: a release is D/s pure DP.
"""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing

# One theorem: what the event costs, because of what. `bound` must hold for every event of this class.
CITATION = dpkit.Citation(key="DMNS06", locator="Definition 1, by the slope of the log density (see the top of this file)")


@dataclass(frozen=True, slots=True, kw_only=True)
class HelloEvent(dpkit.Event):
    """Logistic noise; `ratio` is the L1 sensitivity over the scale."""

    ratio: float


RULE = dpkit.LossRule(
    name="hello-pure",
    event=HelloEvent,
    loss=dpkit.PureDP,
    neighbours=tuple(dpkit.Neighbours),
    because=CITATION,
    bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
)

# The law at scale one, for exact rounding: P(Z > z) = 1 / (1 + e^z), inverted fast (to within `error`) and evaluated exactly.
LOGISTIC = dpkit.NoiseLaw(
    name="hello",
    upper=dpkit.Tail(
        quantile=lambda p: np.log1p(-p) - np.log(p),
        error=1e-13,
        slope=2.0,  # |p Q'(p)| = 1 / (1 - p)
        survival=lambda context, z: 1 / (1 + context.exp(z)),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """value + logistic noise of this scale in every entry, exactly rounded."""

    scale: float

    def event(self, at):
        """A release whose value moves by at most this L1 distance."""
        return HelloEvent(ratio=releasing.ratio_up(releasing.distance_in(at, metrics=("l1",), where="hello"), self.scale))

    def release(self, value, rng=None, *, saturate=None):
        """The noisy value, of the same shape."""
        return dpkit.exactly_rounded(value, scale=self.scale, law=LOGISTIC, rng=rng, saturate=saturate)

    def release_many(self, value, n, rng=None):
        """n independent noisy values along the first axis."""
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        """What the auditor tries to falsify."""
        return releasing.claims_of(self.event(at), [RULE], neighbours=neighbours)

    def log_density(self, output, value):
        """ln density of the unrounded output: optional, and makes the audit far more powerful."""
        z = np.abs(np.asarray(output, dtype=float) - np.asarray(value, dtype=float)) / self.scale
        return releasing.summed_over_value(-z - 2.0 * np.log1p(np.exp(-z)) - np.log(self.scale), np.ndim(value))


@dpkit.hookimpl
def dpkit_mechanisms():
    """The mechanism by name, with its declared parameter."""
    scale = dpkit.Parameter(
        name="scale", kind="number", doc="The scale of the noise.", minimum=1e-9, maximum=1e12, examples=(1.0, 0.3)
    )
    make = dpkit.MechanismFactory(
        name="hello", doc="Logistic noise in every entry.", make=Hello, parameters=(scale,), metrics=("l1",)
    )
    return [make]


@dpkit.hookimpl
def dpkit_loss_rules():
    """What it costs."""
    return [RULE]
