"""CSV files as tables: one record is one row, whatever it holds.

A record that does not fit (too few or too many cells, quotes that make no sense, too long) is a row of missing cells. Text is
UTF-8; bytes that are not stay what they are. What a record is: dpkit/data/tables/csv_records.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpkit.contracts.table import Batch, Cells
from dpkit.data.tables.csv_arrow import plain_cells
from dpkit.data.tables.csv_records import RecordRun, beginnings, runs_of, split
from dpkit.data.tables.objects import objects
from dpkit.errors import SourceError


class CsvTable:
    """CSV files with a header each; all have the columns of the first."""

    def __init__(self, paths: Sequence[str], *, delimiter: str = ",") -> None:
        if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
            raise SourceError(source="CSV", reason=f"the delimiter {delimiter!r} is not a single character.")
        if "\ud800" <= delimiter <= "\udfff":
            raise SourceError(source="CSV", reason=f"the delimiter {delimiter!r} cannot be written in UTF-8.")
        self._paths = tuple(paths)
        self._delimiter = delimiter
        headers = [self._header(path) for path in self._paths]
        self._names = headers[0]
        self._repeated = frozenset(name for name, count in Counter(self._names).items() if count > 1)
        for path, names in zip(self._paths, headers, strict=True):
            if sorted(names) != sorted(self._names):
                raise SourceError(source=path, reason=f"its header is not that of {self._paths[0]}.")

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in order."""
        return self._paths

    @property
    def names(self) -> tuple[str, ...]:
        """The cells of the header that name one column. Whether it is a header, or a first record, is not known here."""
        return tuple(name for name in self._names if name not in self._repeated)

    @property
    def repeated(self) -> frozenset[str]:
        """The cells of the header that stand there more than once, and name nothing."""
        return self._repeated

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The records, in the order of files and of their places there."""
        for path in self._paths:
            header = self._header(path)
            yield from CsvPiece(path=path, names=header, delimiter=self._delimiter).batches(names, rows)

    def pieces(self, size: int) -> tuple[CsvPiece, ...]:
        """Whole records, about `size` bytes of them a piece. Each file is read once, to see where records begin."""
        found = []
        for path in self._paths:
            header = self._header(path)
            starts = beginnings(path, self._delimiter, size)
            for start, stop in zip(starts, [*starts[1:], None], strict=True):
                piece = CsvPiece(path=path, names=header, delimiter=self._delimiter, start=start, stop=stop)
                found.append(piece)
        return tuple(found)

    def _header(self, path: str) -> tuple[str, ...]:
        first = next(runs_of(path, self._delimiter), None)
        record = None if first is None else first.records()[0]
        names = None if record is None else split(record, self._delimiter)
        if not names or not any(names):
            raise SourceError(source=path, reason="it has no header line.", fix="Its first line must name the columns.")
        if record is not None and b"\r" in record.replace(b"\r\n", b""):
            fix = "Lines end in LF or CRLF; write it again with one of them."
            raise SourceError(source=path, reason="a carriage return that ends no line is in its header.", fix=fix)
        return tuple(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvPiece:
    """The records of one file from one place to another, at both of which a record begins.

    It holds no row: it can be pickled and read elsewhere.
    """

    path: str
    names: tuple[str, ...] = field(repr=False)
    delimiter: str
    start: int = 0
    stop: int | None = None

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The records, in order."""
        places = [self.names.index(name) for name in names]
        runs = runs_of(self.path, self.delimiter, self.start, self.stop)
        for group in _grouped(runs, rows, skipping=1 if self.start == 0 else 0):  # the header
            yield self._batch(group, names, places) if names else Batch(rows=len(group), cells={})

    def _batch(self, raw: list[bytes | None], names: Sequence[str], places: list[int]) -> Batch:
        """Records as cells; None stands for one that was too long."""
        plain = plain_cells(raw, self.delimiter, len(self.names), places)
        if plain is not None:
            found = {name: Cells(values=objects(cells)) for name, cells in zip(names, plain, strict=True)}
            return Batch(rows=len(raw), cells=found)
        records: list[list[str]] = []
        malformed = np.zeros(len(raw), dtype=np.bool_)
        width = len(self.names)
        empty = [""] * width
        for number, record in enumerate(raw):
            cells = None if record is None else split(record, self.delimiter)
            if cells is None or len(cells) != width:
                malformed[number] = True
                cells = empty
            records.append(cells)
        mask = malformed if malformed.any() else None
        columns = {
            name: Cells(values=objects([cells[place] for cells in records]), missing=mask)
            for name, place in zip(names, places, strict=True)
        }
        return Batch(rows=len(raw), cells=columns)


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
