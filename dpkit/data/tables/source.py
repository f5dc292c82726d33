"""The source that engines read: a table, its schema, the privacy unit and the neighbour relation; and its parts."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from dpkit.contracts.engine import Closing
from dpkit.contracts.query import Block, Query
from dpkit.contracts.table import Batch, DivisibleTable, OfFiles, OfFloat32, Table
from dpkit.data.columns.bounding import KEY_BYTES, kept_rows
from dpkit.data.columns.cells import read_texts
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.setting import DeclaredSetting
from dpkit.data.tables.read_ahead import read_ahead
from dpkit.data.without_warnings import quietly
from dpkit.errors import DpkitError, PrivateFactError, SourceError, kind_of
from dpkit.privacy.neighbours import Distance, Neighbours

ROWS_OF_A_SCAN = 1 << 14
"""How many rows are read at once where no engine says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounding:
    """At most `at_most` rows of each person that a column names, chosen by a secret key (dpkit/data/columns/bounding.py)."""

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


class DataSource:
    """Rows as codes within declared bounds, with a limit on those of one person. It prices queries without reading a row."""

    def __init__(
        self,
        *,
        table: Table,
        schema: Schema,
        unit: PrivacyUnit,
        neighbours: Neighbours,
        in_memory: bool = False,
        key: bytes | None = None,
    ) -> None:
        self.schema = schema
        self.unit = unit
        self.neighbours = neighbours
        self.columns = schema.names
        self.setting = DeclaredSetting(schema=schema, neighbours=neighbours, unit=unit)
        """What is declared: a plan for anything else is a plan for other data."""
        self.is_in_memory = in_memory
        """Whether the codes are kept in memory after the first pass."""
        self._table = table
        self._whole = SourcePart(table=table, schema=schema)
        self._key = secrets.token_bytes(KEY_BYTES) if key is None else key
        self._kept: npt.NDArray[np.bool_] | None = None
        self._codes: Block | None = None
        self._read_stamp = ""
        self._counted: tuple[str, int] | None = None
        self.watch: Callable[[int], None] | None = None
        """Told how many rows were read, block by block, where somebody looks and their number is public."""

    def __repr__(self) -> str:
        return f"DataSource(columns={self.columns}, unit={self.unit}, neighbours={self.neighbours})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a source holds data and does not leave its process")

    def in_memory(self) -> DataSource:
        """The same source, whose codes are kept after the first pass; the same rows of each person are used."""
        source = DataSource(
            table=self._table,
            schema=self.schema,
            unit=self.unit,
            neighbours=self.neighbours,
            in_memory=True,
            key=self._key,
        )
        source.watch = self.watch
        return source

    @property
    def float32_names(self) -> frozenset[str]:
        """The columns whose numbers, by the types of the table, a float32 holds exactly."""
        return self._table.float32_names if isinstance(self._table, OfFloat32) else frozenset()

    @property
    def stamp(self) -> str:
        """A digest, equal while the files of the data are; empty for a table that names none, of which nothing can be told."""
        paths: object = self._table.paths if isinstance(self._table, OfFiles) else None
        if not isinstance(paths, tuple) or not paths:
            return ""
        try:
            seen = [(os.path.basename(path), os.stat(path).st_mtime_ns) for path in map(os.fspath, paths)]
        except (OSError, TypeError):
            return ""
        return hashlib.sha256(json.dumps(seen).encode("ascii")).hexdigest()

    def sample(self, columns: Sequence[str]) -> Block:
        """Made-up rows within the declared bounds."""
        return self.schema.sample(columns)

    def distances(self, query: Query) -> tuple[Distance, ...]:
        """By how much a neighbouring dataset can move the query's total, under this unit, relation and these policies."""
        return self.setting.distances(query)

    def public_rows(self) -> int:
        """How many rows there are, where that is public: replace-one with a row as the unit. Dropped rows count."""
        if not self.unit.knows_size(self.neighbours):
            unit = "rows of a person are bounded" if self.unit.column is not None else f"neighbours are {self.neighbours}"
            raise PrivateFactError(fact="The number of rows", reason=f"{unit}.", fix="Release a count, and pay for it.")
        stamp, kind = self.stamp, ""
        if self._counted is not None and self._counted[0] == stamp:
            return self._counted[1]
        try:
            with quietly():
                self._counted = stamp, self._whole.count()
                return self._counted[1]
        except (DpkitError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - what a plugin's table raises may quote a row
            kind = kind_of(error)
        raise SourceError(source="the data", reason=f"its rows cannot be counted ({kind}).")

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        """Every row that is kept, as codes of these columns."""
        names = [column.name for column in self.schema.select(columns)]
        if not self.is_in_memory:
            yield from self._read(names, rows)
            return
        if self._codes is None:
            nothing = np.zeros((0, len(self.columns)))
            self._codes = np.concatenate([nothing, *self._read(self.columns, ROWS_OF_A_SCAN)])
            self._codes.flags.writeable = False
        places = [self.columns.index(name) for name in names]
        all_in_order = places == list(range(len(self.columns)))
        for start in range(0, self._codes.shape[0], rows):
            part = self._codes[start : start + rows]
            yield part if all_in_order else part[:, places]

    @property
    def bounding(self) -> Bounding | None:
        """How the rows of each person are bounded; None when each row stands for itself."""
        if self.unit.column is None:
            return None
        return Bounding(column=self.unit.column, at_most=self.unit.at_most, key=self._key)

    def parts(self, size: int) -> tuple[SourcePart, ...]:
        """All rows, in parts of about `size` bytes that hold none of them, before contributions are bounded.

        `SourceError` where the rows are in the memory of this process: they would have to be sent.
        """
        if not isinstance(self._table, DivisibleTable):
            raise SourceError(
                source="the data in parts",
                reason="its rows are in the memory of this process, and no row is sent anywhere.",
                fix="Write them to Parquet or CSV where every worker can read them, or use the engine `blocks`.",
            )
        return tuple(SourcePart(table=piece, schema=self.schema) for piece in self._table.pieces(size))

    def _read(self, names: Sequence[str], rows: int) -> Iterator[Block]:
        self.confirm_unchanged()
        bounding = self.bounding
        if bounding is not None and self._kept is None:  # decided once for all passes
            persons = partial(self._whole.persons, bounding.column)
            self._kept = kept_rows(persons, self._whole.count(), at_most=bounding.at_most, key=bounding.key)
        blocks = read_ahead(self._whole.blocks(names, rows, kept=self._kept))
        yield from blocks if self.watch is None else map(self._told, blocks)
        self.confirm_unchanged()

    def _told(self, block: Block) -> Block:
        assert self.watch is not None
        self.watch(block.shape[0])
        return block

    def confirm_unchanged(self) -> None:
        """Refuse files that changed since they were first read: which rows of each person are used was chosen by their places
        then, and columns that are read in different passes belong to the same rows.
        """
        now = self.stamp
        self._read_stamp = self._read_stamp or now
        if now and now != self._read_stamp:
            raise SourceError(
                source="the data",
                reason="its files have changed since they were first read.",
                fix="Keep files as they are while an analysis runs, and run it again.",
            )
