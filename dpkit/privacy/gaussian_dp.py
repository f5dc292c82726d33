"""Gaussian DP: its exact profile, and the pair N(mu, 1) against N(0, 1) that every mu-GDP release is dominated by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np

from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF, next_up
from dpkit.numerics.special import Array, Complex, asfloat
from dpkit.privacy.checks import checked, nonnegative
from dpkit.privacy.loss_pairs import Fall, LossDirection, LossPair, Moments
from dpkit.values import dataclass

_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)

_UNDERFLOWS = 39.0
"""At this number of standard deviations, exp(-t^2/2) is below the smallest float."""

_WIDENINGS = (*(1e-9,) * 4, 1e-6, 1e-3, 1.0)
"""By how much an upper end of the search is moved, relatively, when rounding left it on the wrong side."""


def gaussian_delta(mu: float, *, epsilon: float) -> float:
    """delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2), rounded up (BW18, Thm 5; DRS22, Cor 1).

    Both terms share the factor exp(-t^2/2) with t = epsilon/mu - mu/2, so the difference is one of scaled Mills ratios
    m(t) - m(t + mu): no overflow, no underflow before delta itself does, and relative accuracy in the tail.
    """
    if mu == 0.0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    value, relative = _profile(mu, epsilon)
    return min(1.0, next_up(value * (1.0 + relative)))


def gaussian_delta_below(mu: float, *, epsilon: float) -> float:
    """The same profile, rounded down: what a lower end is read from. 0 where the sum is no float."""
    if mu == 0.0 or math.isinf(mu):
        return 0.0
    value, relative = _profile(mu, epsilon)
    return max(0.0, value * (1.0 - relative) - 4.0 * SMALLEST)  # products below the normal floats lose units of their own


def gaussian_epsilon(mu: float, *, delta: float) -> float:
    """The smallest epsilon >= 0 whose delta(epsilon), rounded up, is at most delta; infinity at delta = 0 < mu."""
    if mu == 0.0 or gaussian_delta(mu, epsilon=0.0) <= delta:
        return 0.0
    if delta == 0.0:
        return math.inf
    low, high = 0.0, mu * (mu / 2.0 + math.sqrt(-2.0 * math.log(delta)))  # the tail of the loss: N(mu^2/2, mu^2)
    high = next_up(high * (1.0 + 1e-12))
    for widening in _WIDENINGS:  # the first holds, but for a rounding step
        if not math.isfinite(high) or gaussian_delta(mu, epsilon=high) <= delta:
            break
        low, high = high, next_up(high * (1.0 + widening))
    else:
        return math.inf
    if not math.isfinite(high):
        return math.inf
    # The logarithm of the profile is concave, because that of a normal tail is, and falls. So Newton's step from the right does
    # not pass the root but by rounding; bisection guards it.
    reached = gaussian_delta(mu, epsilon=high)
    for turn in range(400):
        slope = _slope(mu, high)
        newton = high - reached / slope * math.log(delta / reached) if slope > 0.0 and reached > 0.0 else low
        guess = min(newton, high * (1.0 - 4.0 * UNIT_ROUNDOFF))  # at the root: what is beside it must be too small
        if not low < guess < high or turn % 8 == 7:
            guess = low + 0.5 * (high - low)
        if not low < guess < high:
            break
        found = gaussian_delta(mu, epsilon=guess)
        if found <= delta:
            high, reached = guess, found
        else:
            low = guess
        if high - low <= 4.0 * UNIT_ROUNDOFF * high:
            break
    return high


def _profile(mu: float, epsilon: float) -> tuple[float, float]:
    """The profile and a bound on its relative error.

    epsilon/mu and mu/2 cancel where epsilon is near mu^2/2, and what is left is the tail's argument. So the difference is taken
    exactly and rounded once: its relative error is one unit, whatever the size of what cancels.
    """
    from scipy.special import ndtr

    near = _nearest(Fraction(epsilon) / Fraction(mu) - Fraction(mu) / 2)
    far = epsilon / mu + mu / 2.0
    if near > _UNDERFLOWS:
        return 0.0, 0.0  # below the smallest float, which is what rounding up makes of it
    factor = math.exp(-0.5 * near * near) if near > -_UNDERFLOWS else 0.0
    relative = UNIT_ROUNDOFF * (64.0 + 8.0 * min(near * near, _UNDERFLOWS**2))
    if mu <= 1.0:
        # m(t) - m(t+mu) as an integral of -m' > 0: no cancellation however small mu is
        nodes, weights = _legendre()
        points = near + mu * nodes
        falling = 1.0 / _ROOT_TWO_PI - points * _mills(points)
        relative += UNIT_ROUNDOFF * 8.0 * (1.0 + far * far)
        return factor * mu * float(weights @ falling), relative
    if near >= 0.0:
        pair = _mills(np.array([near, far]))
        relative += UNIT_ROUNDOFF * 8.0 * (1.0 + far / mu)
        return factor * float(pair[0] - pair[1]), relative
    # here the profile is above 1/3, and what the factor is off by, 8 t^2 e^(-t^2/2) units, is below 6
    return float(ndtr(-near)) - factor * float(_mills(np.array([far]))[0]), 80.0 * UNIT_ROUNDOFF


def _nearest(exact: Fraction) -> float:
    """The nearest float, or an infinity."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _slope(mu: float, epsilon: float) -> float:
    """-d delta / d epsilon = e^epsilon Phi(-epsilon/mu - mu/2)."""
    near, far = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    return math.exp(-0.5 * near * near) * float(_mills(np.array([far]))[0])


