"""Gaussian noise on a Poisson sample: its Rényi curve at every real order, with a proved quadrature error.

The theorem and the error analysis are in docs/proofs/subsampled-gaussian.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpkit.core.checks import finite_number, nonnegative
from dpkit.core.claims import Citation
from dpkit.core.events import Subsample
from dpkit.core.loss_rules import LossRule
from dpkit.core.losses import RenyiCurve
from dpkit.core.neighbours import Neighbours
from dpkit.errors import InvalidValueError
from dpkit.mechanisms.gaussian import gaussian_rho, merged_gaussian
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat, expm1_minus, log1p_minus, log_sum_exp

_NODES_LIMIT = 8192
"""Nodes for one order; an order that would need more gets the cheaper mixture bound."""

_LOG_LIMIT = 500.0
"""Above this exponent the moment is summed in log space: it is so large that its excess over 1 needs no care."""


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
        bound = _mixture_divergence(self.rate, self.ratio, orders)
        if self.ratio == 0.0 or self.rate == 1.0:
            return bound
        exact = np.array([_quadrature_divergence(self.rate, self.ratio, float(order)) for order in orders])
        return asfloat(np.minimum(bound, exact))


def _mixture_divergence(rate: float, ratio: float, orders: Array) -> Array:
    """ln[(1-q) + q exp(a(a-1) ratio^2/2)] / (a-1): the moment is convex in the mixture. Valid at every order."""
    with np.errstate(over="ignore"):
        excess = orders - 1.0
        exponent = orders * excess * gaussian_rho(ratio) * (1.0 + 8.0 * UNIT_ROUNDOFF)
        small = exponent < 1.0
        near = np.log1p(rate * np.expm1(np.where(small, exponent, 0.0)))
        far = np.logaddexp(math.log1p(-rate) if rate < 1.0 else -np.inf, math.log(rate) + exponent)
        return np.where(small, near, far) / excess * (1.0 + 32.0 * UNIT_ROUNDOFF)


def _quadrature_divergence(rate: float, ratio: float, order: float) -> float:
    """The same divergence exactly, by the trapezoid rule; infinity where it would need too many nodes.

    The moment's excess over 1 is the integral of phi(w) [r^a - 1 - a(r-1)], r = 1 + q expm1(ratio w - ratio^2/2), whose
    integrand is nonnegative and analytic in |Im w| < pi/ratio: the error falls like exp(-digits), as proved in the page.
    """
    digits = 48.0 + 2.0 * math.log(1.0 / rate)
    step = _step(ratio, digits)
    reach = math.sqrt(2.0 * digits)
    low, high = -reach, order * ratio + reach
    if not math.isfinite(high) or (high - low) / step > _NODES_LIMIT:
        return math.inf
    nodes = low + step * np.arange(math.ceil((high - low) / step) + 1)
    tilt = ratio * nodes - 0.5 * ratio * ratio
    log_weight = -0.5 * nodes * nodes + math.log(step / math.sqrt(2.0 * math.pi))
    peak = order * max(0.0, float(tilt[-1]))
    # relative error of one integrand value: its exponents carry a few rounding units of their own size
    relative = UNIT_ROUNDOFF * (64.0 + 8.0 * (peak + high * high))
    if peak < _LOG_LIMIT:
        growth = rate * np.expm1(tilt)
        curved = expm1_minus(order * np.log1p(growth)) + order * log1p_minus(growth)
        # the two terms cancel by at most order/(order-1)
        excess = float(np.exp(log_weight) @ np.maximum(curved, 0.0))
        noise = relative * excess * (1.0 + order / (order - 1.0))
        edges = 4.0 * (1.0 + excess + 2.0 * order) * math.exp(-digits)  # discretisation and truncation
        log_moment = math.log1p(excess + noise + edges)
    else:
        log_ratio = np.logaddexp(math.log1p(-rate), math.log(rate) + tilt)
        log_moment = float(log_sum_exp(log_weight + order * log_ratio)) + relative + 4.0 * math.exp(-digits)
    return max(0.0, log_moment) / (order - 1.0) * (1.0 + 8.0 * UNIT_ROUNDOFF)


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
