"""The source that engines read: a table, its schema, the privacy unit and the neighbour relation; and its parts."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from itertools import compress

import numpy as np
import numpy.typing as npt

from dpkit.contracts.engine import Closing
from dpkit.contracts.private_keys import KeyHolders
from dpkit.contracts.query import Block, Query
from dpkit.contracts.table import Batch, DivisibleTable, OfFiles, OfFloat32, Table
from dpkit.data.columns.bounding import KEY_BYTES, kept_rows
from dpkit.data.columns.cells import read_names
from dpkit.data.columns.count_key_holders import count_key_holders
from dpkit.data.columns.kinds import cell_of, encoded
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.setting import DeclaredSetting
from dpkit.data.tables.arrays import ColumnsTable
from dpkit.data.tables.read_ahead import read_ahead
from dpkit.data.without_warnings import quietly
from dpkit.errors import DpkitError, PrivateFactError, SourceError, kind_of
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

ROWS_OF_A_SCAN = 1 << 14
"""How many rows are read at once where no engine says how many."""
_CELLS_OF_A_SCAN = 1 << 18
"""The most cells that are read at once. Few columns have longer batches: each batch reads its different texts anew."""


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
        """Every row that is used, from at most `rows` at a time; with `kept`, one truth value a row, only those."""
        for _, block in self.counted_blocks(columns, rows, kept=kept):
            yield block

    def counted_blocks(
        self, columns: Sequence[str], rows: int, *, kept: npt.NDArray[np.bool_] | None = None, into: Block | None = None
    ) -> Iterator[tuple[int, Block]]:
        """The same, each with the number of rows that were read for it; made in `into` where that saves a copy."""
        names = [column.name for column in self.schema.select(columns)]
        start = 0
        for batch in self.batches(self.schema.cells_of(self.schema.reads(names, where=kept is None)), rows):
            used = None if kept is None else kept[start : start + batch.rows]
            place = None if into is None else into[start : start + batch.rows]
            yield batch.rows, self.schema.encode(batch, names, used=used, into=place)
            start += batch.rows

    def count(self) -> int:
        """How many rows there are."""
        return sum(batch.rows for batch in self.batches((), ROWS_OF_A_SCAN))

    def persons(self, column: str) -> Iterator[tuple[list[str | None], Block]]:
        """Every row, batch by batch: whose it is, and the codes of all columns of the table. A row that is not used, because
        a condition does not hold, is nobody's: contributions are bounded among the rows that are.
        """
        for batch in self.batches(tuple(dict.fromkeys((*self.schema.cells, column))), ROWS_OF_A_SCAN):
            names, used = read_names(batch.cells[column]), self.schema.used_rows(batch)
            if used is not None:
                names = [name if there else None for name, there in zip(names, used.tolist(), strict=True)]
            yield names, np.stack([encoded(found, batch.cells[cell_of(found)]) for found in self.schema.columns], axis=1)

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
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
        root: DataSource | None = None,
    ) -> None:
        self.schema = schema
        self.unit = unit
        self.neighbours = neighbours
        self.columns = schema.names
        self.setting = DeclaredSetting(schema=schema, neighbours=neighbours, unit=unit)
        """What is declared: a plan for anything else is a plan for other data."""
        self.is_in_memory: bool = in_memory or (root is not None and root.is_in_memory)
        """Whether the codes are kept in memory after the first pass."""
        self.is_complete: bool = False
        """Whether it is known, of codes that are kept, that none is missing."""
        self._keeps = in_memory
        self._root = root
        self._kept_twin: DataSource | None = None
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
        """The same source, whose codes are kept after the first pass; the same rows of each person are used.

        All views of one source share what is kept.
        """
        if self._root is not None:
            return self._root.in_memory().view(self.schema)
        if self._kept_twin is None:
            self._kept_twin = DataSource(
                table=self._table,
                schema=self.schema,
                unit=self.unit,
                neighbours=self.neighbours,
                in_memory=True,
                key=self._key,
            )
        self._kept_twin.watch = self.watch
        return self._kept_twin

    def view(self, schema: Schema) -> DataSource:
        """The same data with more derived columns, and fewer rows where more conditions must hold.

        Its blocks are computed from those of this source. Only where persons are the unit and there are more conditions, the
        table is read again: which rows of a person are used is decided among those for which the conditions hold.
        """
        shared = self.unit.column is None or schema.where == self.schema.where
        found = DataSource(
            table=self._table,
            schema=schema,
            unit=self.unit,
            neighbours=self.neighbours,
            in_memory=self.is_in_memory and not shared,
            key=self._key,
            root=self if shared else None,
        )
        found.watch = None if shared else self.watch
        return found

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

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are read; none for a table that names none."""
        found: object = self._table.paths if isinstance(self._table, OfFiles) else ()
        return tuple(map(os.path.abspath, found)) if isinstance(found, tuple) else ()

    def contents(self) -> bytes:
        """A digest of everything that a query can see: the codes of every row, and whose row it is.

        It depends on each row. It must not leave this process: it tells the same data from other data, and is not shown.
        """
        found, kind = hashlib.sha256(repr((self.schema, self.unit)).encode()), ""
        try:
            with quietly():
                if self.unit.column is None:
                    for block in self.blocks(self.columns, ROWS_OF_A_SCAN):
                        found.update(np.ascontiguousarray(block).tobytes())
                else:
                    for persons, block in self._whole.persons(self.unit.column):
                        found.update(json.dumps(persons).encode("ascii"))
                        found.update(block.tobytes())
            return found.digest()
        except (DpkitError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - what a plugin's table raises may quote a row
            kind = kind_of(error)
        raise SourceError(source="the data", reason=f"its rows cannot be read ({kind}).")

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
        if self._root is not None:
            return self._root.public_rows()
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
        if self._root is not None:
            yield from self._of_root(self._root, names, rows)
            return
        if not self._keeps:
            yield from self._read(names, rows)
            return
        if self._codes is None:
            self._codes = self._every_code()
            self._codes.flags.writeable = False
        places = [self.columns.index(name) for name in names]
        all_in_order = places == list(range(len(self.columns)))
        for start in range(0, self._codes.shape[0], rows):
            part = self._codes[start : start + rows]
            yield part if all_in_order else part[:, places]

    def _every_code(self) -> Block:
        """All rows that are kept; where it is known how many there may be, blocks go to their place as they are read."""
        rows = max(ROWS_OF_A_SCAN, _CELLS_OF_A_SCAN // max(4, len(self.columns)))
        if not isinstance(self._table, ColumnsTable):
            return np.concatenate([np.zeros((0, len(self.columns))), *self._read(self.columns, rows)])
        found, filled = np.empty((len(self._table), len(self.columns))), 0
        is_complete = True
        for block in self._read(self.columns, rows, into=found):  # no thread: nothing is waited for, and nothing done meanwhile
            if block.base is not found:
                found[filled : filled + len(block)] = block
            filled += len(block)
            is_complete = is_complete and not math.isnan(np.min(block, initial=0.0))
        self.is_complete = is_complete
        return found[:filled]

    def _of_root(self, root: DataSource, names: Sequence[str], rows: int) -> Iterator[Block]:
        """Blocks of a view, from those of the source that it is a view of."""
        wanted = self.schema.reads(names, given=root.schema) or root.columns[:1]
        for block in root.blocks(wanted, rows):
            codes = {name: np.ascontiguousarray(block[:, place]) for place, name in enumerate(wanted)}
            yield self.schema.block(codes, block.shape[0], names, after=len(root.schema.where))

    def key_holders(self, column: str) -> KeyHolders:
        """Which texts a column holds, and how many people hold each: of the rows that are used."""
        (declared,) = self.schema.select((column,))
        return count_key_holders(self._texts(cell_of(declared)), at_most=self.unit.at_most, key=self._key)

    def _texts(self, cell: str) -> Iterator[tuple[list[str | None] | None, list[str | None]]]:
        """For each row that is used: the person that it belongs to, and its text."""
        self.confirm_unchanged()
        kept, start, person = self._kept_rows(), 0, self.unit.column
        decides = self.schema.cells_of(self.schema.reads(())) if kept is None else ()
        needed = tuple(dict.fromkeys((cell, *decides, *(() if person is None else (person,)))))
        for batch in self._whole.batches(needed, ROWS_OF_A_SCAN):
            used = self.schema.used_rows(batch) if kept is None else kept[start : start + batch.rows]
            texts = read_names(batch.cells[cell])
            whose = None if person is None else read_names(batch.cells[person])
            if used is not None:
                texts = list(compress(texts, used.tolist()))
                whose = None if whose is None else list(compress(whose, used.tolist()))
            yield whose, texts
            start += batch.rows
        self.confirm_unchanged()

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

    def _read(self, names: Sequence[str], rows: int, *, into: Block | None = None) -> Iterator[Block]:
        self.confirm_unchanged()
        found = self._whole.counted_blocks(names, rows, kept=self._kept_rows(), into=into)
        is_one_block = isinstance(self._table, ColumnsTable) and len(self._table) <= rows  # a thread would cost more
        for read, block in found if is_one_block or into is not None else read_ahead(found):
            if self.watch is not None:
                self.watch(read)
            yield block
        self.confirm_unchanged()

    def _kept_rows(self) -> npt.NDArray[np.bool_] | None:
        """Which rows are used of each person, decided once for all passes; None when each row stands for itself."""
        bounding = self.bounding
        if bounding is not None and self._kept is None:
            persons = partial(self._whole.persons, bounding.column)
            self._kept = kept_rows(persons, self._whole.count(), at_most=bounding.at_most, key=bounding.key)
        return self._kept

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
