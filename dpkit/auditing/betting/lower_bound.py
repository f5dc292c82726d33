"""A lower bound on epsilon: one event, chosen on a training part, counted on fresh samples, by Clopper and Pearson."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpkit.auditing.betting.bets import Bet, cuts_of, tail_counts
from dpkit.auditing.betting.column_scores import ColumnScores
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.draw_outputs import Rounder
from dpkit.numerics.special import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class TailEvent:
    """A fixed event: the set of a bet on one column of a bank that learns no more."""

    bank: ColumnScores
    bet: Bet
    rounder: Rounder | None = None

    def hits(self, first: Array, second: Array) -> tuple[int, int]:
        """How many outputs lie in it: of the side that should have more, and of the other."""
        sides = (first, second) if self.bet.forward else (second, first)
        scores = [self.bank.scores(side if self.rounder is None else self.rounder(side)) for side in sides]
        return int(np.count_nonzero(self.bet.hits(scores[0]))), int(np.count_nonzero(self.bet.hits(scores[1])))

    def bound(self, hits: tuple[int, int], trials: int, *, alpha: float) -> Bound:
        """The bound from counts of this event."""
        delta = self.bet.point.delta
        epsilon = epsilon_lower(hits, trials, delta=delta, alpha=alpha)
        return Bound(epsilon=epsilon, delta=delta, hits=hits, trials=trials, code=self.bet.event(self.bank.names).code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """`epsilon` is below the true epsilon at `delta`, with the error probability asked for; from these counts."""

    epsilon: float
    delta: float
    hits: tuple[int, int]
    trials: int
    code: str


def proportion_bounds(hits: int, trials: int, *, alpha: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a probability: each side is exceeded with probability at most alpha."""
    from scipy.special import betaincinv

    low = float(betaincinv(hits, trials - hits + 1, alpha)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1.0 - alpha)) if hits < trials else 1.0
    return low, high


def epsilon_lower(hits: tuple[int, int], trials: int, *, delta: float, alpha: float) -> float:
    """ln((p - delta) / q) at Clopper and Pearson's lower end of p and upper end of q, each at alpha/2; at least 0."""
    p, q = (proportion_bounds(count, trials, alpha=alpha / 2.0)[side] for side, count in enumerate(hits))
    p, q = p * (1.0 - 1e-12), q * (1.0 + 1e-12)  # the inverse's own rounding
    return max(0.0, math.log((p - delta) / q)) if p > delta else 0.0


class Freezer:
    """Fixes an event each time the past has doubled, and counts it on all that follows.

    First the columns stop learning (in a copy); then the best tail is chosen on new samples that they have not learned from;
    then it is counted. When a run ends after a number of samples that was fixed in advance, the latest event with enough fresh
    samples gives the bound: which one that is depends on the number alone, so it is one event, chosen before they were seen.
    """

    _FIRST, _SHARE, _CHOOSING, _MOST = 256, 0.4, 3, 32_768

    def __init__(self, bank: ColumnScores, *, delta: float) -> None:
        self._bank, self._delta = bank, delta
        self._next = self._FIRST
        self._seen = 0
        self._choosing: tuple[ColumnScores, int, list[tuple[Array, Array]]] | None = None
        self._events: list[tuple[TailEvent, int, list[int]]] = []

    def count(self, first: Array, second: Array) -> None:
        """Count a batch for the events that were fixed before it; choose by it where one is being chosen."""
        for tail, _, counts in self._events:
            more, fewer = tail.hits(first, second)
            counts[0] += more
            counts[1] += fewer
        self._seen += first.shape[0]
        if self._choosing is not None:
            self._choose(first, second)
        if self._seen >= self._next:
            needed = self._seen + min(self._seen // self._CHOOSING, self._MOST)
            self._choosing = (self._bank.frozen(), needed, [])
            while self._next <= self._seen:
                self._next *= 2

    def _choose(self, first: Array, second: Array) -> None:
        assert self._choosing is not None
        bank, needed, scores = self._choosing
        scores.append((bank.scores(first), bank.scores(second)))
        if self._seen >= needed:
            one, two = (np.concatenate([pair[side] for pair in scores]) for side in (0, 1))
            chosen = best_tail(one, two, Point(epsilon=0.0, delta=self._delta), trials=self._seen)
            self._events = [*self._events[-1:], (TailEvent(bank=bank, bet=chosen), self._seen, [0, 0])]
            self._choosing = None

    def bound(self, *, alpha: float) -> Bound | None:
        """The bound, where there were enough samples for one."""
        ready = [event for event in self._events if self._seen - event[1] >= self._SHARE * self._seen]
        if not ready:
            return None
        tail, start, counts = ready[-1]
        return tail.bound((counts[0], counts[1]), self._seen - start, alpha=alpha)


def best_tail(first: Array, second: Array, point: Point, *, trials: int) -> Bet:
    """The tail whose bound from this number of fresh samples would be largest, judged by these scores, less their own error.

    Where nothing looks telling, everything is the event: which event is counted must not depend on its own counts.
    """
    n = first.shape[0]
    blur = 3.5 / np.sqrt(trials) + 2.5 / np.sqrt(n)  # of the count to come, and of a choice among many
    best, bet = -math.inf, Bet(column=0, upper=True, cut=-math.inf, forward=True, point=point)
    for column in range(first.shape[1]):
        cuts = cuts_of(first[:, column], second[:, column])
        if cuts.size == 0:
            continue
        p = tail_counts(first[:, column], second[:, column], cuts) / n
        q = p[::-1]  # (direction, tail, cut): forward, the first side should hit
        low = p - blur * np.sqrt(p * (1.0 - p)) - 6.0 / trials - point.delta
        high = q + blur * np.sqrt(q * (1.0 - q)) + 6.0 / trials + 3.0 / n
        value = np.where(low > 0.0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
        for tail, direction in np.ndindex(2, 2):
            place = int(np.argmax(value[direction, tail]))
            if value[direction, tail, place] > best:
                best, cut = float(value[direction, tail, place]), float(cuts[place])
                bet = Bet(column=column, upper=tail == 0, cut=cut, forward=direction == 0, point=point)
    return bet
