"""Laplace noise: the mechanism, its event and what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from dpkit.mechanisms import mechanism_base
from dpkit.mechanisms.laplace_repeats import repeated_laplace
from dpkit.numerics.noise.exact_rounding import LAPLACE, NoiseLaw
from dpkit.numerics.rounding import UNIT_ROUNDOFF, outward
from dpkit.numerics.special import Array, Complex, asfloat, expm1_minus, expm1_minus_near
from dpkit.privacy.checks import checked, nonnegative
from dpkit.privacy.claims import LossRule, always, finite, rule
from dpkit.privacy.events import Event
from dpkit.privacy.loss_pairs import Fall, LossDirection, LossPair, Moments, Profile, summed_moments
from dpkit.privacy.losses import ZCDP, PureDP, RenyiCurve, broadcast_total
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(ratio=nonnegative)
class LaplaceEvent(Event):
    """Laplace noise; `ratio` is the L1 sensitivity over the scale b."""

    cheaper_below: ClassVar[tuple[str, ...]] = ("ratio",)

    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(ratio=nonnegative)
class LaplaceCurve(RenyiCurve):
    """The exact Rényi divergence of Lap(0) and Lap(x): ln[a/(2a-1) e^((a-1)x) + (a-1)/(2a-1) e^(-ax)] / (a-1)."""

    ratio: float

    def at(self, orders: Array) -> Array:
        """The curve at these orders."""
        return type(self).total((self,), (1,), orders)

    @classmethod
    def total(cls, curves: Sequence[Self], counts: Sequence[int], orders: Array) -> Array:
        """Broadcast over curves and orders, in blocks."""
        return broadcast_total(laplace_divergence, [curve.ratio for curve in curves], counts, orders)


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def laplace_divergence(ratio: Array, orders: Array) -> Array:
    """Rényi divergence of Laplace noise (Mironov 2017, Proposition 6); arrays broadcast.

    The linear terms of the two exponentials cancel exactly, so the logarithm's argument is 1 + a sum of nonnegative
    second-order terms; for large arguments the first exponential is taken out.
    """
    excess = orders - 1.0
    heavy, light = orders / (2.0 * orders - 1.0), excess / (2.0 * orders - 1.0)
    rise = excess * ratio
    small = rise < 1.0
    near_ratio = np.where(small, ratio, 0.0)
    near = np.log1p(heavy * expm1_minus(excess * near_ratio) + light * expm1_minus(-orders * near_ratio))
    far = rise + np.log(heavy) + np.log1p(excess / orders * np.exp(-(2.0 * orders - 1.0) * ratio))
    return np.minimum(np.where(small, near, far) / excess, ratio)


def laplace_rho(ratio: float) -> float:
    """x + e^(-x) - 1, rounded up: the zCDP constant of Laplace noise (docs/proofs/tight-zcdp.md, Theorem 2).

    It is the Kullback-Leibler divergence of Lap(0) and Lap(x), the smallest rho that can hold.
    """
    value = float(expm1_minus(-ratio))
    return outward(value, magnitude=value, ulps=16.0) if ratio else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(ratio=nonnegative)
class LaplacePair(LossPair):
    """Lap(0) against Lap(ratio), the worst pair at this L1 distance; symmetric (docs/proofs/pld.md, lemma 8)."""

    ratio: float

    def forward(self) -> LossDirection:
        """Symmetric."""
        return _LaplaceDirection(ratio=self.ratio)

    @property
    def strength(self) -> float | None:
        """The ratio."""
        return self.ratio


_POINTS = 512
"""At which moments are looked at between where they fall like a Gaussian's and where they have fallen for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LaplaceDirection(LossDirection):
    ratio: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        inner = -np.expm1(np.minimum(0.5 * (epsilons - self.ratio), 0.0))
        value = np.where(epsilons < -self.ratio, -np.expm1(np.minimum(epsilons, 0.0)), inner)
        return asfloat(value), asfloat(8.0 * UNIT_ROUNDOFF * value)

    def slope(self, epsilons: Array) -> Array:
        inner = 0.5 * np.exp(-0.5 * np.maximum(epsilons + self.ratio, 0.0))
        return asfloat(np.where(epsilons < -self.ratio, 1.0, np.where(epsilons < self.ratio, inner, 0.0)))

    def reach(self, tail: float) -> tuple[float, float]:
        return -self.ratio, self.ratio

    def top(self) -> float:
        return self.ratio

    def atoms(self) -> tuple[float, ...]:
        return (self.ratio,)

    def repeated_profile(self, count: int) -> Profile | None:
        return self.profile if count == 1 else repeated_laplace(self.ratio, count)

    def log_moment(self, z: Complex) -> Complex:
        return type(self).total_log_moment((self,), (1,), z)[0]

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments:
        ratios, times = np.array([d.ratio for d in directions]), np.array(counts, dtype=np.float64)
        return summed_moments(_near_moment, _far_moment, ratios, times, z)

    def log_decay(self, tilt: float, height: float) -> float:
        # |M(tilt+iy)| <= (1 + 1/(2y)) A and M(tilt) = (1 + s tanh a) A, with s = 1/(1+2 tilt), a = (tilt+1/2)x
        # (docs/proofs/pld.md, lemma 9)
        drift = self._drift(tilt)
        fallen = math.log1p(drift) * (1.0 - 1e-14)
        far = math.log1p(0.5 / height) * (1.0 + 1e-14) - fallen
        if far < 0.0 or drift == 0.0 or height < self.fall(tilt).reach:
            return min(0.0, far)
        end = 1.0 / drift  # where it has surely fallen
        near = self._largest_modulus(tilt, height, end)
        return min(0.0, max(math.log(near), math.log1p(0.5 / end) * (1.0 + 1e-14) - fallen))

    def _largest_modulus(self, tilt: float, low: float, high: float) -> float:
        """|M(tilt+iy)|/M(tilt) over low <= y <= high, from above: at points, and between them by its slope, at most x."""
        half = 0.5 * (high - low) / _POINTS
        heights = low + half * (2.0 * np.arange(_POINTS) + 1.0)
        found = self.total_log_moment((self,), (1,), np.append(tilt, tilt + 1j * heights).astype(np.complex128))
        if not np.all(np.isfinite(found[0])):
            return 1.0
        logs = found[0][1:].real + found[1][1:] - found[0][0].real + found[1][0]
        return math.exp(min(float(np.max(logs)), 0.0)) + half * self.ratio * (1.0 + 1e-9)

    def mean_and_variance(self) -> tuple[float, float] | None:
        # a loss between -x and x, whose variance is at most x^2, and (1 - t)(3 + t) - 4xt with t = e^-x
        mean, rest = float(expm1_minus(-self.ratio)), math.exp(-self.ratio)
        exact = (1.0 - rest) * (3.0 + rest) - 4.0 * self.ratio * rest + 64.0 * UNIT_ROUNDOFF
        return mean * (1.0 - 16.0 * UNIT_ROUNDOFF), min(exact, self.ratio * self.ratio) * (1.0 + 4.0 * UNIT_ROUNDOFF)

    def fall(self, tilt: float) -> Fall:
        # the variance under the tilted law is at least that of its two atoms: x^2 / (cosh a (1 + s tanh a))^2
        middle = (tilt + 0.5) * self.ratio
        if not 0.0 < middle < 300.0:
            return Fall()
        width = self.ratio / (math.cosh(middle) * (1.0 + self._drift(tilt)))
        rate = 2.0 / math.pi**2 * width * width * (1.0 - 1e-12)
        return Fall(reach=math.pi / (2.0 * self.ratio) * (1.0 - 1e-12), rate=rate)

    def _drift(self, tilt: float) -> float:
        return math.tanh((tilt + 0.5) * self.ratio) / (1.0 + 2.0 * tilt)


