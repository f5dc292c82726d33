"""Privacy amplification by Poisson subsampling for (epsilon, delta) losses."""

from __future__ import annotations

import math

from dpkit.numerics.rounding import next_up, outward
from dpkit.privacy.losses import ApproxDP, PureDP


def amplified(loss: PureDP | ApproxDP, *, rate: float) -> PureDP | ApproxDP:
    """(epsilon, delta) becomes (ln(1 + rate (e^epsilon - 1)), rate * delta) under add-remove (BBG18, Theorem 8).

    The sample must be Poisson and secret. Never above the loss itself.
    """
    epsilon = min(loss.epsilon, _amplified_epsilon(loss.epsilon, rate))
    if isinstance(loss, PureDP):
        return PureDP(epsilon=epsilon)
    delta = min(loss.delta, next_up(rate * loss.delta)) if rate and loss.delta else 0.0
    return ApproxDP(epsilon=epsilon, delta=delta)


def _amplified_epsilon(epsilon: float, rate: float) -> float:
    if rate == 0.0 or epsilon == 0.0:
        return 0.0
    if epsilon < 700.0:
        value = magnitude = math.log1p(rate * math.expm1(epsilon))
    else:  # e^epsilon overflows: ln(1 + q(e^e - 1)) = e + ln q + ln(1 + (1 - q)/(q e^e))
        rate = max(rate, 1e-300)
        value = max(0.0, epsilon + math.log(rate)) + math.log1p((1.0 - rate) / rate * math.exp(-epsilon))
        magnitude = epsilon  # the difference cancels, and its rounding is of this size
    return outward(value, magnitude=magnitude, ulps=8.0)
