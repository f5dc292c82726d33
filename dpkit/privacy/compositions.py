"""Composition and amplification theorems for pure and approximate losses: one theorem a function, each rounded up.

A composition is a multiset of epsilons with counts; the deltas have been taken out as a slack (`filter_amounts`), and
`delta` here is what is left of the target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF, exact_sum, next_up, outward, round_up
from dpkit.numerics.special import Array
from dpkit.privacy.losses import ApproxDP, PureDP
from dpkit.values import dataclass

Terms = Sequence[tuple[float, int]]
"""(epsilon, count) pairs."""

OPTIMAL_COUNT_LIMIT = 1_000_000
"""Above this number of identical mechanisms the exact sum is not taken; the other theorems still hold."""

_LOG_SMALLEST = -744.0
"""A mass below exp of this is at most two of the smallest floats, and is counted as such."""


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
    if epsilon == 0.0:
        return 0.0
    drift, deviation = count * epsilon * math.expm1(epsilon), epsilon * math.sqrt(count)
    return _subgaussian_tail(target, mean=drift, deviation=deviation)


def _subgaussian_tail(target: float, *, mean: float, deviation: float) -> float:
    """exp(-(target - mean)^2 / (2 deviation^2)), rounded up, 1 at or below the mean."""
    gap = target - mean
    if gap <= 0.0:
        return 1.0
    scaled = gap / deviation
    if scaled > 1e100:
        return SMALLEST
    exponent = 0.5 * scaled * scaled
    exponent -= 32.0 * UNIT_ROUNDOFF * (1.0 + exponent) * (1.0 + (target + mean) / gap)
    tail = math.exp(-max(0.0, exponent))
    return min(1.0, outward(tail, magnitude=tail, ulps=16.0))


def kairouz_epsilon(terms: Terms, *, delta: float) -> float:
    """sum e tanh(e/2) + sqrt(2 S L), S = sum e^2, L = min(ln(1/d'), ln(e + sqrt(S)/d')) (KOV15, Theorem 3.5)."""
    if delta <= 0.0:
        return math.inf
    mean, deviation = _moments(terms)
    logarithm = min(-math.log(delta), math.log(math.e + deviation / delta))
    value = mean + deviation * math.sqrt(2.0 * logarithm)
    return outward(value, magnitude=value, ulps=16.0)


def kairouz_delta(terms: Terms, *, epsilon: float) -> float:
    """Theorem 3.5 of KOV15 solved for delta: the smaller of its two tails; 1 below the mean."""
    mean, deviation = _moments(terms)
    if deviation == 0.0:
        return 0.0
    tail = _subgaussian_tail(epsilon, mean=mean, deviation=deviation)
    # the second tail: sqrt(S)/d' = 1/tail - e, wherever that is positive
    second = deviation / (1.0 / tail - math.e) * (1.0 + 1e-13) if 1e-300 < tail < 0.3 else math.inf
    return min(tail, second)


def _moments(terms: Terms) -> tuple[float, float]:
    """sum e tanh(e/2) and sqrt(sum e^2), each rounded up; (0, 0) when there is no loss."""
    largest = max((epsilon for epsilon, count in terms if count), default=0.0)
    if largest == 0.0:
        return 0.0, 0.0
    mean = math.fsum(count * epsilon * math.tanh(epsilon / 2.0) for epsilon, count in terms)
    # relative to the largest, so that no square underflows
    deviation = largest * math.sqrt(math.fsum(count * (epsilon / largest) ** 2 for epsilon, count in terms))
    return outward(mean, magnitude=mean), outward(deviation, magnitude=deviation)


def optimal_delta(epsilon: float, count: int, *, target: float) -> float:
    """delta(target) of `count` randomised responses at `epsilon`: exact for homogeneous pure losses (KOV15, Theorem 3.3).

    sum over l of C(k, l) p^(k-l) q^l [1 - exp(target - (k - 2l) e)]_+ : every term is >= 0, so nothing cancels. It is 0
    from k e on and only there: below, a mass too small for a float still counts as the smallest float.
    """
    if Fraction(target) >= exact_sum([(epsilon, count)]):
        return 0.0
    return _lattice(epsilon, count).delta(target)


def optimal_delta_below(epsilon: float, count: int, *, target: float) -> float:
    """The same profile, rounded down: what a lower end is read from."""
    return _lattice(epsilon, count).delta_below(target)


def optimal_epsilon(epsilon: float, count: int, *, delta: float) -> float:
    """The smallest epsilon with `optimal_delta` at most delta: Newton's method on a convex, falling function."""
    largest = round_up(exact_sum([(epsilon, count)]))
    if delta <= 0.0:
        return largest
    lattice = _lattice(epsilon, count)
    if lattice.delta(0.0) <= delta:
        return 0.0
    low, high = _around(lattice, delta, largest)
    for _ in range(200):
        if high - low <= 8.0 * UNIT_ROUNDOFF * high:
            break
        slope = lattice.slope(low)
        step = low + (lattice.delta(low) - delta) / slope if slope > 0.0 else high
        for guess in (step + 4.0 * UNIT_ROUNDOFF * high, 0.5 * (low + high)):
            if low < guess < high:
                if lattice.delta(guess) <= delta:
                    high = guess
                else:
                    low = guess
    return high


