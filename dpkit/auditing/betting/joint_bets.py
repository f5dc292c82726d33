"""Two bets at once, one in each direction, as a product of what either side pays: it grows as fast as any test can.

Let F pay for the output X of the first side and G for Y of the second. Where E F + E G <= 2 under the claim, E F * E G <= 1,
as a product is at most the square of the mean: so F(X) G(Y) is a fair factor for independent X and Y. Such pairs (F, G) are
(2, 0), (0, 2) and, for an event S with P(S) <= r Q(S) + delta, (g 1[S], h 1[not S]) with h = 2r/(r + delta) and g = h/r; and
with them all their averages. Where the events hold what is likelier than the claim allows, the best average is the ratio of
likelihoods to those of the nearest laws that keep the claim: its logarithm grows as fast as that of any test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpkit.auditing.betting.bets import CAUTION, Bet
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

_STEPS = 60
_DOUBT = 12.0
"""Outcomes of either side that are imagined as the claim allows them, for each loss that a caution imagines.

The cuts of bets were chosen on the past that their shares are learned from, so they look better there than they are.
"""
_DOWN = 1.0 - 2.0**-48
"""Payments are rounded down, so that a claim at its boundary is not broken by arithmetic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointBet:
    """Bets whose stakes are shares of a fund; the rest of it is on the first side and on the second, whatever comes."""

    bets: tuple[Bet, ...]
    on_first: float
    on_second: float

    @property
    def growth(self) -> float:
        """That of its fastest part, which is what it is shown as."""
        return max(bet.growth for bet in self.bets)

    def log_factors(self, first: Array, second: Array) -> Array:
        """ln of the factor of each pair of outputs."""
        one, two = np.full(first.shape[0], 2.0 * self.on_first), np.full(second.shape[0], 2.0 * self.on_second)
        for bet in self.bets:
            paid = _pays(bet, bet.hits(first), bet.hits(second))
            one, two = one + bet.stake * paid[0], two + bet.stake * paid[1]
        return asfloat(np.log(_DOWN * one) + np.log(_DOWN * two))


def joint_bet(bets: Sequence[Bet], past: tuple[Array, Array], *, caution: float) -> JointBet:
    """These bets at the shares which would have grown fastest together on the past, with `caution` losses of each imagined.

    In proportion, outcomes are imagined that keep the claim, on which no share grows: little is staked on little news. Each
    step multiplies a share by what it would have earned on average (Cover 1984).
    """
    cells = np.arange(2 ** len(bets))
    inside = [(cells >> place) % 2 == 1 for place in range(len(bets))]
    table = np.zeros((2, cells.size, 2 + len(bets)))
    table[0, :, 0] = table[1, :, 1] = 2.0
    counts = np.zeros((2, cells.size))
    codes = [np.zeros(side.shape[0], dtype=np.int64) for side in past]
    for place, bet in enumerate(bets):
        table[0, :, 2 + place], table[1, :, 2 + place] = _pays(bet, inside[place], inside[place])
        for side in (0, 1):
            codes[side] += bet.hits(past[side]).astype(np.int64) << place
        counts[1 if bet.forward else 0, 1 << place] += caution
    counts += [np.bincount(side, minlength=cells.size) for side in codes]
    counts += _DOUBT * caution * _as_claimed(bets, counts.sum(axis=0), inside)
    weights = (0.5 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)).ravel()
    rows = table.reshape(weights.size, -1)  # what each share earns in each cell of either side
    shares = np.full(rows.shape[1], 1.0 / rows.shape[1])
    for _ in range(_STEPS):
        shares = shares * np.dot(weights / np.dot(rows, shares), rows)
    shares = CAUTION * shares / shares.sum()
    kept = 0.5 * (1.0 - CAUTION)  # half on each side is cash
    staked = (replace(bet, stake=float(share)) for bet, share in zip(bets, shares[2:], strict=True))
    return JointBet(bets=tuple(staked), on_first=float(shares[0]) + kept, on_second=float(shares[1]) + kept)


def _as_claimed(bets: Sequence[Bet], pooled: Array, inside: Sequence[npt.NDArray[np.bool_]]) -> Array:
    """Laws of both sides over cells with these pooled counts, where each bet's own cells just keep the claim, delta aside."""
    laws = np.tile(pooled + 1e-9, (2, 1))
    for bet, within in zip(bets, inside, strict=True):
        alone = within & (np.sum(inside, axis=0) == 1)
        likelier = 0 if bet.forward else 1
        laws[likelier, alone] *= 2.0 * bet.point.ratio / (1.0 + bet.point.ratio)
        laws[1 - likelier, alone] *= 2.0 / (1.0 + bet.point.ratio)
    return asfloat(laws / laws.sum(axis=1, keepdims=True))


def _pays(bet: Bet, first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    """What a bet pays for outputs of either side, where it is known which lie in its set."""
    outside = 2.0 * bet.point.ratio / (bet.point.ratio + bet.point.delta)
    within = outside / bet.point.ratio
    if bet.forward:
        return asfloat(within * first), asfloat(outside * ~second)
    return asfloat(outside * ~first), asfloat(within * second)
