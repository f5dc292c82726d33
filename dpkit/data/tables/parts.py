"""Parts of a source: where some rows are and what is declared of them. They hold no row, and travel to where rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpkit.contracts.engine import Closing
from dpkit.contracts.query import Block
from dpkit.contracts.table import Batch, Table
from dpkit.data.columns.cells import read_texts
from dpkit.data.columns.schema import Schema

ROWS_OF_A_SCAN = 1 << 14
"""How many rows are read at once where no engine says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounding:
    """At most a number of rows of each person that a column names, chosen by a secret key (dpkit/data/columns/bounding.py)."""

    column: str
    at_most: int
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePart:
    """Some rows of a source, as codes of its declared columns. It can be pickled where its table can."""

    table: Table
    schema: Schema

    def blocks(self, columns: Sequence[str], rows: int, *, kept: npt.NDArray[np.bool_] | None = None) -> Iterator[Block]:
        """Every row, at most `rows` at a time; with `kept`, one truth value a row, only those."""
        names = [column.name for column in self.schema.select(columns)]
        start = 0
        for batch in self._batches(names, rows):
            block = self.schema.encode(batch, names)
            yield block if kept is None else block[kept[start : start + batch.rows]]
            start += batch.rows

    def count(self) -> int:
        """How many rows there are."""
        return sum(batch.rows for batch in self._batches((), ROWS_OF_A_SCAN))

    def persons(self, column: str) -> Iterator[tuple[list[str | None], Block]]:
        """Every row, batch by batch: whose it is, and the codes of all declared columns."""
        declared = self.schema.names
        for batch in self._batches(tuple(dict.fromkeys((*declared, column))), ROWS_OF_A_SCAN):
            yield read_texts(batch.cells[column]), self.schema.encode(batch, declared)

    def _batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The table's batches; a reading that is given up is closed here, since Python prints what a forgotten one raises."""
        batches = self.table.batches(names, rows)
        try:
            for batch in batches:  # noqa: UP028 - `yield from` would pass on what closing raises
                yield batch
        finally:
            if isinstance(batches, Closing):
                with suppress(BaseException):
                    batches.close()