def _around(lattice: _Lattice, delta: float, largest: float) -> tuple[float, float]:
    """A bracket of the answer: between losses the profile is a line in e^epsilon, so a guess is a look-up, then checked."""
    low, high = 0.0, largest
    guess = lattice.guess(delta)
    for width in (1e-12, 1e-9, 1e-6):
        below, above = guess * (1.0 - width), guess * (1.0 + width)
        if math.isfinite(guess) and below > 0.0 and above < largest and lattice.delta(above) <= delta < lattice.delta(below):
            return below, above
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lattice:
    """The positive losses of a composition, largest first and rounded up, and their probabilities.

    `relative` bounds the relative error of a sum of masses; `lost` is at least the mass that underflowed.
    """

    losses: Array
    masses: Array
    relative: float
    lost: float

    def delta(self, target: float) -> float:
        above = int(np.searchsorted(-self.losses, -target))
        total = float(self.masses[:above] @ -np.expm1(target - self.losses[:above]))
        value = total * (1.0 + self.relative) + self.lost
        return min(1.0, outward(value, magnitude=value))

    def delta_below(self, target: float) -> float:
        """A lower bound: with losses no larger than the exact ones, and without what underflowed."""
        if not self.losses.size or self.relative >= 1.0:
            return 0.0
        moved = target + 4.0 * UNIT_ROUNDOFF * float(self.losses[0]) + SMALLEST
        above = int(np.searchsorted(-self.losses, -moved))
        total = float(self.masses[:above] @ -np.expm1(moved - self.losses[:above]))
        return max(0.0, total * (1.0 - self.relative) - self.lost)

    def guess(self, delta: float) -> float:
        """Where the profile, without its margins, crosses delta: on the segment below the last loss at which it is smaller."""
        with np.errstate(all="ignore"):
            weights = np.cumsum(self.masses * np.exp(-self.losses))
            sums = np.cumsum(self.masses)
            next_losses = np.append(self.losses[1:], 0.0)
            at_next = sums - np.exp(next_losses) * weights
            segment = int(np.argmax(at_next >= delta))
            return float(np.log((sums[segment] - delta) / weights[segment]))

    def slope(self, target: float) -> float:
        above = int(np.searchsorted(-self.losses, -target))
        return float(self.masses[:above] @ np.exp(target - self.losses[:above]))


def flips_that_count(epsilon: float, count: int) -> int:
    """With this many flips or more no positive loss has a mass above the smallest floats: from the mode on masses fall."""
    high = (count + 1) // 2
    low = min(high, math.ceil((count + 1) * math.exp(-epsilon) / (1.0 + math.exp(-epsilon))))  # the mode
    while low < high:
        middle = (low + high) // 2
        choose = math.lgamma(count + 1.0) - math.lgamma(middle + 1.0) - math.lgamma(count - middle + 1.0)
        kept = choose - middle * epsilon - count * math.log1p(math.exp(-epsilon)) > _LOG_SMALLEST - 1.0
        low, high = (middle + 1, high) if kept else (low, middle)
    return high


@lru_cache(maxsize=2)
@np.errstate(over="ignore")
def _lattice(epsilon: float, count: int) -> _Lattice:
    from scipy.special import gammaln

    flips = np.arange(0, flips_that_count(epsilon, count), dtype=np.float64)
    normaliser = math.log1p(math.exp(-epsilon))
    log_choose = gammaln(count + 1.0) - gammaln(flips + 1.0) - gammaln(count - flips + 1.0)
    log_masses = log_choose - flips * epsilon - count * normaliser
    size = math.lgamma(count + 1.0) + count * (epsilon + normaliser) + 1.0
    kept = log_masses > _LOG_SMALLEST
    return _Lattice(
        losses=np.nextafter((count - 2.0 * flips[kept]) * epsilon, np.inf),
        masses=np.exp(log_masses[kept]),
        relative=16.0 * UNIT_ROUNDOFF * (size + count),
        lost=2.0 * (count + 1) * SMALLEST,
    )


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
