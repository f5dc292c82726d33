"""Every arrow between notions: one theorem a function, each with its source, each sound in one direction only.

The arrows that turn one loss into another stand in the table at the end. The readings as (epsilon, delta), which need a target,
are plain functions: `mean_cdp_epsilon`, `zcdp_epsilon_simple`, `renyi_epsilon` (optimal, zCDP included), and their counterparts
for delta; those of a Gaussian are in `dpkit.privacy.gaussian_dp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType

import numpy as np

from dpkit.numerics.bracketing import minimise
from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF, outward, round_up, sqrt_up
from dpkit.numerics.special import Array
from dpkit.privacy.claims import Citation, Conversion, finite
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.privacy.loss_pairs import LossPair, PurePair
from dpkit.privacy.losses import GDP, ZCDP, ApproxDP, LinearCurve, Loss, MeanCDP, PureCurve, PureDP, RenyiCurve


def pure_to_approximate(loss: PureDP) -> ApproxDP:
    """epsilon-DP is (epsilon, 0)-DP: by definition (DR14, Definition 2.4)."""
    return ApproxDP(epsilon=loss.epsilon, delta=0.0)


def pure_to_zcdp_usual(loss: PureDP) -> ZCDP:
    """epsilon-DP is (epsilon^2 / 2)-zCDP (BS16, Prop 1.4); exact arithmetic, rounded up once."""
    return ZCDP(rho=finite(round_up(Fraction(loss.epsilon) ** 2 / 2), notion="rho"))


def pure_to_zcdp(loss: PureDP) -> ZCDP:
    """epsilon-DP is (epsilon tanh(epsilon/2))-zCDP (docs/proofs/tight-zcdp.md, Theorem 1): never above epsilon^2 / 2.

    The bound is attained by randomised response as the order tends to 1.
    """
    return ZCDP(rho=finite(pure_mean(loss.epsilon), notion="rho"))


def pure_mean(epsilon: float) -> float:
    """epsilon tanh(epsilon/2), rounded up: the largest mean of a privacy loss in [-epsilon, epsilon].

    It is the Kullback-Leibler divergence of randomised response, which dominates every epsilon-DP pair (KOV15, Thm 3.1).
    """
    value = epsilon * math.tanh(epsilon / 2.0)
    return outward(value, magnitude=value, ulps=4.0) if epsilon else 0.0


def pure_to_mean_cdp_usual(loss: PureDP) -> MeanCDP:
    """epsilon-DP is (epsilon (e^epsilon - 1) / 2, epsilon)-CDP (DR16, Thm 3.5)."""
    try:
        mean = loss.epsilon * math.expm1(loss.epsilon) / 2.0
    except OverflowError:
        mean = math.inf
    return MeanCDP(mu=finite(outward(mean, magnitude=mean, ulps=4.0) if loss.epsilon else 0.0, notion="mean"), tau=loss.epsilon)


def pure_to_mean_cdp(loss: PureDP) -> MeanCDP:
    """epsilon-DP is (epsilon tanh(epsilon/2), epsilon)-CDP: the exact largest mean; Hoeffding's lemma for tau."""
    return MeanCDP(mu=finite(pure_mean(loss.epsilon), notion="mean"), tau=loss.epsilon)


def pure_to_renyi(loss: PureDP) -> PureCurve:
    """epsilon-DP has the Rényi curve of randomised response, exactly (BS16, proof of Prop 3.3)."""
    return PureCurve(epsilon=loss.epsilon)


def approximate_to_zcdp(loss: ApproxDP) -> ZCDP:
    """(epsilon, delta)-DP is delta-approximate zCDP with the rho of epsilon-DP (BS16, Lemma 8.8).

    An (epsilon, delta) pair is a mixture: with probability 1 - delta a pure epsilon pair (KOV15, Thm 3.1), so any zCDP
    bound for pure losses serves, the tight one included.
    """
    return ZCDP(rho=pure_to_zcdp(PureDP(epsilon=loss.epsilon)).rho, delta=loss.delta)


def approximate_to_zcdp_usual(loss: ApproxDP) -> ZCDP:
    """(epsilon, delta)-DP is delta-approximate (epsilon^2 / 2)-zCDP (BS16, Lemma 8.8)."""
    return ZCDP(rho=pure_to_zcdp_usual(PureDP(epsilon=loss.epsilon)).rho, delta=loss.delta)


