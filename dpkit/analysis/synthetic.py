"""Made-up rows of declared columns, for simulations: uniform within the bounds, from a seed, and related to no data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from dpkit.analysis.reading.spec import DataSpec
from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.cells import objects
from dpkit.data.columns.dates import Date, Time
from dpkit.data.columns.kinds import Boolean, Category, Column, Number, Text
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.values import dataclass

ROWS = 1000
"""As many as that where the analysis declares no number."""

_TEXTS = 5
_CHUNK = 4096
"""Rows are drawn in chunks of this size, each column of each chunk from a stream of its own: so any piece can be made alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticTable:
    """The rows from `start` to `stop` that a seed stands for; persons have as many rows as the unit allows, at most."""

    schema: Schema
    unit: PrivacyUnit
    seed: int
    start: int
    stop: int

    @property
    def names(self) -> tuple[str, ...]:
        """The declared columns, and the one that names persons."""
        person = self.unit.column
        return tuple(dict.fromkeys((*self.schema.cells, *(() if person is None else (person,)))))

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The rows, drawn when they are asked for."""
        for begin in range(self.start, self.stop, rows):
            end = min(begin + rows, self.stop)
            yield Batch(rows=end - begin, cells={name: Cells(values=self._values(name, begin, end)) for name in names})

    def pieces(self, size: int) -> tuple[SyntheticTable, ...]:
        """Ranges of rows."""
        rows = max(1, size // (8 * len(self.names)))
        starts = range(self.start, self.stop, rows)
        return tuple(
            SyntheticTable(schema=self.schema, unit=self.unit, seed=self.seed, start=begin, stop=min(begin + rows, self.stop))
            for begin in starts
        )

    def _values(self, name: str, begin: int, end: int) -> npt.NDArray[np.generic]:
        if name == self.unit.column:
            return np.arange(begin, end) // self.unit.at_most
        place = self.schema.table_names.index(name)
        chunks = [
            _drawn(
                self.schema.columns[place], np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(place, chunk)))
            )
            for chunk in range(begin // _CHUNK, -(-end // _CHUNK))
        ]
        first = begin // _CHUNK * _CHUNK
        return np.concatenate(chunks)[begin - first : end - first]


def synthetic_table(data: DataSpec, *, seed: int) -> SyntheticTable:
    """As many rows as the analysis declares."""
    return SyntheticTable(schema=data.schema, unit=data.unit, seed=seed, start=0, stop=ROWS if data.rows is None else data.rows)


def _drawn(column: Column, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    lower, upper = column.range
    if isinstance(column, Category):
        return np.array(column.levels, dtype=object)[rng.integers(0, len(column.levels), size=_CHUNK)]
    if isinstance(column, Text):
        return np.array([f"text {place}" for place in range(_TEXTS)], dtype=object)[rng.integers(0, _TEXTS, size=_CHUNK)]
    if isinstance(column, Boolean):
        return rng.integers(0, 2, size=_CHUNK)
    values = lower + (upper - lower) * rng.random(_CHUNK)
    if isinstance(column, Date | Time):
        return objects([column.cell(code) for code in values.tolist()])
    return np.rint(values) if isinstance(column, Number) and column.whole else values
