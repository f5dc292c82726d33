"""CSV files: one line is one record, read on its own.

A quoted cell may hold delimiters and doubled quotes, but no line ends: otherwise a single stray quote would swallow the
records after it, and one record could move everything. A line that does not fit (too few or too many cells, a quote that does
not close, too long) is a record of missing cells. Text is UTF-8; bytes that are not become replacement characters.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from dpkit.core.source import Batch, Cells
from dpkit.data.csv_arrow import plain_cells
from dpkit.data.objects import objects
from dpkit.errors import SourceError, raise_alone

LONGEST_LINE = 1 << 20
"""A longer line is not kept in memory: its record is malformed."""

_CHUNK = 1 << 20


class CsvTable:
    """CSV files with a header line each; all have the columns of the first."""

    def __init__(self, paths: Sequence[str], *, delimiter: str = ",") -> None:
        if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
            raise SourceError(source="CSV", reason=f"the delimiter {delimiter!r} is not a single character.")
        self._paths = tuple(paths)
        self._delimiter = delimiter
        headers = [self._header(path) for path in self._paths]
        self._names = headers[0]
        for path, names in zip(self._paths, headers, strict=True):
            if set(names) != set(self._names):
                raise SourceError(source=path, reason=f"its header is not that of {self._paths[0]}.")

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in order."""
        return self._paths

    @property
    def names(self) -> tuple[str, ...]:
        """The cells of the header."""
        return self._names

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The records, in the order of files and lines."""
        for path in self._paths:
            header = self._header(path)
            yield from CsvPiece(path=path, names=header, delimiter=self._delimiter).batches(names, rows)

    def pieces(self, size: int) -> tuple[CsvPiece, ...]:
        """Ranges of `size` bytes; a line belongs to the range in which it begins."""
        found = []
        for path in self._paths:
            header = self._header(path)
            for start in range(0, max(1, os.path.getsize(path)), size):
                piece = CsvPiece(path=path, names=header, delimiter=self._delimiter, start=start, stop=start + size)
                found.append(piece)
        return tuple(found)

    def _header(self, path: str) -> tuple[str, ...]:
        line = next(_lines(path), None)
        names = None if line is None else _split(_text(line).removeprefix("\ufeff"), self._delimiter)
        if not names or not any(names):
            raise SourceError(source=path, reason="it has no header line.", fix="Its first line must name the columns.")
        if len(set(names)) != len(names):
            raise SourceError(source=path, reason="two columns of its header have the same name.")
        return tuple(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvPiece:
    """The records of one file that begin in a range of bytes. It holds no row: it can be pickled and read elsewhere."""

    path: str
    names: tuple[str, ...]
    delimiter: str
    start: int = 0
    stop: int | None = None

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The records, in order."""
        lines = _lines(self.path, self.start, self.stop)
        if self.start == 0:
            next(lines, None)  # the header
        places = [self.names.index(name) for name in names]
        for group in _grouped(lines, rows):
            yield self._batch(group, names, places) if names else Batch(rows=len(group), cells={})

    def _batch(self, lines: list[bytes | None], names: Sequence[str], places: list[int]) -> Batch:
        """Lines as cells; None stands for a line that was too long."""
        plain = plain_cells(lines, self.delimiter, len(self.names), places)
        if plain is not None:
            found = {name: Cells(values=objects(cells)) for name, cells in zip(names, plain, strict=True)}
            return Batch(rows=len(lines), cells=found)
        records: list[list[str]] = []
        malformed = np.zeros(len(lines), dtype=np.bool_)
        width = len(self.names)
        empty = [""] * width
        for number, line in enumerate(lines):
            cells = None if line is None else _split(_text(line), self.delimiter)
            if cells is None or len(cells) != width:
                malformed[number] = True
                cells = empty
            records.append(cells)
        mask = malformed if malformed.any() else None
        columns = {
            name: Cells(values=objects([record[place] for record in records]), missing=mask)
            for name, place in zip(names, places, strict=True)
        }
        return Batch(rows=len(lines), cells=columns)


def _split(line: str, delimiter: str) -> list[str] | None:
    """The cells of one line; None where its quotes do not make sense."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        records = list(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return records[0] if len(records) == 1 else None


def _grouped(lines: Iterator[bytes | None], count: int) -> Iterator[list[bytes | None]]:
    group: list[bytes | None] = []
    for line in lines:
        group.append(line)
        if len(group) == count:
            yield group
            group = []
    if group:
        yield group


def _lines(path: str, start: int = 0, stop: int | None = None) -> Iterator[bytes | None]:
    """Every line that begins in a range of bytes, without its end; None for one that is too long.

    A line end closes a line, it does not open another.
    """
    try:
        with open(path, "rb") as file:
            yield from _lines_of(file, start, stop)
    except FileNotFoundError:
        raise_alone(SourceError(source=path, reason="there is no such file."))
    except OSError as error:
        raise_alone(SourceError(source=path, reason=f"{error.strerror or 'it cannot be read'}."))


def _lines_of(file: BinaryIO, start: int, stop: int | None) -> Iterator[bytes | None]:
    if start > 0:
        file.seek(start - 1)  # the line that holds this byte, be it a line end, begins before the range
    skipping = start > 0
    begins = max(0, start - 1)
    rest, cut = b"", 0  # of the line at `begins`: its bytes so far, and how many were too many to keep
    while chunk := file.read(_CHUNK):
        *complete, rest = (rest + chunk).split(b"\n")
        for line in complete:
            if not skipping:
                if stop is not None and begins >= stop:
                    return
                yield None if cut or len(line) > LONGEST_LINE else line.removesuffix(b"\r")
            skipping = False
            begins += cut + len(line) + 1
            cut = 0
        if len(rest) > LONGEST_LINE:
            cut += len(rest)
            rest = b""
    if (cut or rest) and not skipping and (stop is None or begins < stop):
        yield None if cut else rest.removesuffix(b"\r")


def _text(line: bytes) -> str:
    # bytes that are no UTF-8 stay what they are: two persons whose names are spelt in Latin-1 are two persons
    return line.decode("utf-8", errors="surrogateescape")
