"""Floating point: events that only rounding decides. Real violations of what was run, and a verdict of their own."""

from __future__ import annotations

import numpy as np

from dpkit.auditing.betting.column_scores import ColumnScores
from dpkit.auditing.betting.columns import Columns
from dpkit.auditing.betting.processes import BettingProcess, Prequential
from dpkit.auditing.draw_outputs import as_value, flat
from dpkit.numerics.special import Array

_ENTRIES = 4


class LastBits(Columns):
    """What the last bits of an output tell: |y - d2| - |y - d1| in floating point, and trailing zeros of y, y - d1, y - d2."""

    def __init__(self, pair: tuple[object, object], shape: tuple[int, ...]) -> None:
        size = int(np.prod(shape))
        values = [as_value(dataset, shape) for dataset in pair]
        self._centers = [np.zeros(size) if value is None else value.reshape(-1) for value in values]
        self._count = min(size, _ENTRIES)
        words = (
            "abs(y[{j}] - d2[{j}]) - abs(y[{j}] - d1[{j}])",
            "zeros(y[{j}])",
            "zeros(y[{j}] - d1[{j}])",
            "zeros(y[{j}] - d2[{j}])",
        )
        self.names = tuple(word.format(j=j) for j in range(self._count) for word in words)

    def scores(self, outputs: Array) -> Array:
        rows = flat(outputs)
        columns = []
        for j in range(self._count):
            one, two = rows[:, j] - self._centers[0][j], rows[:, j] - self._centers[1][j]
            columns += [np.abs(two) - np.abs(one), lowest_bits(rows[:, j]), lowest_bits(one), lowest_bits(two)]
        return np.stack(columns, axis=1)


def lowest_bits(numbers: Array) -> Array:
    """The exponent of the last bit that is set: on which power-of-two lattice a float lies."""
    mantissa, exponent = np.frexp(numbers)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.where(whole > 0, whole & -whole, 1)
    return np.where(whole > 0, exponent - 53.0 + np.log2(lowest.astype(np.float64)), 1100.0)


class FloatingPoint(BettingProcess):
    """A prequential e-process on unrounded outputs whose events are about last bits (Mironov 2012).

    It sees samplers whose reachable floats depend on the value; what it finds says nothing about the mathematics.
    """

    name = "floating point"
    bounds = False

    def open(self, outputs: Array) -> Prequential:
        """Columns of the last bits alone."""
        return Prequential(ColumnScores([LastBits(self._subject.pair, outputs.shape[1:])]), self._subject.points)
