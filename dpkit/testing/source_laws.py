"""The laws of sources: what a plugin's source makes gives the same rows however it is read, and only what was asked for."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpkit.contracts.factories import Factory
from dpkit.contracts.parameters import Parameter
from dpkit.contracts.table import DivisibleTable, Table
from dpkit.data.tables.open_source import open_table
from dpkit.testing.mechanism_cases import built_or_none, typical_parameters
from dpkit.testing.run_laws import LawNotApplicable, LawUnchecked
from dpkit.values import dataclass

SIZES = (1, 2, 3, 7, 64, 1 << 14)
MOST_FILES, MOST_BYTES = 2, 1 << 20
"""Files that are changed line by line, and how large they may be."""
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


def a_row_is_read_by_itself(case: SourceCase) -> None:
    """In a file of lines, what one line holds changes no other row: nothing is scaled, filled or clipped by the whole of them.

    A line that cannot be understood is a row of missing cells; it is still a row, and nothing raises.
    """
    tried = 0
    for values, parameter, path in itertools.islice(_files_of_lines(case.factory), MOST_FILES):
        with tempfile.TemporaryDirectory() as folder:

            def rows_of(
                content: bytes,
                values: dict[str, object] = values,
                parameter: Parameter = parameter,
                copy: Path = Path(folder) / path.name,
            ) -> list[tuple[object, ...]] | None:
                copy.write_bytes(content)
                given = (str(copy),) if parameter.kind == "paths" else str(copy)
                made = built_or_none(case.factory, {**values, parameter.name: given})
                return None if made is None else _rows(open_table(made))

            tried += _lines_are_rows(path.read_bytes(), rows_of)
    if not tried:
        raise LawUnchecked(
            "no example opens a file with a row a line, which the kit could change, so nobody knows whether each is read by "
            "itself: never scale, fill or clip by other rows"
        )


def _lines_are_rows(content: bytes, rows_of: Callable[[bytes], list[tuple[object, ...]] | None]) -> int:
    """Whether the lines of this file are rows; and if so, one line is changed after the other, and the other rows stay."""
    lines = content.splitlines(keepends=True)
    whole, shorter = rows_of(content), _or_none(rows_of, b"".join(lines[:-1]))
    if whole is None or shorter is None or len(whole) < 2 or len(shorter) != len(whole) - 1:
        return 0
    for place in dict.fromkeys((len(lines) - 1, len(lines) - len(whole))):  # the last row and the first one
        row = place - len(lines) + len(whole)
        ending = lines[place][len(lines[place].rstrip(b"\r\n")) :]
        for changed in (_with_large_numbers(lines[place]), b"~" + ending):
            found = rows_of(b"".join([*lines[:place], changed, *lines[place + 1 :]]))
            assert found is not None, "what one line holds decides whether the file is opened"
            assert len(found) == len(whole), "a line that cannot be understood is a row of missing cells, and counts as a row"
            others = [one for index, one in enumerate(whole) if index != row]
            assert [one for index, one in enumerate(found) if index != row] == others, (
                "what one line holds changes other rows: nothing may be scaled, filled or clipped by the rows themselves"
            )
    return 1


def _or_none(rows_of: Callable[[bytes], list[tuple[object, ...]] | None], content: bytes) -> list[tuple[object, ...]] | None:
    """The rows, where the file can still be read: of a format with an end, a part is none."""
    try:
        return rows_of(content)
    except Exception:  # noqa: BLE001 - a third party's code may refuse in any way
        return None


def _with_large_numbers(line: bytes) -> bytes:
    return re.sub(rb"\d+", lambda found: b"9" * min(18, 6 + len(found[0])), line)


def _files_of_lines(factory: Factory[Any]) -> Iterator[tuple[dict[str, object], Parameter, Path]]:
    """Typical parameters, the one of them that names a file, and that file, if it is one of a few thousand lines of text."""
    for values in itertools.islice(typical_parameters(factory), 4 * MOST_FILES):
        for parameter in factory.parameters:
            given = values.get(parameter.name)
            paths = [given] if parameter.kind == "path" else list(given) if isinstance(given, tuple) else []
            if parameter.kind not in ("path", "paths") or len(paths) != 1 or not Path(str(paths[0])).is_file():
                continue
            path = Path(str(paths[0]))
            content = path.read_bytes()
            if len(content) <= MOST_BYTES and b"\0" not in content and content.count(b"\n") >= 3:
                yield values, parameter, path


def _rows(table: Table) -> list[tuple[object, ...]]:
    names = tuple(table.names)
    columns = _columns(table, names, SIZES[-1])
    return list(zip(*([_read_as(cell) for cell in columns[name]] for name in names), strict=True))


def _read_as(cell: object) -> object:
    """A number as such, be it written as one or as a text: a reader may choose that for the column as a whole."""
    text = str(cell).strip("'")
    try:
        return float(text)
    except ValueError:
        return text


SOURCE_LAWS: tuple[Callable[[SourceCase], None], ...] = (
    names_are_distinct_texts,
    batches_hold_what_was_asked_for,
    rows_do_not_depend_on_the_batch,
    columns_can_be_read_alone,
    pieces_are_the_rows,
    a_row_is_read_by_itself,
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
