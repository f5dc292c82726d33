"""Points of a guarantee's profile, for theorems that start from the whole of it."""

from __future__ import annotations

import math
from functools import lru_cache

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee
from dpkit.privacy.events import Nesting, Parallel

_SMALLEST = 1e-22
"""Beyond the epsilon of this delta, what is left counts as a mass at infinity."""

_MANY, _FEWER = 200, 64
"""Numbers of points: many where a reading is cheap, which is where there are few leaves and no samples."""

_FEW = 4


def profile_points(guarantee: Guarantee) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Epsilons that rise from 0, and upper bounds on delta there, in both directions."""
    cheap = len(guarantee.parts) <= _FEW and not any(isinstance(part.event, Nesting | Parallel) for part in guarantee.parts)
    return _points(guarantee.accountant, guarantee.state, _MANY if cheap else _FEWER)


@lru_cache(maxsize=256)
def _points(accountant: AnyAccountant, state: object, count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    profiles = accountant.profiles(state)

    def delta_of(epsilon: float) -> float:
        return min(1.0, max(profile(epsilon) for profile in profiles))

    last = 0.0  # a pure loss ends there; where deltas are below a slack, the last point is above it
    for delta in (0.0, _SMALLEST, 1e-15, 1e-10, 1e-6):
        last = accountant.epsilon(state, delta=delta)
        if math.isfinite(last):
            break
    if last == 0.0 or not math.isfinite(last):
        return (0.0,), (delta_of(0.0),)
    epsilons = tuple(last * place / count for place in range(count + 1))
    return epsilons, tuple(map(delta_of, epsilons))
