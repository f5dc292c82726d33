"""Sampling falsifiers share one stream of samples; each is a process with an e-value, and their average is the verdict's."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpkit.auditing.betting.bets import Bet, OutputEvent, Portfolio, Ways, best_bets, bets_each_way, fastest
from dpkit.auditing.betting.column_scores import ColumnScores
from dpkit.auditing.betting.columns import OutputForm
from dpkit.auditing.betting.joint_bets import Asked, JointBets
from dpkit.auditing.betting.lower_bound import Freezer, FrozenEvent, best_tail
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import Rounder
from dpkit.numerics.special import Array

_CAUTIONS = (2.0, 0.5, 0.1)
"""Hits that a bet imagines on the side that should have few: two, half of one, or next to none."""
_USUAL = 1
"""The caution of the bets of single columns."""
_LEADING, _SHARES, _MIRRORED_SHARES = 0.7, (2.0, 1.0, 1.0), (4.0, 3.0, 1.0)
"""What follows leaders, and how it is split by caution: bets on the past as it was, and as if the sides were mirrored."""
_RENEWED = 1.1
"""By how much the past grows before bets are chosen anew."""
_CLEAR = 4.0
"""Nats that an event must have been worth on the past to be called telling."""


class Process(ABC):
    """An e-process fed with batches of both sides: its mean is at most 1 under the hypothesis, whenever one stops."""

    name: str
    output: list[float] | None = None
    """An output that is impossible under the neighbour, where one was seen."""
    freezer: Freezer | None = None
    """Events on which epsilon is bounded, where there are any."""

    @abstractmethod
    def step(self, first: Array, second: Array) -> Array:
        """ln of the e-value after each new pair of outputs."""

    @property
    @abstractmethod
    def log_e(self) -> float:
        """ln of the e-value now."""

    @abstractmethod
    def event(self) -> OutputEvent | None:
        """The event that speaks loudest so far."""

    def prepare(self) -> None:
        """Choose what to do with the next batch, from the past."""
        return None

    def telling(self) -> float | None:
        """How likely the event is that tells the datasets apart best; None where there is none, or none is looked for."""
        return None

    def freeze(self, first: Array, second: Array, *, trials: int) -> FrozenEvent | None:
        """The event to count on fresh samples (`trials` a side), chosen by these, which nothing learned from; None if none."""
        return None

    def fresh_log_e(self, first: Array, second: Array) -> float | None:
        """ln of the e-value of one bet, fixed by now, on these fresh samples; None where an event is counted instead."""
        return None


class Prequential:
    """One e-process over all columns of a bank, both directions and all points of a claim.

    Most of the wealth follows a few leaders (the bets that would have grown fastest on the whole past, one in each direction,
    by judgements of rare events from cautious to bold), half of them as if either side mirrored the other: noise is mostly
    even. The rest is split over the columns, each with its own best bet, and over `opening` bets that are fixed before
    anything is seen. Everything is chosen before the batch it is used on, so
    the wealth is a supermartingale under the claim, whatever the columns are.
    """

    def __init__(self, bank: ColumnScores, points: Sequence[Point], *, opening: Sequence[Bet] = ()) -> None:
        self.bank = bank
        self._points = tuple(points)
        self._opening = tuple(opening)
        self._chosen_at = 0
        mirrors = bool(bank.mirrored()[1])
        leaders, rest = np.array([*_SHARES, *(_MIRRORED_SHARES if mirrors else ())]), len(bank.names) + len(opening)
        split = np.full(rest, (1.0 - _LEADING) / rest)
        self._portfolio = Portfolio(np.concatenate([_LEADING * leaders / leaders.sum(), split]))
        self._asked: list[Asked | None] = [None] * (leaders.size + len(bank.names))
        self._joint: JointBets | None = None

    @property
    def log_wealth(self) -> float:
        """ln of the e-value so far."""
        return self._portfolio.log_wealth

    @property
    def winner(self) -> Bet | None:
        """The bet of whoever has won most so far; the leader where nobody has won."""
        richest = int(np.argmax(self._portfolio.log_wealths))
        if richest >= len(self._asked):
            return self._opening[richest - len(self._asked)]
        found = self._asked[richest] or self._asked[0]
        return None if found is None else fastest(found.bets)

    def step(self, first: Array, second: Array) -> Array:
        """ln of the e-value after each new pair, by bets chosen before; then learn from the pairs."""
        scores = self.bank.scores(first), self.bank.scores(second)
        path = self._portfolio.path(self._log_factors(*scores))
        self.bank.take((first, second), scores)
        return path

    def telling(self) -> float | None:
        """How likely the event is, where it is likelier, that tells the datasets apart best: against the hardest claim.

        It names the kind of event for which power is stated, and nothing is decided by it. None where nothing tells them apart.
        """
        pasts = self.bank.pasts()
        for share in (1.0, 0.8, 0.6, 0.4, 0.2, 0.0):
            points = [Point(epsilon=share * point.epsilon, delta=point.delta) for point in self._points]
            bet = fastest(found[0] for found in best_bets(pasts, points, cautions=(1.0,)).values())
            if bet is None:
                continue
            scores = pasts[bet.column][0 if bet.forward else 1]
            if bet.growth * scores.size >= _CLEAR:
                return float(np.mean(scores >= bet.cut if bet.upper else scores <= bet.cut))
        return None

    def choose(self) -> None:
        """Choose the bets on the next batch from everything seen so far, where there is enough news."""
        if self.bank.taken < _RENEWED * self._chosen_at:
            return
        self._chosen_at = self.bank.taken
        both = bets_each_way(self.bank.pasts(), self._points, cautions=_CAUTIONS).values()
        past = self.bank.recent()
        pasts = [past] * len(_CAUTIONS)
        asked = [_together([ways[place] for ways in both], caution) for place, caution in enumerate(_CAUTIONS)]
        mirrored, by_column = self.bank.mirrored()
        if by_column:
            even = bets_each_way(by_column, self._points, cautions=_CAUTIONS).values()
            asked += [_together([ways[place] for ways in even], caution) for place, caution in enumerate(_CAUTIONS)]
            pasts += [mirrored] * len(_CAUTIONS)
        asked += [_together([ways[_USUAL]], _CAUTIONS[_USUAL]) for ways in both]
        pasts += [past] * len(both)
        self._asked = asked
        there = [place for place, one in enumerate(asked) if one is not None]
        self._joint = JointBets([one for one in asked if one is not None], [pasts[place] for place in there]) if there else None

    def _log_factors(self, first: Array, second: Array) -> Array:
        """ln of the factor of each pair of scores, one row a bettor: 0 of those without a bet."""
        found = np.zeros((len(self._asked) + len(self._opening), first.shape[0]))
        if self._joint is not None:
            found[[place for place, one in enumerate(self._asked) if one is not None]] = self._joint.log_factors(first, second)
        for place, bet in enumerate(self._opening):
            found[len(self._asked) + place] = bet.log_factors(first, second)
        return found


def _together(found: Sequence[Ways], caution: float) -> Asked | None:
    """The fastest bet of each direction, both at once."""
    each = [fastest(ways[way] for ways in found) for way in (0, 1)]
    bets = tuple(bet for bet in each if bet is not None)
    return Asked(bets=bets, caution=caution) if bets else None


class BettingProcess(Process):
    """A falsifier that bets prequentially: `open` makes its bank and first bets when it sees the form of the outputs."""

    rounder: Rounder | None = None

    def __init__(self, subject: ClaimAtPair) -> None:
        self._subject = subject
        self._inner: Prequential | None = None
        self._shape: tuple[int, ...] = ()
        self._whole = True

    @abstractmethod
    def open(self, outputs: Array) -> Prequential:
        """The bets before anything is seen, for outputs like these."""

    def step(self, first: Array, second: Array) -> Array:
        """Bet, then learn."""
        if self._inner is None:
            self._shape = first.shape[1:]
            self._inner = self._opened(first)
            self.freezer = Freezer(self._inner.bank, self._frozen, delta=self._subject.delta)
        one, two = (first, second) if self.rounder is None else (self.rounder(first), self.rounder(second))
        self._whole = self._whole and all(bool((side == np.round(side)).all()) for side in (first, second))
        path = self._inner.step(one, two)
        if self.freezer is not None:
            self.freezer.count(one, two, (first, second))
        return path

    def _opened(self, first: Array) -> Prequential:
        """Bets that learned from a pilot, of outputs of this form, or that know the form alone and make no bet on these."""
        pilot = self._subject.pilot
        size = int(np.prod(first.shape[1:]))
        if pilot is None or pilot[0].shape[1] != size:
            return self.open(first if self.rounder is None else self.rounder(first))
        sides = tuple(side.reshape(-1, *first.shape[1:]) for side in pilot)
        one, two = sides if self.rounder is None else tuple(self.rounder(side) for side in sides)
        inner = self.open(one)
        inner.bank.take((one, two), (inner.bank.scores(one), inner.bank.scores(two)))
        inner.choose()
        return inner

    def prepare(self) -> None:
        if self._inner is not None:
            self._inner.choose()

    @property
    def log_e(self) -> float:
        return 0.0 if self._inner is None else self._inner.log_wealth

    def telling(self) -> float | None:
        return None if self._inner is None else self._inner.telling()

    def event(self) -> OutputEvent | None:
        """The winning bet's."""
        bet = None if self._inner is None else self._inner.winner
        return None if bet is None or self._inner is None else self._inner.bank.event(bet, self._form)

    def freeze(self, first: Array, second: Array, *, trials: int) -> FrozenEvent | None:
        """The tail that exceeds a point of the claim by most, by these outputs; the winning bet's where none exceeds any."""
        if self._inner is None:
            return None
        bank = self._inner.bank.frozen()
        one, two = (bank.scores(side if self.rounder is None else self.rounder(side)) for side in (first, second))
        found = [best_tail(one, two, point, trials=trials) for point in self._subject.points] if len(one) else []
        best = max(found, key=lambda bet: bet.growth - bet.point.epsilon, default=None)
        if best is not None and math.isfinite(best.cut) and best.growth > best.point.epsilon:
            return self._frozen(bank, replace(best, stake=1.0))
        return None if self._inner.winner is None else self._frozen(bank, self._inner.winner)

    @property
    def _form(self) -> OutputForm:
        grid = 0.0 if self.rounder is None or self._whole else self.rounder.grid
        return OutputForm(self._shape, grid)

    def _frozen(self, bank: ColumnScores, bet: Bet) -> FrozenEvent:
        density = None if self._subject.density is None else self._subject.log_density
        return FrozenEvent(event=bank.event(bet, self._form), point=bet.point, density=density)
