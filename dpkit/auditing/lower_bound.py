"""A lower bound on epsilon: one event, chosen on a training part, counted on fresh samples, by Clopper and Pearson."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpkit.auditing.bank import Bank
from dpkit.auditing.betting import cuts_of
from dpkit.auditing.outputs import Rounder
from dpkit.numerics.special import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """A fixed event: a tail of one column of a bank that learns no more."""

    bank: Bank
    column: int
    upper: bool
    cut: float
    forward: bool
    delta: float
    rounder: Rounder | None = None

    def hits(self, first: Array, second: Array) -> tuple[int, int]:
        """How many outputs lie in it: of the side that should have more, and of the other."""
        counts = []
        for side in (first, second) if self.forward else (second, first):
            scores = self.bank.scores(side if self.rounder is None else self.rounder(side))[:, self.column]
            counts.append(int(np.count_nonzero(scores >= self.cut if self.upper else scores <= self.cut)))
        return counts[0], counts[1]

    @property
    def code(self) -> str:
        """The event as an expression."""
        return f"lambda y: {self.bank.names[self.column]} {'>=' if self.upper else '<='} {self.cut!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """`epsilon` is below the true epsilon at `delta`, with the error probability asked for; from these counts."""

    epsilon: float
    delta: float
    hits: tuple[int, int]
    trials: int
    forward: bool
    code: str


def epsilon_lower(hits: tuple[int, int], trials: int, *, delta: float, alpha: float) -> float:
    """ln((p - delta) / q) at Clopper and Pearson's lower end of p and upper end of q, each at alpha/2; at least 0."""
    from scipy.special import betaincinv

    more, fewer = hits
    p = float(betaincinv(more, trials - more + 1, alpha / 2.0)) if more else 0.0
    q = float(betaincinv(fewer + 1, trials - fewer, 1.0 - alpha / 2.0)) if fewer < trials else 1.0
    p, q = p * (1.0 - 1e-12), q * (1.0 + 1e-12)  # the inverse's own rounding
    return max(0.0, math.log((p - delta) / q)) if p > delta else 0.0


def bound_of(tail: Tail, hits: tuple[int, int], trials: int, *, alpha: float) -> Bound:
    """The bound from counts of one fixed event."""
    epsilon = epsilon_lower(hits, trials, delta=tail.delta, alpha=alpha)
    return Bound(epsilon=epsilon, delta=tail.delta, hits=hits, trials=trials, forward=tail.forward, code=tail.code)


class Freezer:
    """Fixes an event each time the past has doubled, and counts it on all that follows.

    When a run ends after a number of samples that was fixed in advance, the latest event with enough fresh samples gives the
    bound: which one that is depends on the number of samples alone, so it is one event, chosen before they were seen.
    """

    _FIRST, _SHARE = 256, 0.4

    def __init__(self, bank: Bank, *, delta: float) -> None:
        self._bank, self._delta = bank, delta
        self._next = self._FIRST
        self._seen = 0
        self._events: list[tuple[Tail, int, list[int]]] = []

    def count(self, first: Array, second: Array) -> None:
        """Count a batch for the events that were fixed before it; then perhaps fix one."""
        for tail, _, counts in self._events:
            more, fewer = tail.hits(first, second)
            counts[0] += more
            counts[1] += fewer
        self._seen += first.shape[0]
        if self._seen >= self._next:
            best = best_tail(self._bank, delta=self._delta, trials=self._seen)
            if best is not None:
                self._events = [*self._events[-1:], (best, self._seen, [0, 0])]
            while self._next <= self._seen:
                self._next *= 2

    def bound(self, *, alpha: float) -> Bound | None:
        """The bound, where there were enough samples for one."""
        ready = [event for event in self._events if self._seen - event[1] >= self._SHARE * self._seen]
        if not ready:
            return None
        tail, start, counts = ready[-1]
        return bound_of(tail, (counts[0], counts[1]), self._seen - start, alpha=alpha)


def best_tail(bank: Bank, *, delta: float, trials: int) -> Tail | None:
    """The tail whose bound from as many fresh samples would be largest, judged by past scores."""
    best: tuple[float, int, bool, float, bool] | None = None
    for column in range(len(bank.names)):
        first, second = bank.past(column)
        cuts = cuts_of(first, second)
        if cuts.size == 0:
            continue
        one, two, n = np.sort(first), np.sort(second), first.size
        for upper in (True, False):
            below = np.stack([np.searchsorted(ordered, cuts, "left" if upper else "right") for ordered in (one, two)])
            shares = ((n - below) if upper else below) / n
            for forward in (True, False):
                p, q = (shares[0], shares[1]) if forward else (shares[1], shares[0])
                low = p - 3.5 * np.sqrt(p * (1.0 - p) / trials) - 6.0 / trials - delta
                high = q + 3.5 * np.sqrt(q * (1.0 - q) / trials) + 6.0 / trials
                value = np.where(low > 0.0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
                place = int(np.argmax(value))
                if best is None or value[place] > best[0]:
                    best = (float(value[place]), column, upper, float(cuts[place]), forward)
    if best is None or not math.isfinite(best[0]):
        return None
    _, column, upper, cut, forward = best
    return Tail(bank=bank.frozen(), column=column, upper=upper, cut=cut, forward=forward, delta=delta)
