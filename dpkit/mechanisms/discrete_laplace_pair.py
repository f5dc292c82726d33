"""The worst pair of discrete Laplace noise whose integer sensitivity is known (docs/proofs/pld.md, lemmas 13 to 15).

Z against Z + s. Its losses lie on a lattice of steps 2 ratio / s, on which its profile is that of continuous Laplace noise;
between two points of it the profile is linear in e^epsilon.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from functools import partial
from typing import Self

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex, asfloat, expm1_minus, expm1_minus_near
from dpkit.privacy.checks import checked, nonnegative, whole_number
from dpkit.privacy.loss_pairs import Fall, LossDirection, LossPair, Moments, summed_moments
from dpkit.privacy.losses import RenyiCurve
from dpkit.values import dataclass

_SUMMED = 160
"""Of fewer steps the moment is summed over the losses; of more, h (1 + 2z) / 2 is below 0.05 wherever it must be near."""

_ATOMS = 16
"""Of how many losses a lattice looks for a common step."""


MOST_STEPS = 2**53
"""Up to here every whole number is a float."""


def checked_steps(value: object, *, field: str, where: str) -> int:
    """A whole number from 1 to `MOST_STEPS`."""
    steps = whole_number(value, field=field, where=where, minimum=1)
    if steps > MOST_STEPS:
        raise InvalidValueError(field=field, found=steps, allowed="a whole number from 1 to 2**53", where=where)
    return steps


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(ratio=nonnegative, sensitivity=checked_steps)
class DiscreteLaplacePair(LossPair):
    """Z against Z + sensitivity, where Z has the scale sensitivity / ratio; symmetric."""

    ratio: float
    sensitivity: int

    def forward(self) -> LossDirection:
        """Symmetric."""
        return _DiscreteLaplaceDirection(ratio=self.ratio, sensitivity=self.sensitivity)

    @property
    def strength(self) -> float | None:
        """None but for a ratio of 0: pairs of other lattices are not ordered."""
        return None if self.ratio else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _DiscreteLaplaceDirection(LossDirection):
    """P(0) = 1/(1+q), P(j) = (1-q) q^j/(1+q) and P(s) = q^s/(1+q) at the losses ratio - 2hj; h = ratio / s, q = e^-h."""

    ratio: float
    sensitivity: int

    @property
    def _step(self) -> float:
        return self.ratio / self.sensitivity

    def _below(self, epsilons: Array) -> tuple[Array, Array]:
        """How far the largest loss is above each epsilon, and h times the number of losses between the two."""
        depth = self.ratio - np.clip(epsilons, -self.ratio, self.ratio)
        count = np.ceil(depth / (2.0 * self._step)) - 1.0 if self._step else np.zeros_like(depth)
        return asfloat(depth), asfloat(self._step * np.clip(count, 0.0, self.sensitivity - 1.0))

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        depth, between = self._below(epsilons)
        q = math.exp(-self._step)
        inner = (-np.expm1(between - depth) - q * np.expm1(-between)) / (1.0 + q)
        value = np.where(epsilons < -self.ratio, -np.expm1(np.minimum(epsilons, 0.0)), inner)
        return asfloat(value), asfloat(32.0 * UNIT_ROUNDOFF * value)

    def slope(self, epsilons: Array) -> Array:
        inner = np.exp(self._below(epsilons)[1] - self.ratio) / (1.0 + math.exp(-self._step))
        return asfloat(np.where(epsilons < -self.ratio, 1.0, np.where(epsilons < self.ratio, inner, 0.0)))

    def reach(self, tail: float) -> tuple[float, float]:
        return -self.ratio, self.ratio

    def top(self) -> float:
        return self.ratio

    def atoms(self) -> tuple[float, ...]:
        places = range(min(_ATOMS, (self.sensitivity + 1) // 2))
        return tuple(self.ratio * ((self.sensitivity - 2 * j) / self.sensitivity) for j in places)

    def log_moment(self, z: Complex) -> Complex:
        return type(self).total_log_moment((self,), (1,), z)[0]

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments:
        total, errors = np.zeros(z.shape, dtype=np.complex128), np.zeros(z.shape)
        for steps in sorted({direction.sensitivity for direction in directions}):
            held = [(d.ratio, n) for d, n in zip(directions, counts, strict=True) if d.sensitivity == steps]
            ratios, times = np.array([ratio for ratio, _ in held]), np.array([n for _, n in held], dtype=np.float64)
            near = _near_sum if steps < _SUMMED else _near_series
            part, off = summed_moments(partial(near, steps), partial(_far_moment, steps), ratios, times, z)
            total, errors = total + part, errors + off
        return total, asfloat(errors * (1.0 + 4.0 * UNIT_ROUNDOFF))

    def fall(self, tilt: float) -> Fall:
        return _fall(self.ratio, self.sensitivity, tilt)

    def mean_and_variance(self) -> tuple[float, float] | None:
        # the mean is e^-x - 1 + x and (1 - e^-x)(1 - h/sinh h), both positive; a loss between -x and x has a variance below x^2
        mean = float(expm1_minus(-self.ratio)) - math.expm1(-self.ratio) * _above_sinh(self._step)
        return mean * (1.0 - 64.0 * UNIT_ROUNDOFF), self.ratio * self.ratio * (1.0 + 4.0 * UNIT_ROUNDOFF)


@np.errstate(all="ignore")
def _fall(ratio: float, sensitivity: int, tilt: float) -> Fall:
    """Near 0 by the variance of the two outermost losses, between by |M| <= A(1 + |c|) (docs/proofs/pld.md, lemma 17)."""
    step, middle = ratio / sensitivity, (tilt + 0.5) * ratio
    if not (0.0 < middle < 300.0 and step > 1e-150):
        return Fall()
    drift = math.tanh(0.5 * step) / math.tanh((tilt + 0.5) * step) * math.tanh(middle)
    width = 2.0 * ratio / ((1.0 + math.exp(-step)) * math.cosh(middle) * (1.0 + drift))
    rate = 2.0 / math.pi**2 * width * width * (1.0 - 1e-12)
    reach = math.pi / (2.0 * ratio) * (1.0 - 1e-12)
    if sensitivity < 2:
        return Fall(reach=reach, rate=rate)
    turned = abs(cmath.tanh(complex((tilt + 0.5) * step, reach * step)))
    between = (math.log1p(drift) - math.log1p(math.tanh(0.5 * step) / turned)) * (1.0 - 1e-9) - 1e-14
    return Fall(reach=reach, rate=rate, period=math.pi / step * (1.0 - 1e-12), middle=max(0.0, between))


_COPIES = 2.0**10
"""So many releases at once, so that a moment that is near 1 keeps its digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(ratio=nonnegative, sensitivity=checked_steps)
class DiscreteLaplaceCurve(RenyiCurve):
    """The Rényi divergences of that pair, and so of a vector that moves by the sensitivity (lemma 14: moments are
    integrals of profiles).
    """

    ratio: float
    sensitivity: int

    def at(self, orders: Array) -> Array:
        """ln M(order - 1) / (order - 1), and never more than the largest loss."""
        excess = np.asarray(orders, dtype=np.float64) - 1.0
        if self.ratio == 0.0:
            return np.zeros_like(excess)
        one = _DiscreteLaplaceDirection(ratio=self.ratio, sensitivity=self.sensitivity)
        with np.errstate(all="ignore"):
            value, error = type(one).total_log_moment((one,), (int(_COPIES),), excess.astype(np.complex128))
            found = (value.real + error) / _COPIES / excess * (1.0 + 8.0 * UNIT_ROUNDOFF)
        return asfloat(np.where(found < self.ratio, found, self.ratio))  # where it is no number, too


