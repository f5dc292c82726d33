"""Two bets at once, one in each direction, as a product of what either side pays: it grows as fast as any test can.

Let F pay for the output X of the first side and G for Y of the second. Where E F + E G <= 2 under the claim, E F * E G <= 1,
as a product is at most the square of the mean: so F(X) G(Y) is a fair factor for independent X and Y. Such pairs (F, G) are
(2, 0), (0, 2) and, for an event S with P(S) <= r Q(S) + delta, (g 1[S], h 1[not S]) with h = 2r/(r + delta) and g = h/r; and
with them all their averages. Where the events hold what is likelier than the claim allows, the best average is the ratio of
likelihoods to those of the nearest laws that keep the claim: its logarithm grows as fast as that of any test.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpkit.auditing.betting.bets import CAUTION, Bet, fastest
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

_STEPS, _STEPS_BY_NEWS, _MOST_STEPS = 60, 0.1, 2_000
"""Steps towards the fastest shares: these, or so many for each output of a side that is known, but no more than the last.

A share of 1 in 50 takes hundreds of steps, and twice of what is right loses what it should win: noise that is 5% too small was
never found.
"""
_DOUBT = 12.0
"""Outcomes of either side that are imagined as the claim allows them, for each loss that a caution imagines.

The cuts of bets were chosen on the past that their shares are learned from, so they look better there than they are.
"""
_DOWN = 1.0 - 2.0**-48
"""Payments are rounded down, so that a claim at its boundary is not broken by arithmetic."""
_ROWS = 2048
"""Outputs that are looked at in one piece, so that they stay near the processor."""
_INSIDE = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])
"""Whether the first, and the second, of two bets holds the outputs of a cell."""
_ALONE = (1, 2)
"""The cell that one of them has alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Bets that are to be joined, one or two of them, and how many losses of each are imagined."""

    bets: tuple[Bet, ...]
    caution: float


class JointBets:
    """Joint bets, one a row: each has a share for what comes of the first side, one of the second, and one for each bet.

    The shares are those that would have grown fastest together on the past (`pasts` has one for each of `asked`, often the
    same), with losses imagined. In proportion, outcomes are imagined that keep the claim, on which no share grows: little is
    staked on little news. Each step multiplies a share by what it would have earned on average (Cover 1984).
    """

    def __init__(self, asked: Sequence[Asked], pasts: Sequence[tuple[Array, Array]]) -> None:
        self.bets = tuple(one.bets for one in asked)
        size = len(asked)
        self._columns, self._signs = np.zeros((2, size), dtype=np.int64), np.ones((2, size))
        self._cuts = np.full((2, size), np.nan)  # nothing lies beyond, where there is no second bet
        self._forward = np.zeros((2, size), dtype=np.int64)
        self._ratio, self._pays = np.ones((2, size)), np.zeros((2, 2, 2, size))  # by bet, by side, outside and inside
        for row, bets in enumerate(self.bets):
            for place, bet in enumerate(bets):
                sign = 1.0 if bet.upper else -1.0
                self._columns[place, row], self._signs[place, row], self._cuts[place, row] = bet.column, sign, sign * bet.cut
                self._forward[place, row], self._ratio[place, row] = bet.forward, bet.point.ratio
                outside = 2.0 * bet.point.ratio / (bet.point.ratio + bet.point.delta)
                within = outside / bet.point.ratio
                side = 0 if bet.forward else 1
                self._pays[place, side, 1, row], self._pays[place, 1 - side, 0, row] = within, outside
        self.shares = self._fastest(self._counts(pasts), np.array([one.caution for one in asked]))
        staked = self.shares[2:, None, None, :] * self._pays
        self._outside, self._gain = staked[:, :, 0], staked[:, :, 1] - staked[:, :, 0]

    def bet(self, row: int) -> Bet | None:
        """The fastest part of a joint bet, which is what it is shown as."""
        return fastest(self.bets[row])

    def log_factors(self, first: Array, second: Array) -> Array:
        """ln of the factor of each pair of outputs, one row a joint bet."""
        paid = np.ones((first.shape[0], len(self.bets)))
        for side, scores in enumerate((first, second)):
            hits = self._hits(scores)
            earned = self._outside[:, side] + self._gain[:, side] * hits
            paid *= _DOWN * (2.0 * self.shares[side] + earned[:, 0] + earned[:, 1])
        return asfloat(np.log(paid).T)

    def _hits(self, scores: Array) -> npt.NDArray[np.bool_]:
        """Which outputs lie in the sets: by output, by bet, by row."""
        return np.asarray(self._signs * scores[:, self._columns] >= self._cuts)

    def _counts(self, pasts: Sequence[tuple[Array, Array]]) -> Array:
        """How many past outputs of either side lie in each cell: by side, by cell, by row."""
        found = np.zeros((2, 4, len(self.bets)))
        for past in {id(past): past for past in pasts}.values():
            rows = [row for row, own in enumerate(pasts) if own is past]
            for side in (0, 1):
                for start in range(0, past[side].shape[0], _ROWS):
                    hits = self._hits(past[side][start : start + _ROWS])[:, :, rows]
                    one, two = np.count_nonzero(hits, axis=0)
                    both = np.count_nonzero(hits[:, 0] & hits[:, 1], axis=0)
                    found[side][:, rows] += [hits.shape[0] - one - two + both, one - both, two - both, both]
        return found

    def _fastest(self, counts: Array, caution: Array) -> Array:
        """The shares that would have grown fastest together: by share, by row."""
        rows = np.arange(len(self.bets))
        there = np.array([[len(bets) > place for bets in self.bets] for place in (0, 1)])
        for place in (0, 1):
            counts[self._forward[place], _ALONE[place], rows] += caution * there[place]
        counts = counts + _DOUBT * caution * self._as_claimed(counts.sum(axis=0), there)
        known = float(counts.sum(axis=1).max())
        weights = (0.5 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)).reshape(8, -1)
        earned = np.zeros((2, 4, 4, len(self.bets)))  # what each share earns in each cell of either side
        earned[0, :, 0] = earned[1, :, 1] = 2.0
        for place in (0, 1):
            earned[:, :, 2 + place] = self._pays[place][:, _INSIDE[place]]
        by_cell = np.ascontiguousarray(earned.reshape(8, 4, -1).transpose(2, 0, 1))
        by_share, weights = np.ascontiguousarray(by_cell.transpose(0, 2, 1)), weights.T[:, :, None]
        shares = np.concatenate([np.ones((2, rows.size)), there]).T[:, :, None]
        shares = shares / shares.sum(axis=1, keepdims=True)
        for _ in range(int(max(_STEPS, min(_MOST_STEPS, _STEPS_BY_NEWS * known)))):
            shares = shares * (by_share @ (weights / (by_cell @ shares)))
        shares = CAUTION * shares / shares.sum(axis=1, keepdims=True)
        shares[:, :2] += 0.5 * (1.0 - CAUTION)  # half on each side is cash
        return asfloat(np.ascontiguousarray(shares[:, :, 0].T))

    def _as_claimed(self, pooled: Array, there: npt.NDArray[np.bool_]) -> Array:
        """Laws of both sides over cells with these pooled counts, where each bet's cells just keep the claim, delta aside."""
        rows = np.arange(len(self.bets))
        possible = np.array([there[0] | True, there[0] | True, there[1], there[1]])
        laws = np.stack([pooled + 1e-9 * possible] * 2)
        for place, alone in enumerate(_ALONE):
            ratio, likelier = self._ratio[place], 1 - self._forward[place]
            laws[likelier, alone, rows] *= np.where(there[place], 2.0 * ratio / (1.0 + ratio), 1.0)
            laws[1 - likelier, alone, rows] *= np.where(there[place], 2.0 / (1.0 + ratio), 1.0)
        return asfloat(laws / laws.sum(axis=1, keepdims=True))