def approximate_to_renyi(loss: ApproxDP) -> PureCurve:
    """(epsilon, delta)-DP is, but for a slack of delta kept apart, a pure loss with its Rényi curve (KOV15, Thm 3.1)."""
    return PureCurve(epsilon=loss.epsilon)


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

    `renyi_epsilon` is the optimal reading.
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


def gdp_to_zcdp(loss: GDP) -> ZCDP:
    """mu-GDP is (mu^2/2)-zCDP (DRS22, Cor B.6; exact for Gaussian noise, BS16 Prop 1.6)."""
    return ZCDP(rho=finite(round_up(Fraction(loss.mu) ** 2 / 2), notion="rho"))


def gdp_to_renyi(loss: GDP) -> LinearCurve:
    """mu-GDP has Rényi divergence at most mu^2/2 * order (DRS22, Cor B.6)."""
    return LinearCurve(slope=finite(round_up(Fraction(loss.mu) ** 2 / 2), notion="Rényi curve"))


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


def _arrow(name: str, source: type[Loss], target: type[Loss], key: str, locator: str, apply: Callable[..., Loss]) -> Conversion:
    return Conversion(name=name, source=source, target=target, because=Citation(key=key, locator=locator), apply=apply)


CONVERSIONS: tuple[Conversion, ...] = (
    _arrow("pure-to-approximate", PureDP, ApproxDP, "DR14", "Definition 2.4", pure_to_approximate),
    _arrow("pure-to-zcdp-usual", PureDP, ZCDP, "BS16", "Proposition 1.4", pure_to_zcdp_usual),
    _arrow("pure-to-zcdp", PureDP, ZCDP, "dpkit", "docs/proofs/tight-zcdp.md, Theorem 1", pure_to_zcdp),
    _arrow("pure-to-mean-cdp-usual", PureDP, MeanCDP, "DR16", "Theorem 3.5", pure_to_mean_cdp_usual),
    _arrow("pure-to-mean-cdp", PureDP, MeanCDP, "dpkit", "docs/proofs/tight-zcdp.md, Theorem 3", pure_to_mean_cdp),
    _arrow("pure-to-renyi", PureDP, RenyiCurve, "BS16", "proof of Proposition 3.3", pure_to_renyi),
    _arrow("approximate-to-zcdp-usual", ApproxDP, ZCDP, "BS16", "Lemma 8.8", approximate_to_zcdp_usual),
    _arrow(
        "approximate-to-zcdp",
        ApproxDP,
        ZCDP,
        "BS16",
        "Lemma 8.8, with the rho of docs/proofs/tight-zcdp.md, Theorem 1",
        approximate_to_zcdp,
    ),
    _arrow("approximate-to-renyi", ApproxDP, RenyiCurve, "KOV15", "Theorem 3.1, and BS16, Lemma 8.8", approximate_to_renyi),
    _arrow("mean-cdp-to-zcdp", MeanCDP, ZCDP, "BS16", "section 4", mean_cdp_to_zcdp),
    _arrow("mean-cdp-to-renyi", MeanCDP, RenyiCurve, "BS16", "section 4", mean_cdp_to_renyi),
    _arrow("zcdp-to-renyi", ZCDP, RenyiCurve, "BS16", "Definition 1.1", zcdp_to_renyi),
    _arrow("gdp-to-zcdp", GDP, ZCDP, "DRS22", "Corollary B.6", gdp_to_zcdp),
    _arrow("gdp-to-renyi", GDP, RenyiCurve, "DRS22", "Corollary B.6", gdp_to_renyi),
    _arrow(
        "pure-to-pair",
        PureDP,
        LossPair,
        "KOV15",
        "Theorem 3.1: randomised response dominates",
        lambda loss: PurePair(epsilon=loss.epsilon),
    ),
    _arrow(
        "approximate-to-pair",
        ApproxDP,
        LossPair,
        "KOV15",
        "Theorem 3.1: randomised response, and a slack of delta kept apart",
        lambda loss: PurePair(epsilon=loss.epsilon),
    ),
    _arrow("gdp-to-pair", GDP, LossPair, "DRS22", "Definition 4", lambda loss: GaussianPair(mu=loss.mu)),
)


@cache
def arrows_to(target: type[Loss], *, usual: bool = False) -> Mapping[type[Loss], Conversion]:
    """For each notion from which a theorem leads to this one, that theorem; of two, the tight one or the `usual` one."""
    found: dict[type[Loss], Conversion] = {}
    for arrow in CONVERSIONS:
        if arrow.target is target and (arrow.source not in found or arrow.name.endswith("-usual") == usual):
            found[arrow.source] = arrow
    return MappingProxyType(found)
