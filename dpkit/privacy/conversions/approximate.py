"""What an (epsilon, delta) loss implies: delta becomes a slack, and the rest behaves as a pure loss."""

from __future__ import annotations

from dpkit.privacy.conversions.pure import pure_to_zcdp, pure_to_zcdp_usual
from dpkit.privacy.losses import ZCDP, ApproxDP, PureDP
from dpkit.privacy.renyi_curves import PureCurve


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
