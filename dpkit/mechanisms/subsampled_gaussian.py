"""Gaussian noise on a Poisson sample: its Rényi curve at every real order, with a proved quadrature error, and its pair.

The theorem and the error analysis are in docs/proofs/subsampled-gaussian.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Self

import numpy as np

from dpkit.mechanisms.gaussian import merged_gaussian
from dpkit.mechanisms.sampled_moments import rough_log_moment, sampled_decay, sampled_log_moment
from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF, round_up
from dpkit.numerics.special import Array, Complex, asfloat, expm1_minus, log1p_minus, log_sum_exp
from dpkit.privacy.checks import checked, finite_number, nonnegative, positive, probability
from dpkit.privacy.claims import LossRule, rule
from dpkit.privacy.events import Subsample
from dpkit.privacy.gaussian_dp import GaussianPair, gaussian_profile
from dpkit.privacy.loss_pairs import LossDirection, LossPair, Moments
from dpkit.privacy.losses import RenyiCurve
from dpkit.privacy.neighbours import Neighbours
from dpkit.privacy.sampled_pairs import inner_epsilons, sampled_loss
from dpkit.values import dataclass

_NODES_LIMIT = 8192
"""Nodes for one order; an order that would need more gets the cheaper mixture bound."""

_STEEP = 600.0
"""Exponents above it are not raised: the moment is then summed in log space, where its excess over 1 needs no care."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(rate=partial(probability, minimum_is_open=True), ratio=nonnegative)
class SubsampledGaussianCurve(RenyiCurve):
    """Rényi divergence of (1-q) N(0,1) + q N(ratio,1) from N(0,1), which is the larger direction (MTZ19, Theorem 5)."""

    rate: float
    ratio: float

    def at(self, orders: Array) -> Array:
        """The curve at these orders, rounded up."""
        orders = np.asarray(orders, dtype=np.float64)
        if self.ratio == 0.0:
            return np.zeros_like(orders)
        bound = _closed_divergence(self.rate, self.ratio, orders)
        if self.rate == 1.0:
            return bound
        exact = np.empty_like(orders)
        # orders within a factor of four have nearly the same nodes
        reach = np.floor(0.5 * np.log2(np.minimum(orders, 1e9) * min(self.ratio, 1e9) + 8.0))
        sizes = reach + 64.0 * np.floor(np.minimum(np.log2(orders - 1.0), 0.0) / 8.0)
        for size in np.unique(sizes):
            some = sizes == size
            exact[some] = _quadrature_divergence(self.rate, self.ratio, asfloat(orders[some]))
        return asfloat(np.minimum(bound, exact))


def _closed_divergence(rate: float, ratio: float, orders: Array) -> Array:
    """The smaller of two bounds that hold at every order, with r the ratio of the densities and a the order.

    E[r^a] <= (1-q) + q exp(a(a-1) ratio^2/2), since a power is convex in the mixture; and Minkowski's inequality,
    E[r^a]^(1/a) <= (1-q) + q exp((a-1) ratio^2/2), which is the tight one at large orders.
    """
    with np.errstate(over="ignore"):
        excess = orders - 1.0
        exponent = excess * round_up(Fraction(ratio) ** 2 / 2) * (1.0 + 8.0 * UNIT_ROUNDOFF)
        convex = _log_mixture(rate, orders * exponent) / excess
        minkowski = _log_mixture(rate, exponent) * (orders / excess)
        return asfloat(np.nextafter(np.minimum(convex, minkowski) * (1.0 + 8.0 * UNIT_ROUNDOFF), np.inf))


def _log_mixture(rate: float, exponent: Array) -> Array:
    """ln(1 - rate + rate e^exponent), rounded up."""
    small = exponent < 1.0
    near = np.log1p(rate * np.expm1(np.where(small, exponent, 0.0)))
    far = np.logaddexp(math.log1p(-rate) if rate < 1.0 else -np.inf, math.log(rate) + exponent)
    value = np.where(small, near, far)
    # the exponents that enter the sum carry rounding units of their own size
    wobble = 8.0 * UNIT_ROUNDOFF * (exponent - math.log(rate)) * np.minimum(1.0, value)
    return np.where(np.isfinite(value), value * (1.0 + 16.0 * UNIT_ROUNDOFF) + wobble + SMALLEST, np.inf)


