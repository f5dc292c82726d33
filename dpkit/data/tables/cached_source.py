"""A source whose codes are kept in private files from the first pass on, so that later passes need not read the data again.

The files have no name, so nobody else can open them and nothing of them survives the process, however that ends. They are read
block by block and not mapped, so that they count towards no limit of memory. Totals are the same bits with and without.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, Literal

import numpy as np
import numpy.typing as npt

from dpkit.contracts.private_keys import KeyHolders
from dpkit.contracts.query import Block
from dpkit.data.columns.kinds import exact_in_float32
from dpkit.data.setting import DeclaredSetting
from dpkit.data.tables.read_ahead import read_ahead
from dpkit.data.tables.source import DataSource
from dpkit.errors import SourceError

Cells = Literal["float64", "float32"]


class CachedSource:
    """A source over another one. With `float32`, columns whose codes a float32 holds exactly take half the room.

    A full disk, or too many open files, cost time and no release that is paid for: what was kept is given up, which the log
    says, and the data is read.
    """

    def __init__(self, source: DataSource, *, cells: Cells = "float64", folder: str | None = None) -> None:
        self._source = source
        self._folder = folder
        self._stored: dict[str, _StoredColumn] = {}
        self._rows: int | None = None
        self._is_full = False
        narrow = source.float32_names if cells == "float32" else frozenset()
        self._short = {
            column.name: cells == "float32" and exact_in_float32(column, narrow=column.name in narrow)
            for column in source.schema.every
        }
        try:
            tempfile.TemporaryFile(dir=folder).close()  # refused now rather than after a charge
        except OSError as error:
            reason = f"no private file can be made in {folder or 'the folder for temporary files'}."
            raise SourceError(source="the cache", reason=reason, fix=f"{error.strerror}: choose another `folder`.") from None

    def __repr__(self) -> str:
        return f"CachedSource({self._source!r}, stored={tuple(self._stored)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a source holds data and does not leave its process")

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns, in order."""
        return self._source.columns

    @property
    def setting(self) -> DeclaredSetting:
        """What the source declares."""
        return self._source.setting

    def key_holders(self, column: str) -> KeyHolders:
        """Which texts a column holds, and how many people hold each: read from the data, since codes are no texts."""
        return self._source.key_holders(column)

    def public_rows(self) -> int:
        """How many rows there are, where that is public."""
        return self._source.public_rows()

    def sample(self, columns: Sequence[str]) -> Block:
        """Made-up rows within the declared bounds."""
        return self._source.sample(columns)

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        """Every row that is kept, as codes of these columns: from the files where all of them are there."""
        names = [column.name for column in self._source.schema.select(columns)]
        if all(name in self._stored for name in names):
            return read_ahead(self._read(names, rows))
        return self._source.blocks(names, rows) if self._is_full else self._read_and_store(names, rows)

    def close(self) -> None:
        """Give up the files; what they held is gone."""
        for stored in self._stored.values():
            stored.close()
        self._stored, self._rows = {}, None

    def _read(self, names: Sequence[str], rows: int) -> Iterator[Block]:
        stored = [self._stored[name] for name in names]
        for start in range(0, self._rows or 0, rows):
            count = min(rows, (self._rows or 0) - start)
            block = np.empty((count, len(names)))
            for place, column in enumerate(stored):
                block[:, place] = column.read(start, count)
            yield block

    def _read_and_store(self, names: Sequence[str], rows: int) -> Iterator[Block]:
        missing = [name for name in names if name not in self._stored]
        fresh: dict[str, _StoredColumn] = {}
        total, complete = 0, False
        try:
            self._make(missing, fresh)
            for block in self._source.blocks(names, rows):
                if not self._is_full:
                    self._store(block, names, fresh)
                total += block.shape[0]
                yield block
            complete = not self._is_full
        finally:
            if complete and self._rows in (None, total):
                self._stored |= fresh
                self._rows = total
            else:
                for column in fresh.values():
                    column.close()

    def _make(self, missing: Sequence[str], fresh: dict[str, _StoredColumn]) -> None:
        try:
            for name in missing:
                fresh[name] = _StoredColumn(is_short=self._short[name], folder=self._folder)
        except OSError as error:  # as many files as a process may open, say
            self._give_up(error)

    def _store(self, block: Block, names: Sequence[str], fresh: dict[str, _StoredColumn]) -> None:
        try:
            for name, column in fresh.items():
                column.append(block[:, names.index(name)])
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._is_full = True
        self.close()
        said = "The cache was given up (%s): every pass reads the data."
        logging.getLogger("dpkit").warning(said, error.strerror or type(error).__name__)


class _StoredColumn:
    """The codes of one column in a private file without a name."""

    def __init__(self, *, is_short: bool, folder: str | None) -> None:
        self._type = np.float32 if is_short else np.float64
        self._size = np.dtype(self._type).itemsize
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder, prefix="dpkit-", buffering=0)  # noqa: SIM115 - it stays open

    def append(self, codes: Block) -> None:
        rest = codes.astype(self._type).tobytes()
        while rest:
            rest = rest[os.write(self._file.fileno(), rest) :]

    def read(self, start: int, count: int) -> npt.NDArray[np.generic]:
        found = b""
        while missing := self._size * count - len(found):
            part = os.pread(self._file.fileno(), missing, self._size * start + len(found))
            if not part:
                raise EOFError
            found = found + part if found else part
        return np.frombuffer(found, dtype=self._type)

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()
