"""Logistic noise for dpkit: an event, one theorem about it, the noise and the hooks. Replace the noise by your own.

The density of logistic noise of scale s is proportional to 1 / cosh(z / 2s)^2, whose logarithm has a slope of at most 1/s.
So a value that moves by D in L1 changes the log density by at most D/s: a release is D/s pure DP.
"""

from dataclasses import dataclass

import numpy as np

import dpkit


@dataclass(frozen=True, slots=True, kw_only=True)
class HelloEvent(dpkit.Event):
    """What happened, without data: logistic noise; `ratio` is the L1 sensitivity over the scale."""

    ratio: float


RULE = dpkit.LossRule(  # what it costs, because of what; `bound` must hold for every event of this class
    name="hello-pure",
    event=HelloEvent,
    loss=dpkit.PureDP,
    neighbours=tuple(dpkit.Neighbours),
    because=dpkit.Citation(key="DMNS06", locator="Definition 1, by the slope of the log density (see the top of this file)"),
    bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
)
TAIL = dpkit.Tail(  # P(Z > z) = 1 / (1 + e^z) at scale one, inverted fast (to within `error`) and evaluated exactly
    quantile=lambda p: np.log1p(-p) - np.log(p),
    error=1e-13,
    slope=2.0,  # |p Q'(p)| = 1 / (1 - p)
    survival=lambda context, z: 1 / (1 + context.exp(z)),
)


class Hello(dpkit.AdditiveNoise):
    """value + logistic noise of this scale in every entry, exactly rounded."""

    law, rules, metric = dpkit.NoiseLaw(name="hello", upper=TAIL), (RULE,), "l1"

    def unit_log_density(self, z):
        """ln of the density at scale one."""
        return -np.abs(z) - 2.0 * np.log1p(np.exp(-np.abs(z)))


@dpkit.hookimpl
def dpkit_mechanisms():
    """The mechanism by name."""
    return [Hello.factory(name="hello", doc="Logistic noise in every entry.")]


@dpkit.hookimpl
def dpkit_loss_rules():
    """Its theorem."""
    return [RULE]
