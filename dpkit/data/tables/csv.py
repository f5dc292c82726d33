"""CSV files as tables: one record is one row, whatever it holds.

A record that does not fit (too few or too many cells, quotes that make no sense, too long) is a row of missing cells. Text is
UTF-8; bytes that are not stay what they are. What a record is: dpkit/data/tables/csv_records.py.
"""

from __future__ import annotations

import importlib.util
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.cells import objects
from dpkit.data.tables.csv_records import BYTE_ORDER_MARK, RecordRun, beginnings, runs_of, split
from dpkit.data.tables.text_files import TextForm
from dpkit.errors import SourceError
from dpkit.values import dataclass

FEWEST_LINES = 64
"""For fewer lines Arrow does not pay."""


class CsvTable:
    """CSV files with a header each; all have the columns of the first."""

    def __init__(self, paths: Sequence[str], *, delimiter: str = ",", quote: str = '"', encoding: str = "utf-8") -> None:
        self._form = TextForm(delimiter=delimiter, quote=quote, encoding=encoding)
        self.paths = tuple(paths)
        headers = [self._header(path) for path in self.paths]
        first = Counter(headers[0])
        self.names = tuple(name for name in headers[0] if first[name] == 1)
        """The cells of the header that name one column. Whether it is a header, or a first record, is not known here."""
        self.repeated = frozenset(name for name, count in first.items() if count > 1)
        """The cells of the header that stand there more than once, and name nothing."""
        for path, names in zip(self.paths, headers, strict=True):
            if Counter(names) != first:
                raise SourceError(source=path, reason=f"its header is not that of {self.paths[0]}.")

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The records, in the order of files and of their places there."""
        for path in self.paths:
            header = self._header(path)
            yield from CsvPiece(path=path, names=header, form=self._form).batches(names, rows)

    def pieces(self, size: int) -> tuple[CsvPiece, ...]:
        """Whole records, about `size` bytes of them a piece. Each file is read once, to see where records begin; a file that is
        compressed, or in another encoding or quoting, is one piece.
        """
        found = []
        for path in self.paths:
            header = self._header(path)
            starts = beginnings(path, self._form, size) if self._form.is_plain(path) else [0]
            for start, stop in zip(starts, [*starts[1:], None], strict=True):
                piece = CsvPiece(path=path, names=header, form=self._form, start=start, stop=stop)
                found.append(piece)
        return tuple(found)

    def _header(self, path: str) -> tuple[str, ...]:
        first = next(runs_of(path, self._form), None)
        record = None if first is None else first.first()
        names = None if record is None else split(record, self._form.delimiter)
        if not names or not any(names):
            raise SourceError(source=path, reason="it has no header line.", fix="Its first line must name the columns.")
        if record is not None and b"\r" in record.replace(b"\r\n", b""):
            fix = "Lines end in LF or CRLF; write it again with one of them."
            raise SourceError(source=path, reason="a carriage return that ends no line is in its header.", fix=fix)
        return tuple(self._form.as_written(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvPiece:
    """The records of one file from one place to another, at both of which a record begins.

    It holds no row: it can be pickled and read elsewhere.
    """

    path: str
    names: tuple[str, ...] = field(repr=False)
    form: TextForm
    start: int = 0
    stop: int | None = None

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The records, in order."""
        places = [self.names.index(name) for name in names]
        runs = runs_of(self.path, self.form, self.start, self.stop)
        header = 1 if self.start == 0 else 0
        if not names:
            for count in _counted(runs, rows, skipping=header):
                yield Batch(rows=count, cells={})
            return
        for group in _grouped(runs, rows, skipping=header):
            yield self._batch(group, names, places)

    def _batch(self, raw: list[bytes | None], names: Sequence[str], places: list[int]) -> Batch:
        """Records as cells; None stands for one that was too long."""
        plain = plain_cells(raw, self.form.delimiter, len(self.names), places)
        if plain is not None:
            return Batch(rows=len(raw), cells={name: self._repeated(*found) for name, found in zip(names, plain, strict=True)})
        records: list[list[str]] = []
        malformed = np.zeros(len(raw), dtype=np.bool_)
        width = len(self.names)
        empty = [""] * width
        for number, record in enumerate(raw):
            cells = None if record is None else split(record, self.form.delimiter)
            if cells is None or len(cells) != width:
                malformed[number] = True
                cells = empty
            records.append(self.form.as_written(cells))
        mask = malformed if malformed.any() else None
        columns = {
            name: Cells(values=objects([cells[place] for cells in records]), missing=mask)
            for name, place in zip(names, places, strict=True)
        }
        return Batch(rows=len(raw), cells=columns)

    def _repeated(self, distinct: list[str], places: npt.NDArray[np.integer]) -> Cells:
        values = objects(self.form.as_written(distinct))
        return Cells(values=values[places], distinct=values, places=places)


