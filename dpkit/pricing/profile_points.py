"""Points of a guarantee's profile, for theorems that start from the whole of it."""

from __future__ import annotations

import math
from functools import lru_cache

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee
from dpkit.privacy.events import Nesting, Parallel

_SMALLEST = 1e-22
"""Beyond the epsilon of this delta, what is left counts as a mass at infinity."""

_FAR = 600.0
"""An epsilon at which nothing is left but a mass at infinity."""

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

    # a pure loss ends at delta 0; where there is a mass at infinity, the last point is a little above it
    beyond = min(1.0 - 1e-9, delta_of(_FAR) * (1.0 + 1e-6) + _SMALLEST)
    last = accountant.epsilon(state, delta=0.0)
    last = last if math.isfinite(last) else accountant.epsilon(state, delta=beyond)
    if last == 0.0 or not math.isfinite(last):
        return (0.0,), (delta_of(0.0),)
    epsilons = tuple(last * place / count for place in range(count + 1))
    return epsilons, tuple(map(delta_of, epsilons))
