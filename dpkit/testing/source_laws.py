"""The laws of sources: what a plugin's source makes gives the same rows however it is read, and only what was asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpkit.contracts.factories import Factory
from dpkit.contracts.table import DivisibleTable, Table
from dpkit.data.tables.open_source import open_table
from dpkit.testing.cases import built_or_none, typical_parameters
from dpkit.testing.conformance import LawNotApplicable

SIZES = (1, 2, 3, 7, 64, 1 << 14)
Column = list[object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCase:
    """A factory of sources under test. Its parameters' examples must open something small; so tables are read many times."""

    factory: Factory[Any]

    def tables(self, limit: int = 3) -> list[Table]:
        """What typical parameters open."""
        made = (built_or_none(self.factory, values) for values in itertools.islice(typical_parameters(self.factory), 4 * limit))
        found = [open_table(one) for one in itertools.islice((one for one in made if one is not None), limit)]
        if not found:
            raise LawNotApplicable("no typical parameters open this source: declare `examples` that do")
        return found


def names_are_distinct_texts(case: SourceCase) -> None:
    """Columns are found by name, so names are texts and differ; they are the same each time."""
    for table in case.tables():
        names = tuple(table.names)
        assert all(isinstance(name, str) and name for name in names), "a name of a column is no text"
        assert len(set(names)) == len(names), "two columns have one name"
        assert tuple(table.names) == names, "the names differ from one time to the next"


def batches_hold_what_was_asked_for(case: SourceCase) -> None:
    """At most `rows` rows, the columns that were named and no others, each with as many cells as there are rows."""
    for table in case.tables():
        for names, rows in itertools.product(_selections(tuple(table.names)), SIZES):
            for batch in table.batches(names, rows):
                assert 0 <= batch.rows <= rows, f"{batch.rows} rows in a batch of at most {rows}"
                assert set(batch.cells) == set(names), "a batch has other columns than were asked for"
                for cells in batch.cells.values():
                    sizes = {np.shape(cells.values), np.shape(cells.values if cells.missing is None else cells.missing)}
                    assert sizes == {(batch.rows,)}, "a column has not one cell a row"


def rows_do_not_depend_on_the_batch(case: SourceCase) -> None:
    """Whatever the size of batches, and however often it is read: the same cells in the same order."""
    for table in case.tables():
        names = tuple(table.names)
        first = _columns(table, names, SIZES[-1])
        for rows in SIZES:
            assert _columns(table, names, rows) == first, f"batches of {rows} rows give other rows than batches of {SIZES[-1]}"


def columns_can_be_read_alone(case: SourceCase) -> None:
    """A column has the same cells, whichever others are read with it; with none, the rows can still be counted."""
    for table in case.tables():
        names = tuple(table.names)
        together = _columns(table, names, SIZES[-1])
        count = sum(batch.rows for batch in table.batches(names, SIZES[-1]))
        for selection in _selections(names):
            assert _columns(table, selection, 3) == {name: together[name] for name in selection}, "a column changes with others"
            assert sum(batch.rows for batch in table.batches(selection, 3)) == count, (
                "the number of rows depends on the columns"
            )


def pieces_are_the_rows(case: SourceCase) -> None:
    """A table that workers may read in pieces holds every row once, in order, whatever the size of a piece."""
    divisible = [table for table in case.tables() if isinstance(table, DivisibleTable)]
    if not divisible:
        raise LawNotApplicable("it offers no pieces")
    for table in divisible:
        names = tuple(table.names)
        for size in (1, 40, 1 << 20):
            pieces = [_columns(piece, names, SIZES[-1]) for piece in table.pieces(size)]
            joined = {name: [cell for piece in pieces for cell in piece[name]] for name in names}
            assert joined == _columns(table, names, SIZES[-1]), f"pieces of {size} bytes are not the rows"


SOURCE_LAWS: tuple[Callable[[SourceCase], None], ...] = (
    names_are_distinct_texts,
    batches_hold_what_was_asked_for,
    rows_do_not_depend_on_the_batch,
    columns_can_be_read_alone,
    pieces_are_the_rows,
)


def _selections(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys([names, names[::-1], (), *((name,) for name in names[:4])]))


def _columns(table: Table, names: Sequence[str], rows: int) -> dict[str, Column]:
    """Every cell as a text, missing ones as None: texts are equal where cells are, NaN included."""
    found: dict[str, Column] = {name: [] for name in names}
    for batch in table.batches(names, rows):
        for name in names:
            cells = batch.cells[name]
            missing = np.zeros(batch.rows, dtype=bool) if cells.missing is None else np.asarray(cells.missing, dtype=bool)
            values = np.asarray(cells.values).tolist()
            found[name] += [None if gone else repr(value) for value, gone in zip(values, missing, strict=True)]
    return found
