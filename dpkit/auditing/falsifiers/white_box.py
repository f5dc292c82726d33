"""The white box: the declared density tells which outputs speak against the claim; the samples say whether they come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpkit.auditing.betting.bank import Bank
from dpkit.auditing.betting.bets import Bet
from dpkit.auditing.betting.columns import Columns
from dpkit.auditing.betting.lower_bound import Freezer, TailEvent
from dpkit.auditing.betting.prequential import Prequential
from dpkit.auditing.betting.processes import OutputEvent, Process, event_of
from dpkit.auditing.subject import Subject
from dpkit.numerics.special import Array

_GRID = 2.0**-26
"""Losses are rounded to this: an atom of the loss must not be torn apart by the last bits of two logarithms."""
_LIMIT = 1e9


class LogRatio(Columns):
    """ln of the ratio of the declared densities."""

    names = ("log_density(y, d1) - log_density(y, d2)",)

    def __init__(self, log_density: Callable[[Array, int], Array]) -> None:
        self._log_density = log_density

    def __deepcopy__(self, memo: dict[int, object]) -> LogRatio:
        """It learns nothing: a frozen copy is itself."""
        return self

    def scores(self, outputs: Array) -> Array:
        """Infinite ratios become a large number."""
        one, two = self._log_density(outputs, 0), self._log_density(outputs, 1)
        both = np.isneginf(one) & np.isneginf(two)
        with np.errstate(invalid="ignore"):
            ratio = np.where(both, 0.0, one - two)
        return np.clip(np.round(ratio / _GRID) * _GRID, -_LIMIT, _LIMIT)[:, None]


class LikelihoodRatio(Process):
    """A prequential e-process whose events are tails of the declared privacy loss.

    The density only chooses events: a wrong one costs power, never validity. It sees any violation by the declared law, at
    this pair; a sampler that does not follow its declared law is for the noise law and the black box.
    """

    name = "white box"
    sees = "any event in terms of the declared privacy loss, at this pair"

    def __init__(self, subject: Subject) -> None:
        bank = Bank([LogRatio(subject.log_density)])
        opening = [
            Bet(
                column=0,
                upper=forward,
                cut=(point.epsilon + 1e-6) * (1.0 if forward else -1.0),
                forward=forward,
                point=point,
                stake=share * point.ceiling,
                growth=0.0,
            )
            for point in subject.points
            for forward in (True, False)
            for share in (0.4, 0.9)
        ]
        self._inner = Prequential(bank, subject.points, opening=opening)
        self.freezer = Freezer(bank, delta=subject.delta)

    def step(self, first: Array, second: Array) -> Array:
        """Bet, then learn."""
        path = self._inner.step(first, second)
        self.freezer.count(first, second)
        return path

    def prepare(self) -> None:
        """Choose the next bets."""
        self._inner.choose()

    @property
    def log_e(self) -> float:
        """ln of the e-value."""
        return self._inner.log_wealth

    def telling(self) -> float | None:
        """How likely the event is that tells the datasets apart best."""
        return self._inner.telling()

    def event(self) -> OutputEvent | None:
        """The winning bet's."""
        bet = self._inner.winner
        return None if bet is None else event_of(bet, self._inner.bank.names)

    def tail(self) -> TailEvent | None:
        """The winning bet's set, for a bound on fresh samples."""
        bet = self._inner.winner
        if bet is None:
            return None
        return TailEvent(
            bank=self._inner.bank.frozen(),
            column=0,
            upper=bet.upper,
            cut=bet.cut,
            forward=bet.forward,
            delta=bet.point.delta,
        )
