"""What concentrated losses imply, and how they are read as (epsilon, delta)."""

from __future__ import annotations

import math
from fractions import Fraction

from dpkit.numerics.rounding import SMALLEST, outward, round_up, sqrt_up
from dpkit.privacy.claims import finite
from dpkit.privacy.losses import ZCDP, MeanCDP
from dpkit.privacy.renyi_curves import LinearCurve

_BEYOND = 1e100
"""At this number of standard deviations, every tail is below the smallest float."""


def mean_cdp_to_renyi(loss: MeanCDP) -> LinearCurve:
    """(mu, tau)-CDP has Rényi divergence at most mu + (order - 1) tau^2 / 2 (BS16, section 4, from the definition)."""
    half_square = Fraction(loss.tau) ** 2 / 2
    slope = finite(round_up(half_square), notion="Rényi curve")
    return LinearCurve(intercept=round_up(Fraction(loss.mu) - half_square), slope=slope)


def mean_cdp_to_zcdp(loss: MeanCDP) -> ZCDP:
    """(mu, tau)-CDP is max(mu, tau^2/2)-zCDP: the line above, divided by the order, is largest at one of its ends."""
    return ZCDP(rho=finite(max(loss.mu, round_up(Fraction(loss.tau) ** 2 / 2)), notion="rho"))


def zcdp_to_renyi(loss: ZCDP) -> LinearCurve:
    """rho-zCDP has Rényi divergence at most rho * order: the definition (BS16, Definition 1.1). The slack is apart."""
    return LinearCurve(slope=loss.rho)


def mean_cdp_epsilon(loss: MeanCDP, *, delta: float) -> float:
    """epsilon = mu + tau sqrt(2 ln(1/delta)): the subgaussian tail (DR16, section 3). Infinity at delta = 0."""
    if loss.tau == 0.0:
        return loss.mu
    if delta == 0.0:
        return math.inf
    tail = loss.tau * math.sqrt(-2.0 * math.log(delta))
    return outward(loss.mu + tail, magnitude=loss.mu + tail)


def mean_cdp_delta(loss: MeanCDP, *, epsilon: float) -> float:
    """delta = exp(-(epsilon - mu)^2 / (2 tau^2)) above the mean, 1 below it."""
    gap = epsilon - loss.mu
    if gap < 0.0:
        return 1.0
    if loss.tau == 0.0:
        return 0.0
    scaled = gap / loss.tau
    if scaled > _BEYOND:
        return SMALLEST
    exponent = -0.5 * scaled**2
    # relative error of gap: one unit of (epsilon + mu) over gap, doubled by the square
    wobble = 8.0 * 2.0**-53 * (1.0 + abs(exponent)) * (1.0 + (epsilon + loss.mu) / gap) if gap else 0.0
    return min(1.0, outward(math.exp(min(0.0, exponent + wobble)), magnitude=0.0))


def zcdp_epsilon_simple(rho: float, *, delta: float) -> float:
    """epsilon = rho + 2 sqrt(rho ln(1/delta)) (BS16, Prop 1.3): simple, as the paper's era used it, and not the best.

    `dpkit.privacy.conversions.renyi.renyi_epsilon` is the optimal reading.
    """
    if rho == 0.0:
        return 0.0
    if delta == 0.0:
        return math.inf
    value = rho + 2.0 * math.sqrt(rho) * math.sqrt(-math.log(delta))
    return outward(value, magnitude=value)


def zcdp_delta_simple(rho: float, *, epsilon: float) -> float:
    """delta = exp(-(epsilon - rho)^2 / (4 rho)) above rho, 1 below it: Prop 1.3 solved for delta."""
    return mean_cdp_delta(MeanCDP(mu=rho, tau=sqrt_up(2 * Fraction(rho))), epsilon=epsilon)
