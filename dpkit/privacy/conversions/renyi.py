"""The optimal reading of a Rényi curve, zCDP included, as (epsilon, delta)."""

from __future__ import annotations

import math

import numpy as np

from dpkit.numerics.bracketing import minimise
from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF
from dpkit.numerics.special import Array
from dpkit.privacy.losses import RenyiCurve

# Where the search for the best order - 1 starts; it widens by itself.
_LOW, _HIGH = 1e-3, 1e6


def renyi_epsilon(curve: RenyiCurve, *, delta: float) -> tuple[float, float]:
    """The smallest epsilon at delta that the curve implies, and the order that gives it.

    CKS20, Prop 12, solved for epsilon: for every order a > 1,
    epsilon = D(a) + ln(1 - 1/a) - (ln delta + ln a) / (a - 1). Each order gives a valid bound, so the search over orders
    can cost tightness and never soundness. Infinity at delta = 0 unless the curve is zero.
    """
    if curve.at(np.array([2.0]))[0] == 0.0:
        return 0.0, 2.0  # a divergence of zero means equal distributions
    if delta == 0.0:
        return math.inf, math.inf
    log_delta = math.log(delta)

    def bound(excess: Array) -> Array:
        orders = 1.0 + excess
        return _epsilon_at(curve, orders, log_delta)

    order = 1.0 + minimise(bound, low=_LOW, high=_HIGH)
    return max(0.0, float(_epsilon_at(curve, np.array([order]), log_delta)[0])), order


def _epsilon_at(curve: RenyiCurve, orders: Array, log_delta: float) -> Array:
    excess = orders - 1.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        divergence = _divergence(curve, orders)
        tail, gain, start = -log_delta / excess, np.log1p(1.0 / excess), np.log1p(excess) / excess
        error = 8.0 * UNIT_ROUNDOFF * (divergence + np.abs(tail) + gain + start)
        value = divergence + tail - gain - start + error
    return np.where(np.isnan(value), np.inf, value)


def _divergence(curve: RenyiCurve, orders: Array) -> Array:
    """The curve where it is defined; order = 1 exactly (an excess below rounding) says nothing."""
    above = orders > 1.0
    return np.where(above, curve.at(np.where(above, orders, 2.0)), np.inf)


def renyi_delta(curve: RenyiCurve, *, epsilon: float) -> tuple[float, float]:
    """The smallest delta at epsilon that the curve implies, and the order that gives it (CKS20, Prop 12)."""
    if curve.at(np.array([2.0]))[0] == 0.0:
        return 0.0, 2.0

    def bound(excess: Array) -> Array:
        return _log_delta_at(curve, 1.0 + excess, epsilon)

    order = 1.0 + minimise(bound, low=_LOW, high=_HIGH)
    log_delta = float(_log_delta_at(curve, np.array([order]), epsilon)[0])
    delta = math.exp(log_delta) * (1.0 + 4.0 * UNIT_ROUNDOFF) + SMALLEST if log_delta < 0.0 else 1.0
    return min(1.0, delta), order


def _log_delta_at(curve: RenyiCurve, orders: Array, epsilon: float) -> Array:
    excess = orders - 1.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        divergence = _divergence(curve, orders)
        gain = np.log1p(1.0 / excess)
        start = np.log1p(excess)
        error = 8.0 * UNIT_ROUNDOFF * (excess * (divergence + epsilon + gain) + start)
        value = excess * (divergence - epsilon - gain) - start + error
    return np.where((excess > 0.0) & ~np.isnan(value), value, np.inf)


def epsilon_at_order(order: float, *, epsilon: float, delta: float) -> float | None:
    """The divergence at one order that (epsilon, delta) allows, rounded down; None where it allows none (CKS20, Prop 12)."""
    excess = order - 1.0
    terms = (math.log(delta) / excess, math.log1p(1.0 / excess), math.log1p(excess) / excess)
    value = epsilon + sum(terms)
    allowed = value - 16.0 * UNIT_ROUNDOFF * (epsilon + sum(abs(term) for term in terms))
    return allowed if allowed >= 0.0 else None


def gaussian_order(epsilon: float, delta: float) -> float:
    """The order at which an (epsilon, delta) budget admits the most Gaussian noise: where the allowed rho is largest."""

    def spent(excess: Array) -> Array:
        allowed = epsilon + math.log(delta) / excess + np.log1p(1.0 / excess) + np.log1p(excess) / excess
        return -allowed / (1.0 + excess)

    return 1.0 + minimise(spent, low=_LOW, high=_HIGH)
