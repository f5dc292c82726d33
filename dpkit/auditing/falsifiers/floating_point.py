"""Floating point: events that only rounding decides. Real violations of what was run, and a verdict of their own."""

from __future__ import annotations

import numpy as np

from dpkit.auditing.betting.column_scores import ColumnScores
from dpkit.auditing.betting.columns import Columns, OutputForm, literal
from dpkit.auditing.betting.processes import BettingProcess, Prequential
from dpkit.auditing.draw_outputs import as_value, flat
from dpkit.numerics.rounding import in_full
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

    def expression(self, column: int, form: OutputForm) -> str:
        """Of a score that is a difference, or of the number whose last bit counts."""
        entry, kind = divmod(column, 4)
        one, two = (f"({form.entry(entry)} - {literal(center[entry])})" for center in self._centers)
        return (f"np.abs({two}) - np.abs({one})", form.entry(entry), one, two)[kind]

    def condition(self, column: int, *, upper: bool, cut: float, form: OutputForm) -> tuple[str, str]:
        """That a last bit is at least 2**k is that the number is a multiple of 2.0**k."""
        if column % 4 == 0:
            side, number = (">=" if upper else "<="), self.expression(column, form)
            return f"{self.names[column]} {side} {in_full(cut)}", f"{number} {side} {literal(cut)}"
        power = int(min(cut if upper else cut + 1.0, 1020.0))
        word, sign = ("a multiple", "==") if upper else ("no multiple", "!=")
        said = self.names[column].removeprefix("zeros(").removesuffix(")")
        return f"{said} {word} of 2**{power}", f"np.fmod({self.expression(column, form)}, {2.0**power!r}) {sign} 0"


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

    def open(self, outputs: Array) -> Prequential:
        """Columns of the last bits alone."""
        return Prequential(ColumnScores([LastBits(self._subject.pair, outputs.shape[1:])]), self._subject.points)
