"""What pure and (epsilon, delta) losses imply: approximate, mean-concentrated, zero-concentrated and Rényi losses."""

from __future__ import annotations

import math
from fractions import Fraction

from dpkit.numerics.rounding import outward, round_up
from dpkit.privacy.claims import finite
from dpkit.privacy.losses import ZCDP, ApproxDP, MeanCDP, PureDP
from dpkit.privacy.renyi_curves import PureCurve


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