def _above_sinh(h: float) -> float:
    """1 - h / sinh h, at most: by its alternating series below 0.3, where its first three terms are too small."""
    if h < 0.3:
        square = h * h
        return max(0.0, square / 6.0 - 7.0 * square * square / 360.0)
    return 1.0 - 2.0 * h * math.exp(-h) / -math.expm1(-2.0 * h)


def _near_sum(steps: int, ratios: Array, z: Complex) -> Complex:
    """The moment less 1 of few losses: randomised responses with losses of +-(ratio - 2hj), each with its weight."""
    h = ratios / steps
    outer = 1.0 / (1.0 + np.exp(-h))
    found = np.zeros((ratios.size, z.size), dtype=np.complex128)
    for j in range((steps + 1) // 2):
        halves = 0.5 * ratios * ((steps - 2 * j) / steps)
        weights = outer * (1.0 if j == 0 else -np.expm1(-h) * np.exp(-j * h)) * (1.0 + np.exp(-2.0 * halves))
        part = 2.0 * np.sinh(halves[:, None] * (z + 1.0)) * np.sinh(halves[:, None] * z) / np.cosh(halves)[:, None]
        found += weights[:, None] * part
    return found


def _near_series(steps: int, ratios: Array, z: Complex) -> Complex:
    """The moment less 1 of many losses: that of continuous noise with c for 1/k, k = 1 + 2z, and x(ck - 1)/2 on top.

    With y = h/2 the difference k tanh y - tanh ky, of order y^3, is summed by powers.
    """
    halves, k = 0.5 * (ratios / steps)[:, None], 1.0 + 2.0 * z
    square, squares = halves * halves, k * k
    second = 1.0 + squares
    third = 1.0 + squares * second
    tail = 17.0 / 315.0 * third - square * (62.0 / 2835.0) * (1.0 + squares * third)
    bent = 4.0 * z * (1.0 + z) * k * halves * square * (1.0 / 3.0 - square * (2.0 / 15.0 * second - square * tail))
    light = 0.5 * np.sinh(2.0 * z * halves) / (np.cosh(halves) * np.sinh(k * halves))
    rise, drop = np.multiply.outer(ratios, z), np.multiply.outer(ratios, -(1.0 + z))
    linear = 0.5 * ratios[:, None] * bent / np.tanh(k * halves)
    return np.asarray((1.0 - light) * expm1_minus_near(rise) + light * expm1_minus_near(drop) + linear, dtype=np.complex128)


def _far_moment(steps: int, ratios: Array, z: Complex) -> Complex:
    """The moment over e^(z ratio): 1 + (1 - c)(e^(-(1+2z) ratio) - 1)/2, c = tanh(h/2) / tanh((1+2z)h/2)."""
    h, k = ratios / steps, 1.0 + 2.0 * z
    fallen = np.multiply.outer(-h, k)
    c = -np.tanh(0.5 * h)[:, None] * (1.0 + np.exp(fallen)) / np.expm1(fallen)
    return np.asarray(1.0 + 0.5 * (1.0 - c) * np.expm1(np.multiply.outer(-ratios, k)), dtype=np.complex128)