def _mills(t: Array) -> Array:
    """P(N > t) / exp(-t^2/2)."""
    from scipy.special import erfcx

    return 0.5 * erfcx(t / math.sqrt(2.0))


@lru_cache(maxsize=1)
def _legendre() -> tuple[Array, Array]:
    """Gauss-Legendre on [0, 1] with 20 nodes: past float64 for an entire function on an interval of length <= 1."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def gaussian_profile(mu: float, epsilons: Array) -> tuple[Array, Array]:
    """The profile at many real epsilons, and bounds on its error: `gaussian_delta` without the last care.

    `near` is off by `wobble`, the rounding of the two numbers that cancel in it; a normal tail changes by a factor of at most
    e^((1 + |t|) wobble + wobble^2) when its argument t does. No profile is off by more than 1.
    """
    from scipy.special import ndtr

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near, far = epsilons / mu - mu / 2.0, epsilons / mu + mu / 2.0
        factor = np.exp(-0.5 * near * near)
        second = np.where(far > -5.0, factor * _mills(np.maximum(far, -5.0)), np.exp(np.minimum(epsilons, 0.0)) * ndtr(-far))
        first = np.where(near > 0.0, factor * _mills(np.maximum(near, 0.0)), ndtr(-near))
        wobble = 4.0 * UNIT_ROUNDOFF * (np.abs(epsilons) / mu + mu)
        exponent = 16.0 * UNIT_ROUNDOFF * (1.0 + np.minimum(near * near, 2000.0)) + 2.0 * (1.0 + np.abs(near) + wobble) * wobble
        error = np.expm1(np.minimum(exponent, 700.0)) * (first + second)
        gone = near - wobble > _UNDERFLOWS
        known = np.isfinite(error) & (exponent < 700.0)
    value = np.where(np.isfinite(first - second), np.clip(first - second, 0.0, 1.0), 0.0)
    return value, np.where(gone, 0.0, np.where(known, np.minimum(error, 1.0), 1.0)) + 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(mu=nonnegative)
class GaussianPair(LossPair):
    """Its loss is N(mu^2/2, mu^2); symmetric."""

    mu: float

    def forward(self) -> LossDirection:
        """Symmetric."""
        return GaussianDirection(mu=self.mu)

    def gaussian_bound(self) -> float:
        """Mu."""
        return self.mu

    @property
    def strength(self) -> float | None:
        """Mu."""
        return self.mu


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDirection(LossDirection):
    """The loss N(mu^2/2, mu^2)."""

    mu: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        """BW18, Theorem 5."""
        from dpkit.privacy.gaussian_dp import gaussian_profile  # conversions end in this pair

        return gaussian_profile(self.mu, epsilons)

    def slope(self, epsilons: Array) -> Array:
        """Phi(-epsilon/mu - mu/2)."""
        from scipy.special import ndtr

        return asfloat(ndtr(-epsilons / self.mu - self.mu / 2.0))

    def reach(self, tail: float) -> tuple[float, float]:
        """Quantiles of the normal law."""
        from scipy.special import ndtri

        width = -float(ndtri(max(tail, 1e-300))) * self.mu
        middle = 0.5 * self.mu * self.mu
        return middle - width, middle + width

    def log_moment(self, z: Complex) -> Complex:
        """z (z + 1) mu^2 / 2."""
        return np.asarray(z * (z + 1.0) * (0.5 * self.mu * self.mu), dtype=np.complex128)

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments:
        """The same for all of them, with an error that is relative."""
        total = sum(count * direction.log_moment(z) for direction, count in zip(directions, counts, strict=True))
        value = np.asarray(total + np.zeros(z.shape), dtype=np.complex128)
        return value, asfloat(UNIT_ROUNDOFF * (16.0 + 2.0 * len(counts)) * np.abs(value))

    def log_decay(self, tilt: float, height: float) -> float:
        """The moment falls like that of the normal law."""
        return -0.5 * (self.mu * height) * (self.mu * height) * (1.0 - 1e-15)

    def fall(self, tilt: float) -> Fall:
        """The same, wherever."""
        return Fall(reach=math.inf, rate=0.5 * self.mu * self.mu * (1.0 - 1e-15))
