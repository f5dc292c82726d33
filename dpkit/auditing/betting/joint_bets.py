"""Two bets at once, one in each direction: where both sides of a pair tell, half of the samples suffice.

Under the claim, the gains G and H of two bets have means at most 0, so 1 + a G + b H has mean at most 1. It is never below 0
where a and b together stay within the ceiling, since G and H are never below -(e^epsilon + delta).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpkit.auditing.betting.bets import CAUTION, Bet
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class JointBet:
    """Bets whose stakes, as shares of their ceilings, add up to less than 1."""

    bets: tuple[Bet, ...]

    @property
    def growth(self) -> float:
        """That of its fastest part, which is what it is shown as."""
        return max(bet.growth for bet in self.bets)

    def log_factors(self, first: Array, second: Array) -> Array:
        """ln of the factor of each pair of outputs."""
        return asfloat(np.log1p(sum(bet.stake * bet.gains(first, second) for bet in self.bets)))


def joint_bet(bets: Sequence[Bet], past: tuple[Array, Array], *, caution: float) -> JointBet:
    """These bets at the stakes which would have grown fastest together on the past, with `caution` losses of each imagined.

    The shares of all ceilings are those of a fund in which cash is one part (Cover 1984: each step multiplies a share by what
    it would have earned on average).
    """
    codes = np.zeros(past[0].shape[0], dtype=np.int64)
    for bet in bets:
        codes = 4 * codes + 2 * bet.hits(past[0]) + bet.hits(past[1])
    counts = np.bincount(codes, minlength=4 ** len(bets))
    seen = np.flatnonzero(counts)
    counts = counts[seen]
    columns = [np.ones(seen.size)]
    for place, bet in enumerate(bets):
        told = seen // 4 ** (len(bets) - 1 - place) % 4
        columns.append(1.0 + bet.point.ceiling * bet.worth(told >= 2, told % 2 == 1))
    rows = np.stack(columns, axis=1)
    idle = np.array([1.0, *(1.0 - bet.point.ceiling * bet.point.delta for bet in bets)])
    lost = np.where(np.eye(len(bets), len(bets) + 1, k=1) > 0.0, 0.0, idle)  # one bet loses all, and the others see nothing
    table = np.concatenate([rows, lost])
    weights = np.concatenate([counts.astype(np.float64), np.full(len(bets), caution)])
    weights /= weights.sum()
    shares = np.full(len(bets) + 1, 1.0 / (len(bets) + 1))
    for _ in range(_STEPS):
        shares = shares * ((weights / (table @ shares)) @ table)
    shares[1:] *= CAUTION / max(float(shares[1:].sum()), CAUTION)
    staked = (replace(bet, stake=float(share * bet.point.ceiling)) for bet, share in zip(bets, shares[1:], strict=True))
    return JointBet(bets=tuple(staked))
