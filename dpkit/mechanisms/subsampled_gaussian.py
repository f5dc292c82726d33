"""Gaussian noise on a Poisson sample: its Rényi curve at every real order, with a proved quadrature error.

The theorem and the error analysis are in docs/proofs/subsampled-gaussian.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.mechanisms.gaussian import merged_gaussian
from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF, next_up, round_up
from dpkit.numerics.special import Array, asfloat, expm1_minus, log1p_minus, log_sum_exp
from dpkit.privacy.checks import finite_number, nonnegative
from dpkit.privacy.claims import Citation
from dpkit.privacy.events import Subsample
from dpkit.privacy.losses import RenyiCurve
from dpkit.privacy.neighbours import Neighbours
from dpkit.privacy.rules import LossRule

_NODES_LIMIT = 8192
"""Nodes for one order; an order that would need more gets the cheaper mixture bound."""

_STEEP = 600.0
"""Exponents above it are not raised: the moment is then summed in log space, where its excess over 1 needs no care."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledGaussianCurve(RenyiCurve):
    """Rényi divergence of (1-q) N(0,1) + q N(ratio,1) from N(0,1), which is the larger direction (MTZ19, Theorem 5)."""

    rate: float
    ratio: float

    def __post_init__(self) -> None:
        where = "SubsampledGaussianCurve"
        rate = finite_number(self.rate, field="rate", where=where, minimum=0.0, strict=True)
        if rate > 1.0:
            raise InvalidValueError(field="rate", found=self.rate, allowed="a number in (0, 1]", where=where)
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "ratio", nonnegative(self.ratio, field="ratio", where=where))

    def at(self, orders: Array) -> Array:
        """The curve at these orders, rounded up."""
        orders = np.asarray(orders, dtype=np.float64)
        if self.ratio == 0.0:
            return np.zeros_like(orders)
        bound = _closed_divergence(self.rate, self.ratio, orders)
        if self.rate == 1.0:
            return bound
        exact = np.array([_quadrature_divergence(self.rate, self.ratio, float(order)) for order in orders])
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


def _quadrature_divergence(rate: float, ratio: float, order: float) -> float:
    """The same divergence exactly, by the trapezoid rule; infinity where it would need too many nodes.

    The moment's excess over 1 is the integral of phi(w) [r^a - 1 - a(r-1)], r = 1 + q expm1(ratio w - ratio^2/2), whose
    integrand is nonnegative and analytic in |Im w| < pi/ratio: the error falls like exp(-digits), as proved in the page.
    The excess is of the size (q ratio)^2 (a-1), so the digits grow with the logarithm of that.
    """
    digits = 48.0 - 2.0 * math.log(rate) - 2.0 * min(0.0, math.log(ratio)) - min(0.0, math.log(order - 1.0))
    reach = math.sqrt(2.0 * digits)
    low, high = -reach, order * ratio + reach
    if high > _NODES_LIMIT:
        return math.inf  # a step is shorter than 1
    step = _step(ratio, digits)
    if (high - low) / step > _NODES_LIMIT:
        return math.inf
    nodes = low + step * np.arange(math.ceil((high - low) / step) + 1)
    tilt = ratio * nodes - 0.5 * ratio * ratio
    log_weight = -0.5 * nodes * nodes + math.log(step / math.sqrt(2.0 * math.pi))
    # past _STEEP the logarithm of the ratio rises by at most 1 for 1
    growth = rate * np.expm1(np.minimum(tilt, _STEEP))
    log_ratio = np.log1p(growth) + np.maximum(tilt - _STEEP, 0.0)
    power = order * log_ratio
    # relative error of one integrand value: its exponents carry a few rounding units of their own size
    slope = np.exp(np.minimum(0.0, math.log(rate) + tilt - log_ratio))
    steepness = np.abs(ratio * nodes) + ratio * ratio
    relative = UNIT_ROUNDOFF * (64.0 + 8.0 * (nodes * nodes + np.abs(power) + (1.0 + order * slope) * steepness))
    if float(np.max(log_weight + power)) < _STEEP:
        terms = _integrand(log_weight, growth, log_ratio, order)
        # r^a - 1 - a ln r and a(r - 1 - ln r) cancel by at most order/(order-1)
        noise = float(terms @ relative) * (1.0 + order / (order - 1.0)) + nodes.size * SMALLEST
        excess = float(np.sum(terms)) + noise
        edges = 4.0 * (1.0 + excess + 2.0 * order) * math.exp(-digits)  # discretisation and truncation
        log_moment = math.log1p(excess + edges)
    else:
        log_moment = float(log_sum_exp(log_weight + power))
        log_moment += float(np.exp(log_weight + power - log_moment) @ relative) + 4.0 * math.exp(-digits)
    return next_up(log_moment / (order - 1.0) * (1.0 + 8.0 * UNIT_ROUNDOFF))


def _integrand(log_weight: Array, growth: Array, log_ratio: Array, order: float) -> Array:
    """weight * [r^a - 1 - a(r-1)] at each node, where r = 1 + growth."""
    power = order * log_ratio
    huge = power > _STEEP
    near = np.where(huge, 0.0, power)
    curved = expm1_minus(near) + order * log1p_minus(np.where(huge, 0.0, growth))
    # where r^a is huge, 1 + a(r-1) is a r to all digits, or nothing beside r^a
    tail = np.exp(log_weight + power) * -np.expm1(np.minimum(0.0, math.log(order) + log_ratio - power))
    return asfloat(np.where(huge, tail, np.exp(log_weight) * np.maximum(curved, 0.0)))


def _step(ratio: float, digits: float) -> float:
    """The largest step whose discretisation error is below exp(-digits), from the strip of analyticity."""
    wide = math.pi * math.sqrt(2.0 / digits)  # the strip is no limit: exponent 2 pi^2 / h^2
    if wide >= 2.0 * ratio:
        return wide
    return 2.0 * math.pi**2 / (ratio * (digits + math.pi**2 / (2.0 * ratio**2)))


def _renyi(event: Subsample) -> RenyiCurve | None:
    inner = merged_gaussian(event.event)
    if inner is None or event.rate == 0.0:
        return None
    return SubsampledGaussianCurve(rate=event.rate, ratio=inner.ratio)


RULES: tuple[LossRule, ...] = (
    LossRule(
        name="subsampled-gaussian-renyi",
        event=Subsample,
        loss=SubsampledGaussianCurve,
        neighbours=(Neighbours.ADD_REMOVE,),
        because=Citation(key="MTZ19", locator="Theorems 4 and 5; quadrature: docs/proofs/subsampled-gaussian.md"),
        bound=_renyi,
    ),
)
