"""A lower bound on epsilon: one event, chosen on a training part, counted on fresh samples, by Clopper and Pearson."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpkit.auditing.betting.bets import Bet, OutputEvent, cuts_of, tail_counts
from dpkit.auditing.betting.column_scores import ColumnScores
from dpkit.auditing.betting.event_code import EventCode, LogDensity
from dpkit.auditing.betting.profile import Point
from dpkit.numerics.special import Array
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TailEvent:
    """A fixed event: the set of a bet on one column of a bank that learns no more."""

    bank: ColumnScores
    bet: Bet

    def hits(self, first: Array, second: Array) -> tuple[int, int]:
        """How many outputs lie in it: of the side that should have more, and of the other."""
        sides = (first, second) if self.bet.forward else (second, first)
        scores = [self.bank.scores(side) for side in sides]
        return int(np.count_nonzero(self.bet.hits(scores[0]))), int(np.count_nonzero(self.bet.hits(scores[1])))


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenEvent:
    """A fixed event as code, and the point of a claim that it is held against. The code itself is what counts outputs."""

    event: OutputEvent
    point: Point
    density: LogDensity | None = None

    def hits(self, first: Array, second: Array) -> tuple[int, int]:
        """How many outputs lie in it: of the side that should have more, and of the other."""
        code = EventCode(self.event.code, density=self.density)
        sides = (first, second) if self.event.forward else (second, first)
        return int(np.count_nonzero(code.hits(sides[0]))), int(np.count_nonzero(code.hits(sides[1])))

    def bound(self, hits: tuple[int, int], trials: int, *, alpha: float) -> Bound:
        """The bound from counts of this event."""
        epsilon = epsilon_lower(hits, trials, delta=self.point.delta, alpha=alpha)
        return Bound(epsilon=epsilon, delta=self.point.delta, hits=hits, trials=trials, event=self.event)


Freeze = Callable[[ColumnScores, Bet], FrozenEvent]
"""Writes the set of a bet as code, by the columns as they are now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """`epsilon` is below the true epsilon at `delta`, with the error probability asked for; from these counts."""

    epsilon: float
    delta: float
    hits: tuple[int, int]
    trials: int
    event: OutputEvent


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


def trials_needed(hits: tuple[int, int], trials: int, point: Point, *, alpha: float, most: int) -> int:
    """How many fresh samples a side should take for the bound to pass the point, where probabilities are as counted.

    Counts to come are taken two standard deviations worse than expected. At most `most`.
    """
    likely, unlikely = hits[0] / trials, (hits[1] + 0.5) / (trials + 1.0)
    size = min(64, most)
    while size < most:
        more = size * likely - 2.0 * math.sqrt(size * likely * (1.0 - likely))
        fewer = size * unlikely + 2.0 * math.sqrt(size * unlikely)
        worse = max(0, math.floor(more)), min(size, math.ceil(fewer))
        if epsilon_lower(worse, size, delta=point.delta, alpha=alpha) > point.epsilon:
            return size
        size = min(most, 1 + 5 * size // 4)
    return most


class Freezer:
    """Fixes an event each time the past has doubled, and counts it on all that follows.

    First the columns stop learning (in a copy); then the best tail is chosen on new samples that they have not learned from;
    then it is counted. When a run ends after a number of samples that was fixed in advance, the latest event with enough fresh
    samples gives the bound: which one that is depends on the number alone, so it is one event, chosen before they were seen.
    """

    _FIRST, _SHARE, _CHOOSING, _MOST = 256, 0.4, 3, 32_768

    def __init__(self, bank: ColumnScores, freeze: Freeze, *, delta: float) -> None:
        self._bank, self._freeze, self._delta = bank, freeze, delta
        self._next = self._FIRST
        self._seen = 0
        self._choosing: tuple[ColumnScores, int, list[tuple[Array, Array]]] | None = None
        self._events: list[tuple[FrozenEvent, int, list[int]]] = []

    def count(self, first: Array, second: Array, raw: tuple[Array, Array]) -> None:
        """Count a batch, as it was drawn, for the events fixed before it; choose by it, rounded, where one is chosen."""
        for frozen, _, counts in self._events:
            more, fewer = frozen.hits(*raw)
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
            self._events = [*self._events[-1:], (self._freeze(bank, chosen), self._seen, [0, 0])]
            self._choosing = None

    def bound(self, *, alpha: float) -> Bound | None:
        """The bound, where there were enough samples for one."""
        ready = [event for event in self._events if self._seen - event[1] >= self._SHARE * self._seen]
        if not ready:
            return None
        frozen, start, counts = ready[-1]
        return frozen.bound((counts[0], counts[1]), self._seen - start, alpha=alpha)


def best_tail(first: Array, second: Array, point: Point, *, trials: int) -> Bet:
    """The tail whose bound from this number of fresh samples would be largest, judged by these scores, less their own error.

    `growth` of the bet is that bound.     Where nothing looks telling, everything is the event: which event is counted must not
    depend on its own counts.
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
                bet = Bet(column=column, upper=tail == 0, cut=cut, forward=direction == 0, point=point, growth=best)
    return bet
