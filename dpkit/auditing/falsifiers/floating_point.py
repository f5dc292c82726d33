"""Floating point: events that only rounding decides. Real violations of what was run, and a verdict of their own."""

from __future__ import annotations

import numpy as np

from dpkit.auditing.betting.bank import Bank
from dpkit.auditing.betting.columns import Columns
from dpkit.auditing.betting.prequential import Prequential
from dpkit.auditing.betting.processes import OutputEvent, Process, event_of
from dpkit.auditing.outputs import as_value, flat
from dpkit.auditing.subject import Subject
from dpkit.numerics.special import Array

_ENTRIES = 4


class LastBits(Columns):
    """What the last bits of an output tell: |y - d2| - |y - d1| in floating point, and trailing zeros of y, y - d1, y - d2."""

    def __init__(self, pair: tuple[object, object], shape: tuple[int, ...]) -> None:
        size = int(np.prod(shape))
        values = [as_value(dataset, shape) for dataset in pair]
        self._centers = [np.zeros(size) if value is None else value.reshape(-1) for value in values]
        self._count = min(size, _ENTRIES)

    @property
    def names(self) -> tuple[str, ...]:
        """Computed in float64, in this order."""
        words = (
            "abs(y[{j}] - d2[{j}]) - abs(y[{j}] - d1[{j}])",
            "zeros(y[{j}])",
            "zeros(y[{j}] - d1[{j}])",
            "zeros(y[{j}] - d2[{j}])",
        )
        return tuple(word.format(j=j) for j in range(self._count) for word in words)

    def scores(self, outputs: Array) -> Array:
        """One row an output."""
        rows = flat(outputs)
        columns = []
        for j in range(self._count):
            one, two = rows[:, j] - self._centers[0][j], rows[:, j] - self._centers[1][j]
            columns += [np.abs(two) - np.abs(one), _zeros(rows[:, j]), _zeros(one), _zeros(two)]
        return np.stack(columns, axis=1)


def _zeros(numbers: Array) -> Array:
    """The exponent of the last bit that is set: on which power-of-two lattice a float lies."""
    mantissa, exponent = np.frexp(numbers)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.where(whole > 0, whole & -whole, 1)
    return np.where(whole > 0, exponent - 53.0 + np.log2(lowest.astype(np.float64)), 1100.0)


class FloatingPoint(Process):
    """A prequential e-process on unrounded outputs whose events are about last bits (Mironov 2012).

    It sees samplers whose reachable floats depend on the value; what it finds says nothing about the mathematics.
    """

    name = "floating point"
    sees = "outputs whose last bits depend on the dataset; nothing about the mechanism in real arithmetic"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._inner: Prequential | None = None

    def step(self, first: Array, second: Array) -> Array:
        """Bet, then learn, on the outputs as they are."""
        if self._inner is None:
            bank = Bank([LastBits(self._subject.pair, first.shape[1:])])
            self._inner = Prequential(bank, self._subject.points)
        return self._inner.step(first, second)

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
