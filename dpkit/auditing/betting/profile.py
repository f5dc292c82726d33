"""What a claim of any notion says about events: points (epsilon, delta) of the privacy profile that it implies."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import in_full
from dpkit.privacy.conversions import mean_cdp_delta, renyi_delta, renyi_epsilon, zcdp_to_renyi
from dpkit.privacy.gaussian_dp import gaussian_delta
from dpkit.privacy.loss_pairs import LossPair
from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, Loss, MeanCDP, PureDP, RenyiCurve
from dpkit.values import dataclass

_DELTAS = (0.3, 0.1, 0.02, 1e-3)
"""Where curves are read: a violation shows best where an event has some probability."""
_GAUSSIAN_STEPS = (0.0, 0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """For every event S, P(S) <= e^epsilon Q(S) + delta, in both directions."""

    epsilon: float
    delta: float

    @property
    def ratio(self) -> float:
        """e^epsilon, rounded up, so that a claim at its boundary is not broken by arithmetic."""
        return math.exp(min(self.epsilon, 690.0)) * (1.0 + 2.0**-50)

    @property
    def ceiling(self) -> float:
        """The largest bet that cannot go below zero."""
        return 1.0 / (self.ratio + self.delta)

    def __str__(self) -> str:
        return f"epsilon = {in_full(self.epsilon)}, delta = {in_full(self.delta)}"


@lru_cache(maxsize=256)
def points_of(loss: Loss) -> tuple[Point, ...]:
    """The points at which a claim is tested; each is implied by it, with delta rounded up, so breaking one breaks it.

    Pure and approximate claims are tested where they are made. GDP, zCDP, Rényi and mean-concentrated claims imply a whole
    profile (DRS22, Corollary 1; CKS20, Proposition 12; DR16's subgaussian tail), and are tested at several points of it.
    """
    if isinstance(loss, PureDP):
        return (Point(epsilon=loss.epsilon, delta=0.0),)
    if isinstance(loss, ApproxDP):
        return (Point(epsilon=loss.epsilon, delta=loss.delta),)
    if isinstance(loss, GDP):
        return _usable([(step * loss.mu, implied_delta(loss, step * loss.mu)) for step in _GAUSSIAN_STEPS])
    if isinstance(loss, MeanCDP):
        steps = [loss.mu + loss.tau * step for step in _GAUSSIAN_STEPS]
        return _usable([(epsilon, implied_delta(loss, epsilon)) for epsilon in steps])
    if isinstance(loss, LossPair):
        reach = loss.forward().reach(1e-3)[1]
        return _usable([(reach * share, implied_delta(loss, reach * share)) for share in (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)])
    if isinstance(loss, ZCDP | RenyiCurve):
        curve, slack = _curve(loss)
        found = [renyi_epsilon(curve, delta=delta)[0] for delta in _DELTAS]
        return _usable([(epsilon, renyi_delta(curve, epsilon=epsilon)[0] + slack) for epsilon in found])
    raise InvalidValueError(
        field="claim",
        found=type(loss).__name__,
        allowed="a PureDP, ApproxDP, ZCDP, RDP (or any Rényi curve), GDP, MeanCDP or LossPair",
        where="audit",
    )


def implied_delta(loss: Loss, epsilon: float) -> float:
    """An upper bound on delta(epsilon) under the claim, at most 1."""
    if isinstance(loss, PureDP):
        # randomised response is the worst pure pair (KOV15, Theorem 3.1)
        gap = -math.expm1(min(epsilon - loss.epsilon, 0.0)) / (1.0 + math.exp(-loss.epsilon))
        return min(1.0, gap * (1.0 + 2.0**-48))
    if isinstance(loss, ApproxDP):
        return min(1.0, loss.delta + (1.0 - loss.delta) * implied_delta(PureDP(epsilon=loss.epsilon), epsilon) + 2.0**-52)
    if isinstance(loss, GDP):
        return gaussian_delta(loss.mu, epsilon=epsilon)
    if isinstance(loss, MeanCDP):
        return mean_cdp_delta(loss, epsilon=epsilon)
    if isinstance(loss, LossPair):
        sides = [side for side in (loss.forward(), loss.backward()) if side is not None]
        worst = max(float((value + error)[0]) for value, error in (side.profile(np.array([epsilon])) for side in sides))
        return min(1.0, worst + loss.infinity)
    curve, slack = _curve(loss)
    return min(1.0, renyi_delta(curve, epsilon=epsilon)[0] + slack)


def _curve(loss: Loss) -> tuple[RenyiCurve, float]:
    if isinstance(loss, ZCDP):
        return zcdp_to_renyi(loss), loss.delta
    if isinstance(loss, RDP):
        return loss, loss.delta
    if isinstance(loss, RenyiCurve):
        return loss, 0.0
    raise InvalidValueError(field="claim", found=type(loss).__name__, allowed="a loss with a known profile", where="audit")


def _usable(pairs: list[tuple[float, float]]) -> tuple[Point, ...]:
    kept = {
        round(epsilon, 12): Point(epsilon=epsilon, delta=delta) for epsilon, delta in pairs if epsilon < 690.0 and delta < 1.0
    }
    return tuple(kept.values())
