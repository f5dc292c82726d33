"""Composition theorems for pure and approximate losses: one theorem a function, each rounded up.

A composition is a multiset of epsilons with counts; the deltas have been taken out as a slack (`dpkit.core.slack`), and
`delta` here is what is left of the target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF, exact_sum, outward, round_up
from dpkit.numerics.special import Array

Terms = Sequence[tuple[float, int]]
"""(epsilon, count) pairs."""

OPTIMAL_COUNT_LIMIT = 1_000_000
"""Above so many identical mechanisms the exact sum is not taken; the other theorems still hold."""


def basic_epsilon(terms: Terms) -> float:
    """sum(epsilon_i) (DR14, Theorem 3.16)."""
    return round_up(exact_sum(terms))


def dwork_roth_epsilon(epsilon: float, count: int, *, delta: float) -> float:
    """sqrt(2 k ln(1/d')) e + k e (e^e - 1), homogeneous (DR14, Theorem 3.20), as the paper uses it."""
    if delta <= 0.0:
        return math.inf
    try:
        drift = count * epsilon * math.expm1(epsilon)
    except OverflowError:
        return math.inf
    value = epsilon * math.sqrt(-2.0 * count * math.log(delta)) + drift
    return outward(value, magnitude=value, ulps=16.0)


def dwork_roth_delta(epsilon: float, count: int, *, target: float) -> float:
    """Theorem 3.20 of DR14 solved for delta: exp(-(target - drift)^2 / (2 k e^2)) above the drift, 1 below it."""
    if epsilon >= 700.0:
        return 1.0
    drift, squares = count * epsilon * math.expm1(epsilon), count * epsilon * epsilon
    return _subgaussian_tail(target, mean=drift, variance=squares)


def _subgaussian_tail(target: float, *, mean: float, variance: float) -> float:
    """exp(-(target - mean)^2 / (2 variance)), rounded up, 1 at or below the mean."""
    gap = target - mean
    if gap <= 0.0:
        return 1.0
    exponent = 0.5 * gap * gap / variance
    exponent -= 32.0 * UNIT_ROUNDOFF * (1.0 + exponent) * (1.0 + (target + mean) / gap)
    tail = math.exp(-max(0.0, exponent))
    return min(1.0, outward(tail, magnitude=tail, ulps=16.0))


def kairouz_epsilon(terms: Terms, *, delta: float) -> float:
    """sum e tanh(e/2) + sqrt(2 S L), S = sum e^2, L = min(ln(1/d'), ln(e + sqrt(S)/d')) (KOV15, Theorem 3.5)."""
    if delta <= 0.0:
        return math.inf
    mean, squares = _moments(terms)
    logarithm = min(-math.log(delta), math.log(math.e + math.sqrt(squares) / delta))
    value = mean + math.sqrt(2.0 * squares * logarithm)
    return outward(value, magnitude=value, ulps=16.0)


def kairouz_delta(terms: Terms, *, epsilon: float) -> float:
    """Theorem 3.5 of KOV15 solved for delta: the smaller of its two tails; 1 below the mean."""
    mean, squares = _moments(terms)
    if squares == 0.0:
        return 0.0
    tail = _subgaussian_tail(epsilon, mean=mean, variance=squares)
    # the second tail: sqrt(S)/d' = 1/tail - e, wherever that is positive
    second = math.sqrt(squares) / (1.0 / tail - math.e) * (1.0 + 1e-13) if 1e-300 < tail < 0.3 else math.inf
    return min(tail, second)


def _moments(terms: Terms) -> tuple[float, float]:
    """sum e tanh(e/2) and sum e^2, each rounded up."""
    mean = math.fsum(count * epsilon * math.tanh(epsilon / 2.0) for epsilon, count in terms)
    squares = math.fsum(count * epsilon * epsilon for epsilon, count in terms)
    return outward(mean, magnitude=mean), outward(squares, magnitude=squares)


def optimal_delta(epsilon: float, count: int, *, target: float) -> float:
    """delta(target) of `count` randomised responses at `epsilon`: exact for homogeneous pure losses (KOV15, Theorem 3.3).

    sum over l of C(k, l) p^(k-l) q^l [1 - exp(target - (k - 2l) e)]_+ : every term is >= 0, so nothing cancels.
    """
    losses, log_masses, relative = _lattice(epsilon, count)
    return _profile(losses, log_masses, target, relative)


def optimal_epsilon(epsilon: float, count: int, *, delta: float) -> float:
    """The smallest epsilon with `optimal_delta` at most delta: Newton's method on a convex, falling function."""
    largest = round_up(exact_sum([(epsilon, count)]))
    losses, log_masses, relative = _lattice(epsilon, count)
    if _profile(losses, log_masses, 0.0, relative) <= delta:
        return 0.0
    low, high = 0.0, largest
    for _ in range(200):
        if high - low <= 8.0 * UNIT_ROUNDOFF * high:
            break
        excess = _profile(losses, log_masses, low, relative) - delta
        above = losses > low
        slope = float(np.sum(np.exp(log_masses[above] + (low - losses[above]))))
        step = low + excess / slope if slope > 0.0 else high
        for guess in (step + 4.0 * UNIT_ROUNDOFF * high, 0.5 * (low + high)):
            if low < guess < high:
                if _profile(losses, log_masses, guess, relative) <= delta:
                    high = guess
                else:
                    low = guess
    return high


def _lattice(epsilon: float, count: int) -> tuple[Array, Array, float]:
    """Positive losses of the composition, the logarithms of their probabilities, and a relative error of the latter."""
    from scipy.special import gammaln

    flips = np.arange(0, (count + 1) // 2, dtype=np.float64)
    losses = (count - 2.0 * flips) * epsilon
    normaliser = math.log1p(math.exp(-epsilon))
    log_choose = gammaln(count + 1.0) - gammaln(flips + 1.0) - gammaln(count - flips + 1.0)
    log_masses = log_choose - flips * epsilon - count * normaliser
    size = math.lgamma(count + 1.0) + count * (epsilon + normaliser) + 1.0
    return losses, np.asarray(log_masses, dtype=np.float64), 16.0 * UNIT_ROUNDOFF * (size + count)


def _profile(losses: Array, log_masses: Array, target: float, relative: float) -> float:
    above = losses > target
    gap = losses[above] - target
    total = float(np.sum(np.exp(log_masses[above]) * -np.expm1(-gap)))
    # a loss is rounded by at most a unit of itself, and expm1 passes that on relatively to the gap
    blur = float(np.sum(np.exp(log_masses[above]) * np.minimum(1.0, 4.0 * UNIT_ROUNDOFF * (losses[above] + target))))
    value = total * (1.0 + relative) + blur
    return min(1.0, outward(value, magnitude=value)) if value > 0.0 else 0.0
