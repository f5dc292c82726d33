"""The source interfaces: tables of raw cells, which sources of data implement, and blocks of codes, which engines read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpkit.contracts.query import Block
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """A column of some rows, as it was found: any dtype. `missing` marks cells that hold nothing. Its repr shows no value.

    A source that knows which values repeat may say so: `values` is `distinct[places]`. Cells are read each on its own, so then
    the distinct ones are read, and nothing else changes.
    """

    values: npt.NDArray[np.generic] = field(repr=False)
    missing: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    distinct: npt.NDArray[np.generic] | None = field(default=None, repr=False)
    places: npt.NDArray[np.integer] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """A number of rows, as cells by column name."""

    rows: int = field(repr=False)
    cells: Mapping[str, Cells] = field(repr=False)


@runtime_checkable
class Table(Protocol):
    """What a source of data implements (CSV, Parquet, a frame, a plugin's own). Its names are public, its cells are not.

    What is wrong with a table as a whole (no such file, no such column) raises when it is opened. Reading rows never raises
    because of what a cell holds: a row that cannot be understood is a row of missing cells.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """Every row, at most `rows` at a time, these columns only; the same rows in the same order each time."""


@runtime_checkable
class DivisibleTable(Table, Protocol):
    """A table that can also be read in pieces, by other processes. What is in memory here is not: it would be sent."""

    def pieces(self, size: int) -> Sequence[Table]:
        """Tables of about `size` bytes each, which together hold every row once, in order.

        A piece says where its rows are and holds none of them, so that it can be pickled and read wherever its place is known.
        """


@runtime_checkable
class Source(Protocol):
    """Rows that are fit for queries: declared columns as float64 codes within declared bounds.

    What it may offer beside: `InMemory`, `KnowsMissing`, and what an engine may (`DeclaresSetting`, `CountsRows`, `Closing`).
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns, in order."""

    def sample(self, columns: Sequence[str]) -> Block:
        """A few made-up rows within the declared bounds, for a dry run: no data."""

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        """Every row, at most `rows` at a time, as codes of these columns in this order.

        NaN is the code of a cell whose row contributes zero to a query that reads the column; every other code is finite.
        """


@runtime_checkable
class OfFiles(Protocol):
    """A table that reads files: a ledger then notices when a run would go on with other data than it began with."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in order."""


@runtime_checkable
class OfFloat32(Protocol):
    """A table that knows columns, by their types, whose numbers a float32 holds exactly; caches keep them in half the space."""

    @property
    def float32_names(self) -> frozenset[str]:
        """The names of these columns."""


@runtime_checkable
class InMemory(Protocol):
    """A source that may hold its codes in memory: an engine then takes larger blocks."""

    @property
    def is_in_memory(self) -> bool:
        """Whether it does."""


@runtime_checkable
class KnowsMissing(Protocol):
    """A source that may know, of codes that stay as they are, that none is NaN: an engine then need not look in each pass."""

    @property
    def is_complete(self) -> bool:
        """Whether it knows that."""
