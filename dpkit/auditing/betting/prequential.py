"""The prequential e-process: bet on a batch with what was known before it, then learn from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpkit.auditing.betting.bank import Bank
from dpkit.auditing.betting.bets import Bet, Portfolio, best_bets_of
from dpkit.auditing.betting.profile import Point
from dpkit.numerics.special import Array

_CAUTIOUS, _BOLD = 1.0, 0.1
"""Hits that a bet imagines on the side that should have few: one, or next to none."""
_CLEAR = 4.0
"""Nats that an event must have been worth on the past to be called telling."""


class Prequential:
    """One e-process over all columns of a bank, both directions and all points of a claim.

    Half of the wealth follows two leaders (the bets that would have grown fastest on the whole past, by a cautious and by a
    bold judgement of rare events); the other half is split over the columns, each with its own best bet, and over `opening`
    bets that are fixed before anything is seen. Everything is chosen before the batch it is used on, so the wealth is a
    supermartingale under the claim, whatever the columns are.
    """

    def __init__(self, bank: Bank, points: Sequence[Point], *, opening: Sequence[Bet] = ()) -> None:
        self.bank = bank
        self._points = tuple(points)
        self._opening = tuple(opening)
        rest = len(bank.names) + len(opening)
        self._portfolio = Portfolio(np.concatenate([[0.25, 0.25], np.full(rest, 0.5 / rest)]))
        self._bettors: list[Bet | None] = [None] * (2 + len(bank.names)) + list(opening)

    @property
    def log_wealth(self) -> float:
        """ln of the e-value so far."""
        return self._portfolio.log_wealth

    @property
    def winner(self) -> Bet | None:
        """The bet of whoever has won most so far; the leader where nobody has won."""
        richest = int(np.argmax(self._portfolio.log_wealths))
        return self._bettors[richest] or self._bettors[0]

    def step(self, first: Array, second: Array) -> Array:
        """ln of the e-value after each new pair, by bets chosen before; then learn from the pairs and choose again."""
        scores = self.bank.scores(first), self.bank.scores(second)
        path = self._portfolio.path(self._bettors, *scores)
        self.bank.take((first, second), scores)
        return path

    def telling(self) -> float | None:
        """How likely the event is, where it is likelier, that tells the datasets apart best: against the hardest claim.

        It names the kind of event for which power is stated, and nothing is decided by it. None where nothing tells them apart.
        """
        pasts = {column: self.bank.past(column) for column in range(len(self.bank.names))}
        for share in (1.0, 0.8, 0.6, 0.4, 0.2, 0.0):
            points = [Point(epsilon=share * point.epsilon, delta=point.delta) for point in self._points]
            bet = _leader([found[0] for found in best_bets_of(pasts, points, cautions=(_CAUTIOUS,)).values()])
            if bet is None:
                continue
            scores = pasts[bet.column][0 if bet.forward else 1]
            if bet.growth * scores.size >= _CLEAR:
                return float(np.mean(scores >= bet.cut if bet.upper else scores <= bet.cut))
        return None

    def choose(self) -> None:
        """Choose the bets on the next batch from everything seen so far."""
        pasts = {column: self.bank.past(column) for column in range(len(self.bank.names))}
        both = best_bets_of(pasts, self._points, cautions=(_CAUTIOUS, _BOLD)).values()
        cautious, bold = [bets[0] for bets in both], [bets[1] for bets in both]
        self._bettors = [_leader(cautious), _leader(bold), *cautious, *self._opening]


def _leader(bets: Sequence[Bet | None]) -> Bet | None:
    return max((bet for bet in bets if bet is not None), key=lambda bet: bet.growth, default=None)
