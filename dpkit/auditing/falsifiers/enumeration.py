"""All outcomes of a mechanism with finitely many of them, or all but a tail that is far below any delta of interest."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from dpkit.mechanisms.exponential import Exponential
from dpkit.mechanisms.randomized_response import RandomizedResponse
from dpkit.numerics.special import Array, asfloat

_MOST = 1 << 18


@runtime_checkable
class Enumerable(Protocol):
    """A mechanism that lists its outcomes; a plugin's mechanism joins by this method."""

    def outcomes(self, value: object) -> Sequence[object]:
        """Every output that a value can give."""
        ...


def outcomes_of(subject: ClaimAtPair) -> Array | None:
    """Outcomes along the first axis, shaped as samples are; None where they are not known or too many."""
    law, value = subject.density, np.asarray(subject.pair[0])
    if isinstance(law, Enumerable):
        found = asfloat(law.outcomes(subject.pair[0]))
        return found.reshape(len(found), -1) if found.ndim == 1 else found
    if isinstance(law, Exponential):
        return np.arange(value.size, dtype=np.float64)[:, None]
    if isinstance(law, RandomizedResponse):
        if law.categories ** max(1, value.size) > _MOST:
            return None
        rows = asfloat(list(itertools.product(range(law.categories), repeat=max(1, value.size))))
        return rows.reshape(len(rows), *(value.shape or (1,)))
    if isinstance(law, DiscreteLaplace | DiscreteGaussian):
        if value.ndim != 0 or law.scale > 2_000.0:
            return None
        other = int(np.asarray(subject.pair[1]))
        reach = int(60.0 * law.scale) + abs(int(value) - other) + 60
        return np.arange(int(value) - reach, int(value) + reach + 1, dtype=np.float64)[:, None]
    return None