def _near_moment(ratios: Array, z: Complex) -> Complex:
    """M - 1 for small x: with e^w - 1 - w in place of the exponentials, since their linear terms cancel."""
    heavy, light = (1.0 + z) / (1.0 + 2.0 * z), z / (1.0 + 2.0 * z)
    rise, drop = np.multiply.outer(ratios, z), np.multiply.outer(ratios, -(1.0 + z))
    return np.asarray(heavy * expm1_minus_near(rise) + light * expm1_minus_near(drop), dtype=np.complex128)


def _far_moment(ratios: Array, z: Complex) -> Complex:
    """M over e^(zx): 1 + z/(1+2z) (e^(-(1+2z)x) - 1)."""
    share = z / (1.0 + 2.0 * z)
    return np.asarray(1.0 + share * np.expm1(np.multiply.outer(ratios, -(1.0 + 2.0 * z))), dtype=np.complex128)


def _zcdp(event: LaplaceEvent) -> ZCDP:
    return ZCDP(rho=finite(laplace_rho(event.ratio), notion="rho"))


RULES: tuple[LossRule, ...] = (
    rule("laplace-pure", LaplaceEvent, PureDP, ("DMNS06", "Proposition 1"), lambda event: PureDP(epsilon=event.ratio)),
    rule("laplace-zcdp", LaplaceEvent, ZCDP, ("dpkit", "docs/proofs/tight-zcdp.md, Theorem 2"), _zcdp),
    rule(
        "laplace-renyi",
        LaplaceEvent,
        LaplaceCurve,
        ("Mir17", "Proposition 6; several coordinates by docs/proofs/tight-zcdp.md, Lemma 4"),
        lambda event: LaplaceCurve(ratio=event.ratio),
    ),
    # attained by one coordinate
    rule(
        "laplace-pair",
        LaplaceEvent,
        LaplacePair,
        ("dpkit", "docs/proofs/pld.md, Lemma 8"),
        lambda event: LaplacePair(ratio=event.ratio),
        attained=always,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(mechanism_base.RoundedNoise):
    """value + Laplace noise of this scale b, in every entry, exactly rounded to a grid that depends on the scale alone."""

    law: ClassVar[NoiseLaw] = LAPLACE
    rules: ClassVar[tuple[LossRule, ...]] = RULES
    metric: ClassVar[str] = "l1"

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln density of the unrounded output, summed over the entries of the value."""
        center = np.asarray(value, dtype=np.float64)
        distance = np.abs(np.asarray(output, dtype=np.float64) - center)
        return mechanism_base.summed_over_value(-distance / self.scale - math.log(2.0 * self.scale), center.ndim)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """The largest absolute error over the shape at this confidence: exact for independent entries, rounding to the grid
        included. Beyond 2**53 grid steps a float64 cannot hold the answer, and its own rounding comes on top.
        """
        # P(all within t) = (1 - e^(-t/b))^m
        log_tail = mechanism_base.log_tail(mechanism_base.entries(shape), confidence)
        return -self.scale * log_tail * (1.0 + 1e-12) + self.grid / 2.0

    def combined_accuracy(self, norm: float, count: int, confidence: float, *, entries: int) -> float:
        """By Chernoff's bound and a sum over combinations; rounding adds half a step for each entry."""
        return laplace_combined_accuracy(self.scale, norm, count, confidence) + norm * math.sqrt(entries) * self.grid / 2.0


def laplace_combined_accuracy(scale: float, norm: float, count: int, confidence: float) -> float:
    """t with P(all of `count` combinations of Laplace noises are within t) >= confidence.

    For coefficients of norm c and scale b, E exp(sY) <= e at s = 1/(c b sqrt 2); so it is for integer Laplace noise.
    """
    odds = math.log(2.0 * count / (1.0 - confidence))
    return scale * norm * math.sqrt(2.0) * (1.0 + odds) * (1.0 + 1e-12)