def _quadrature_divergence(rate: float, ratio: float, orders: Array) -> Array:
    """The same divergence exactly, by the trapezoid rule; infinity where it would need too many nodes.

    The moment's excess over 1 is the integral of phi(w) [r^a - 1 - a(r-1)], r = 1 + q expm1(ratio w - ratio^2/2), whose
    integrand is nonnegative and analytic in |Im w| < pi/ratio: the error falls like exp(-digits), as proved in the page.
    The excess is of the size (q ratio)^2 (a-1), so the digits grow with the logarithm of that. Orders share their nodes.
    """
    digits = 48.0 - 2.0 * math.log(rate) - 2.0 * min(0.0, math.log(ratio)) - min(0.0, math.log(float(np.min(orders)) - 1.0))
    reach = math.sqrt(2.0 * digits)
    low, high = -reach, float(np.max(orders)) * ratio + reach
    # a step is shorter than 1
    step = _step(ratio, digits) if high <= _NODES_LIMIT else 1.0
    if (high - low) / step > _NODES_LIMIT:
        return np.full(orders.size, math.inf)
    nodes = low + step * np.arange(math.ceil((high - low) / step) + 1)
    tilt = ratio * nodes - 0.5 * ratio * ratio
    log_weight = -0.5 * nodes * nodes + math.log(step / math.sqrt(2.0 * math.pi))
    # past _STEEP the logarithm of the ratio rises by at most 1 for 1
    growth = rate * np.expm1(np.minimum(tilt, _STEEP))
    log_ratio = np.log1p(growth) + np.maximum(tilt - _STEEP, 0.0)
    power = np.multiply.outer(orders, log_ratio)
    # relative error of one integrand value: its exponents carry a few rounding units of their own size
    slope = np.exp(np.minimum(0.0, math.log(rate) + tilt - log_ratio))
    steepness = np.abs(ratio * nodes) + ratio * ratio
    relative = UNIT_ROUNDOFF * (
        64.0 + 8.0 * (nodes * nodes + np.abs(power) + (1.0 + np.multiply.outer(orders, slope)) * steepness)
    )
    largest = np.max(log_weight + power, axis=1)
    steep = largest >= _STEEP
    moments = np.empty(orders.size)
    if not np.all(steep):
        some = orders[~steep]
        terms = _integrand(log_weight, growth, log_ratio, some)
        # r^a - 1 - a ln r and a(r - 1 - ln r) cancel by at most order/(order-1)
        noise = np.sum(terms * relative[~steep], axis=1) * (1.0 + some / (some - 1.0)) + nodes.size * SMALLEST
        excess = np.sum(terms, axis=1) + noise
        edges = 4.0 * (1.0 + excess + 2.0 * some) * math.exp(-digits)  # discretisation and truncation
        moments[~steep] = np.log1p(excess + edges)
    if np.any(steep):
        logs = (log_weight + power)[steep]
        found = log_sum_exp(logs)
        found += np.sum(np.exp(logs - found[:, None]) * relative[steep], axis=1) + 4.0 * math.exp(-digits)
        moments[steep] = found
    return asfloat(np.nextafter(moments / (orders - 1.0) * (1.0 + 8.0 * UNIT_ROUNDOFF), np.inf))


def _integrand(log_weight: Array, growth: Array, log_ratio: Array, orders: Array) -> Array:
    """weight * [r^a - 1 - a(r-1)] at each node, a row for each order, where r = 1 + growth."""
    power = np.multiply.outer(orders, log_ratio)
    huge = power > _STEEP
    curved = expm1_minus(np.where(huge, 0.0, power)) + np.multiply.outer(orders, log1p_minus(growth))
    with np.errstate(over="ignore", invalid="ignore"):
        # where r^a is huge, 1 + a(r-1) is a r to all digits, or nothing beside r^a
        tail = np.exp(log_weight + power) * -np.expm1(np.minimum(0.0, np.log(orders)[:, None] + log_ratio - power))
    return asfloat(np.where(huge, tail, np.exp(log_weight) * np.maximum(curved, 0.0)))


