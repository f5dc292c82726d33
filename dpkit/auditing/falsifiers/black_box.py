"""The black box: nothing is known but samples. A prequential e-process over tails of fixed and of learned columns."""

from __future__ import annotations

from collections.abc import Sequence

from dpkit.auditing.betting.bank import Bank, columns_for
from dpkit.auditing.betting.lower_bound import Freezer, TailEvent
from dpkit.auditing.betting.prequential import Prequential
from dpkit.auditing.betting.processes import OutputEvent, Process, event_of
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.outputs import Rounder
from dpkit.numerics.special import Array


class BlackBox(Process):
    """Ville's inequality on 1 + stake (1[X in S] - e^epsilon 1[Y in S] - delta), S and the stake chosen from the past only.

    It sees what tails of its columns can tell apart, given samples; it cannot see events decided by floating-point rounding,
    nor what happens at other pairs of datasets.
    """

    name = "black box"
    sees = "any event that its columns or classifiers can single out, at this pair; not events decided by rounding"

    def __init__(self, points: Sequence[Point], pair: tuple[object, object], *, delta: float) -> None:
        self._points, self._pair, self._delta = tuple(points), pair, delta
        self._round = Rounder()
        self._inner: Prequential | None = None
        self.freezer: Freezer | None = None

    def step(self, first: Array, second: Array) -> Array:
        """Round, bet, learn."""
        one, two = self._round(first), self._round(second)
        if self._inner is None:
            self._inner = Prequential(Bank(columns_for(one.shape[1:], self._pair, one)), self._points)
            self.freezer = Freezer(self._inner.bank, delta=self._delta)
        path = self._inner.step(one, two)
        assert self.freezer is not None
        self.freezer.count(one, two)
        return path

    def prepare(self) -> None:
        """Choose the next bets."""
        if self._inner is not None:
            self._inner.choose()

    @property
    def log_e(self) -> float:
        """ln of the e-value."""
        return 0.0 if self._inner is None else self._inner.log_wealth

    def telling(self) -> float | None:
        """How likely the event is that tells the datasets apart best."""
        return None if self._inner is None else self._inner.telling()

    def event(self) -> OutputEvent | None:
        """The winning bet's."""
        bet = None if self._inner is None else self._inner.winner
        return None if bet is None or self._inner is None else event_of(bet, self._inner.bank.names)

    def tail(self) -> TailEvent | None:
        """The winning bet's set, frozen with the columns as they are now, for a bound on fresh samples."""
        bet = None if self._inner is None else self._inner.winner
        if bet is None or self._inner is None:
            return None
        return TailEvent(
            bank=self._inner.bank.frozen(),
            column=bet.column,
            upper=bet.upper,
            cut=bet.cut,
            forward=bet.forward,
            delta=bet.point.delta,
            rounder=self._round,
        )
