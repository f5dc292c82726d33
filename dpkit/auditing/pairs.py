"""Pairs of neighbouring values at a distance: where the built-in mechanisms are audited when no pair is given."""

from __future__ import annotations

import numpy as np

from dpkit.core.distances import Distance
from dpkit.core.mechanism import Mechanism
from dpkit.errors import InvalidValueError
from dpkit.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from dpkit.mechanisms.exponential import Exponential
from dpkit.mechanisms.randomized_response import RandomizedResponse
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian

Pair = tuple[object, object]


def pairs_at(mechanism: Mechanism, at: Distance) -> tuple[Pair, ...]:
    """Values that differ by this distance, extremes of what it allows; a mechanism's own `neighbouring_values` go first."""
    own = getattr(mechanism, "neighbouring_values", None)
    if own is not None:
        return tuple(own(at))
    step = at.value
    if isinstance(mechanism, RandomizedResponse):
        return ((np.int64(0), np.int64(1)),)
    if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        return ((np.int64(0), np.int64(int(step))),)
    if isinstance(mechanism, Exponential):
        # the best candidate gains what all others lose (half of it under a monotone relation)
        low = 0.0 if mechanism.monotone else -step
        return ((np.zeros(4), np.array([step, low, low, low])),)
    if isinstance(mechanism, SymmetricGaussian):
        return ((np.zeros((2, 2)), np.diag([step, 0.0])),)
    if at.metric in ("l1", "l2", "linf", "frobenius"):
        return ((np.float64(0.0), np.float64(step)),)
    raise InvalidValueError(
        field="pair",
        found=None,
        allowed=f"a pair of datasets (no pair at {at} is known for {type(mechanism).__name__})",
        where="audit",
        fix="Pass pair=(d1, d2), or give the mechanism a method neighbouring_values(at).",
    )