def _counted(runs: Iterable[RecordRun], count: int, *, skipping: int) -> Iterator[int]:
    """How many records `_grouped` gives at a time."""
    waiting = -skipping
    for run in runs:
        waiting += run.count()
        while waiting >= count:
            yield count
            waiting -= count
    if waiting > 0:
        yield waiting


def _grouped(runs: Iterable[RecordRun], count: int, *, skipping: int) -> Iterator[list[bytes | None]]:
    """The records after the first few, a fixed number at a time."""
    waiting: list[bytes | None] = []
    for run in runs:
        waiting += run.records()
        if skipping:
            waiting, skipping = waiting[skipping:], max(0, skipping - len(waiting))
        whole = len(waiting) - len(waiting) % count
        for start in range(0, whole, count):
            yield waiting[start : start + count]
        del waiting[:whole]
    if waiting:
        yield waiting


def plain_cells(
    lines: Sequence[bytes | None], delimiter: str, width: int, places: Sequence[int]
) -> list[tuple[list[str], npt.NDArray[np.integer]]] | None:
    """The distinct cells of each of these columns, as texts, and which of them each line has, by Arrow; None where a line is
    not plain, or Arrow is not there.

    Empty records and those with quotes, carriage returns, bytes that are no UTF-8 or another number of cells are not plain: all
    are left to the reader of single records, with all records of their batch. Arrow sees one line a record. Both readers give
    the same cells for what both read, so which one reads changes nothing.
    """
    if len(lines) < FEWEST_LINES or len(delimiter.encode()) != 1 or importlib.util.find_spec("pyarrow") is None:
        return None
    complete = [line for line in lines if line is not None]
    if len(complete) < len(lines):
        return None
    data = b"\n".join([*complete, b""])
    if b'"' in data or b"\r" in data or data.startswith(BYTE_ORDER_MARK):
        return None
    if width > 1 and (data.startswith(b"\n") or b"\n\n" in data):  # to Arrow, an empty line has as many cells as any other
        return None
    import pyarrow as pa
    from pyarrow import csv

    names = [str(place) for place in range(width)]
    wanted = [names[place] for place in places]
    try:
        table = csv.read_csv(
            io.BytesIO(data),
            read_options=csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, quote_char=False, escape_char=False, newlines_in_values=False, ignore_empty_lines=False
            ),
            convert_options=csv.ConvertOptions(
                check_utf8=True,
                column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
                strings_can_be_null=False,
                include_columns=wanted,
            ),
        )
    except (pa.ArrowException, OSError):  # what it says may quote a line
        return None
    if table.num_rows != len(lines):
        return None
    found = [table.column(name).combine_chunks() for name in wanted]
    return [(column.dictionary.to_pylist(), _whole_numbers(column.indices)) for column in found]


def _whole_numbers(column: Any) -> npt.NDArray[np.integer]:
    """Of an Arrow array without gaps, from its bytes: its own way to numpy imports pandas where that is installed."""
    return np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column)]