def _step(ratio: float, digits: float) -> float:
    """The largest step whose discretisation error is below exp(-digits), from the strip of analyticity."""
    wide = math.pi * math.sqrt(2.0 / digits)  # the strip is no limit: exponent 2 pi^2 / h^2
    if wide >= 2.0 * ratio:
        return wide
    return 2.0 * math.pi**2 / (ratio * (digits + math.pi**2 / (2.0 * ratio**2)))


def _renyi(event: Subsample) -> RenyiCurve | None:
    inner = merged_gaussian(event.event)
    if inner is None or event.rate == 0.0 or event.at_most is not None:
        return None
    return SubsampledGaussianCurve(rate=event.rate, ratio=inner.ratio)


_HARMLESS = 1e-8
"""How far a log moment of all releases may be off, absolutely, where that makes it faster."""

_CLOSE = 1e-13
"""The same, where what is read is far smaller than what is summed."""

HOPELESS = 100.0
"""Noise so small beside the sensitivity protects nobody, sampled or not, and would overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(rate=partial(finite_number, minimum=0.0, below=1.0, strict=True), ratio=positive)
class SubsampledGaussianPair(LossPair):
    """P = (1-q) N(0,1) + q N(ratio,1) against Q = N(0,1); `backward` is Q against P."""

    rate: float
    ratio: float

    def forward(self) -> LossDirection:
        """A record more."""
        return _Joining(rate=self.rate, ratio=self.ratio)

    def backward(self) -> LossDirection | None:
        """A record less."""
        return _Leaving(rate=self.rate, ratio=self.ratio)

    def gaussian_bound(self) -> float:
        """That of the noise: H is convex in P, so a sample dominates in no direction what it is drawn from."""
        return self.ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joining(LossDirection):
    """L = ln(1 - q + q e^(m w - m^2/2)): delta(epsilon) = q delta_G(ln(1 + (e^epsilon - 1)/q)) (BBG18, Theorem 8)."""

    rate: float
    ratio: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        inner, possible = inner_epsilons(epsilons, self.rate)
        value, error = gaussian_profile(self.ratio, inner)
        # the inner epsilon is rounded relatively to 1 + (e^epsilon - 1)/q, and the slope of the profile passes that on
        wobble = np.where(inner > 0.0, (1.0 + np.abs(inner)) * _steepness(self.ratio, inner), 1.0)
        error = error + 8.0 * UNIT_ROUNDOFF * wobble
        outer = -np.expm1(np.minimum(epsilons, 0.0))
        return (
            asfloat(np.where(possible, self.rate * value, outer)),
            asfloat(
                np.where(possible, self.rate * error + 4.0 * UNIT_ROUNDOFF * self.rate * value, 4.0 * UNIT_ROUNDOFF * outer)
            ),
        )

    def slope(self, epsilons: Array) -> Array:
        from scipy.special import ndtr

        inner, possible = inner_epsilons(epsilons, self.rate)
        with np.errstate(over="ignore"):
            return asfloat(np.where(possible, ndtr(-(inner / self.ratio + self.ratio / 2.0)), 1.0))

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments | None:
        return _total_log_moment(directions, counts, z, leaving=False, error=_HARMLESS)

    @classmethod
    def close_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments | None:
        return _total_log_moment(directions, counts, z, leaving=False, error=_CLOSE)

    def log_decay(self, tilt: float, height: float) -> float:
        return sampled_decay(self.rate, self.ratio, 1.0 + tilt, height)

    def real_log_moment(self, tilts: Array) -> Array:
        return _moment_bound(self.rate, self.ratio, tilts)

    def rough_log_moment(self, tilts: Array) -> Array | None:
        return _rough_moment(self.rate, self.ratio, tilts)

    def reach(self, tail: float) -> tuple[float, float]:
        from scipy.special import ndtri

        far = -float(ndtri(max(tail, 1e-300)))
        return _loss_at(self.rate, self.ratio, -far), _loss_at(self.rate, self.ratio, self.ratio + far)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaving(LossDirection):
    """L = -ln(1 - q + q e^(m w - m^2/2)) under N(0,1): at most -ln(1-q)."""

    rate: float
    ratio: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        inner, possible = inner_epsilons(-epsilons, self.rate)
        value, error = gaussian_profile(self.ratio, -inner)
        with np.errstate(over="ignore"):
            moved = 1.0 + np.abs(inner) + np.exp(np.minimum(-inner, 300.0))
        error = error + 8.0 * UNIT_ROUNDOFF * moved * _steepness(self.ratio, -inner)
        edge = math.log1p(-self.rate)
        share = np.where(possible, -np.expm1(np.minimum(epsilons + edge, 0.0)), 0.0)
        blur = np.where(possible, 8.0 * UNIT_ROUNDOFF * (np.abs(epsilons) + abs(edge) + share), 0.0)
        return asfloat(share * value), asfloat(share * error + blur * value)

    def slope(self, epsilons: Array) -> Array:
        from scipy.special import ndtr

        inner, possible = inner_epsilons(-epsilons, self.rate)
        with np.errstate(over="ignore"):
            edge = inner / self.ratio + self.ratio / 2.0
        inside = (1.0 - self.rate) * ndtr(edge) + self.rate * ndtr(edge - self.ratio)
        return asfloat(np.where(possible, inside, 0.0))

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments | None:
        return _total_log_moment(directions, counts, z, leaving=True, error=_HARMLESS)

    @classmethod
    def close_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments | None:
        return _total_log_moment(directions, counts, z, leaving=True, error=_CLOSE)

    def log_decay(self, tilt: float, height: float) -> float:
        return sampled_decay(self.rate, self.ratio, -tilt, height)

    def real_log_moment(self, tilts: Array) -> Array:
        return asfloat(leaving_bound_at(self.rate, self.ratio, tuple(tilts.tolist())))

    def rough_log_moment(self, tilts: Array) -> Array | None:
        return rough_leaving_at(self.rate, self.ratio, tuple(tilts.tolist()))

    def reach(self, tail: float) -> tuple[float, float]:
        from scipy.special import ndtri

        far = -float(ndtri(max(tail, 1e-300)))
        return -_loss_at(self.rate, self.ratio, far), -_loss_at(self.rate, self.ratio, -far)

    def top(self) -> float:
        return -math.log1p(-self.rate) * (1.0 + 4.0 * UNIT_ROUNDOFF)


def _total_log_moment(
    directions: Sequence[_Joining | _Leaving], counts: Sequence[int], z: Complex, *, leaving: bool, error: float
) -> Moments | None:
    """E_P[e^(zL)] is E[r^(1+z)] for a record more and E[r^-z] for one less; all z have one real part, as on a contour."""
    tilt = float(z.real[0])
    if np.any(z.real != tilt) or np.any(z.imag < 0.0):
        return None
    total, errors = np.zeros(z.shape, dtype=np.complex128), np.zeros(z.shape)
    for direction, count in zip(directions, counts, strict=True):
        power = -tilt if leaving else 1.0 + tilt
        found = sampled_log_moment(
            direction.rate, direction.ratio, power, asfloat(z.imag), error=error / count, patient=error < _HARMLESS
        )
        if found is None:
            return None
        total, errors = total + count * found[0], errors + count * found[1]
    return np.conj(total) if leaving else total, errors


def _loss_at(rate: float, ratio: float, place: float) -> float:
    """ln(1 - q + q e^(m w - m^2/2))."""
    return sampled_loss(rate, ratio * place - 0.5 * ratio * ratio)


def _moment_bound(rate: float, ratio: float, tilts: Array) -> Array:
    """tilt times the Rényi divergence at order tilt + 1; both directions ask for the same tilts, and are answered once."""
    return asfloat(moment_bound_at(rate, ratio, tuple(tilts.tolist())))


@lru_cache(maxsize=64)
def moment_bound_at(rate: float, ratio: float, tilts: tuple[float, ...]) -> tuple[float, ...]:
    """The bounds of `_moment_bound`, remembered; tilts are a tuple, which can be hashed."""
    usable = [tilt for tilt in tilts if 1.0 + tilt > 1.0]
    if not usable:
        return (math.inf,) * len(tilts)
    divergences = SubsampledGaussianCurve(rate=rate, ratio=ratio).at(1.0 + np.array(usable))
    found = dict(zip(usable, (np.array(usable) * divergences).tolist(), strict=True))
    return tuple(found.get(tilt, math.inf) for tilt in tilts)


@lru_cache(maxsize=64)
def leaving_bound_at(rate: float, ratio: float, tilts: tuple[float, ...]) -> tuple[float, ...]:
    """ln E[r^-tilt] from above, for a record less; where quadrature does not reach, as r >= 1 - q, or that of a record more
    (the smaller direction: MTZ19, Theorem 5).
    """
    least = -math.log1p(-rate) * (1.0 + 4.0 * UNIT_ROUNDOFF)
    found = []
    for tilt in tilts:
        known = sampled_log_moment(rate, ratio, -tilt, np.zeros(1)) if 0.0 < tilt < math.inf else None
        if known is None:
            found.append(min(tilt * least, moment_bound_at(rate, ratio, (tilt,))[0]))
        else:
            found.append(min(tilt * least, float(known[0][0].real + known[1][0])))
    return tuple(found)


@lru_cache(maxsize=64)
def rough_leaving_at(rate: float, ratio: float, tilts: tuple[float, ...]) -> Array | None:
    """The same without a bound of the error, for a search."""
    return rough_log_moment(rate, ratio, -asfloat(tilts))


def _rough_moment(rate: float, ratio: float, tilts: Array) -> Array | None:
    """The moments without a bound of their error, for a search."""
    return rough_moment_at(rate, ratio, tuple(tilts.tolist()))


@lru_cache(maxsize=64)
def rough_moment_at(rate: float, ratio: float, tilts: tuple[float, ...]) -> Array | None:
    """The moments of `_rough_moment`, remembered."""
    return rough_log_moment(rate, ratio, 1.0 + asfloat(tilts))


def _steepness(ratio: float, epsilons: Array) -> Array:
    """-d delta_G / d epsilon = e^epsilon Phi(-epsilon/m - m/2)."""
    from scipy.special import log_ndtr

    with np.errstate(over="ignore"):
        return asfloat(np.exp(np.minimum(epsilons + log_ndtr(-epsilons / ratio - ratio / 2.0), 0.0)))


def _pair(event: Subsample) -> LossPair | None:
    inner = merged_gaussian(event.event)
    if inner is None or event.rate == 0.0 or inner.ratio == 0.0 or event.at_most is not None:
        return None
    if event.rate == 1.0 or inner.ratio > HOPELESS:
        return GaussianPair(mu=inner.ratio)  # a sample is never worse than the whole: profiles are convex in the pair
    return SubsampledGaussianPair(rate=event.rate, ratio=inner.ratio)


def _attained(event: Subsample) -> bool:
    """By a single record; not where the whole stands for the sample."""
    inner = merged_gaussian(event.event)
    return inner is not None and inner.ratio <= HOPELESS


RULES: tuple[LossRule, ...] = (
    rule(
        "subsampled-gaussian-renyi",
        Subsample,
        SubsampledGaussianCurve,
        ("MTZ19", "Theorems 4 and 5; quadrature: docs/proofs/subsampled-gaussian.md"),
        _renyi,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
    rule(
        "subsampled-gaussian-pair",
        Subsample,
        LossPair,
        ("ZDW22", "dominating pairs of Poisson sampling; the profiles of BBG18, Theorem 8"),
        _pair,
        neighbours=(Neighbours.ADD_REMOVE,),
        attained=_attained,
    ),
)
