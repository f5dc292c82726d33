"""Arrow tables and Parquet files, by batches: only the columns that are needed, only some rows at a time. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.cells import objects
from dpkit.data.tables.files import no_such_file
from dpkit.errors import MissingExtraError, SourceError, raise_alone
from dpkit.values import dataclass

_NARROW = ("float", "halffloat", "int8", "int16", "uint8", "uint16", "bool")
"""What Arrow calls the types of which every value is a float32."""

_BUFFER = 1 << 18
"""How much of a column is read from a Parquet file at once, in bytes."""


class ArrowTable:
    """A pyarrow.Table, or a RecordBatch, in memory."""

    def __init__(self, table: Any) -> None:
        self.names = _distinct(table.schema.names, source="the Arrow table")
        self._table = table

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of the table."""
        with _whatever_it_says("the Arrow table"):
            for start in range(0, self._table.num_rows, rows):
                part = self._table.slice(start, rows)
                yield Batch(rows=part.num_rows, cells={name: _cells(part.column(name)) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetPiece:
    """Some row groups of one Parquet file, or all of them. It holds no row: it can be pickled and read elsewhere."""

    path: str
    names: tuple[str, ...]
    groups: tuple[int, ...] | None = None

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """Batches of these row groups, in order."""
        with _parquet(self.path) as file:
            groups = range(file.metadata.num_row_groups) if self.groups is None else self.groups
            if not names:  # only how many rows there are, which the footer says
                total = sum(file.metadata.row_group(group).num_rows for group in groups)
                yield from (Batch(rows=count, cells={}) for count in _pieces(total, rows))
                return
            for part in file.iter_batches(batch_size=rows, row_groups=list(groups), columns=list(names)):
                yield Batch(rows=part.num_rows, cells={name: _cells(part.column(name)) for name in names})


class ParquetTable:
    """Parquet files, read row group by row group in order; all have the columns of the first."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        schemas = []
        narrow: set[str] | None = None
        for path in self.paths:
            with _parquet(path) as file:
                schemas.append(_distinct(file.schema_arrow.names, source=path))
                mine = {field.name for field in file.schema_arrow if str(field.type) in _NARROW}
                narrow = mine if narrow is None else narrow & mine
        self.float32_names = frozenset(narrow or ())
        """The columns whose type, in every file, is one that a float32 holds exactly."""
        self.names = schemas[0]
        for path, names in zip(self.paths, schemas, strict=True):
            if set(names) != set(self.names):
                raise SourceError(source=path, reason=f"its columns are not those of {self.paths[0]}.")

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """Batches of the files, in order."""
        for path in self.paths:
            yield from ParquetPiece(path=path, names=self.names).batches(names, rows)

    def pieces(self, size: int) -> tuple[ParquetPiece, ...]:
        """Row groups that stand side by side in one file, of about `size` bytes together; one may be larger."""
        found = []
        for path in self.paths:
            with _parquet(path) as file:
                sizes = [file.metadata.row_group(group).total_byte_size for group in range(file.metadata.num_row_groups)]
            found += [ParquetPiece(path=path, names=self.names, groups=groups) for groups in _grouped(sizes, size)]
        return tuple(found)


def arrow_table(data: object) -> ArrowTable | None:
    """The table of an Arrow table or record batch; None for anything else."""
    kind = type(data)
    if kind.__module__.partition(".")[0] == "pyarrow" and kind.__name__ in ("Table", "RecordBatch"):
        return ArrowTable(data)
    return None


def arrow_cells(data: object) -> Cells | None:
    """The cells of an Arrow array; None for anything else."""
    kind = type(data)
    if kind.__module__.partition(".")[0] == "pyarrow" and kind.__name__.endswith("Array"):
        return _cells(data)
    return None


def _pieces(total: int, rows: int) -> Iterator[int]:
    for start in range(0, total, rows):
        yield min(rows, total - start)


def _grouped(sizes: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Neighbouring places whose sizes add up to at most `most`, or that are larger alone."""
    group: list[int] = []
    total = 0
    for place, size in enumerate(sizes):
        if group and total + size > most:
            yield tuple(group)
            group, total = [], 0
        group.append(place)
        total += size
    if group:
        yield tuple(group)


@contextmanager
def _parquet(path: str) -> Iterator[Any]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError(package="pyarrow", purpose="Reading Parquet", extra="arrow") from None
    # a buffer, so that a column chunk is not held as a whole, however large the row groups are
    with _whatever_it_says(path), parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        yield file


@contextmanager
def _whatever_it_says(source: str) -> Iterator[None]:
    """pyarrow's own messages may quote what it was reading: they are replaced, and not chained."""
    import pyarrow

    try:
        yield
    except FileNotFoundError:
        raise_alone(no_such_file(source))
    except (pyarrow.ArrowException, OSError):
        raise_alone(SourceError(source=source, reason="it is not readable as what its name or type says."))


def _distinct(names: Sequence[str], *, source: str) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise SourceError(source=source, reason="two of its columns have the same name.")
    return tuple(names)


def _cells(column: Any) -> Cells:
    """A column as numpy holds it. Nulls are masked; what is neither number nor text becomes Python's objects."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # too much text for one array
            column = pa.concat_arrays(column.chunks) if column.num_chunks == 1 else pa.array(column.to_pylist())
    missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
    mask = missing if missing.any() else None
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        if mask is not None:
            column = column.fill_null(False if pa.types.is_boolean(kind) else 0)
        return Cells(values=np.asarray(column.to_numpy(zero_copy_only=False)), missing=mask)
    return Cells(values=_python_objects(column), missing=mask)


def _python_objects(column: Any) -> npt.NDArray[np.generic]:
    try:
        return objects(column.to_pylist())
    except Exception:  # noqa: BLE001 - a value that Python's types cannot hold (a year beyond 9999) must not be told apart
        return objects([_python_object(item) for item in column])


def _python_object(scalar: Any) -> object:
    try:
        item: object = scalar.as_py()
    except Exception:  # noqa: BLE001 - as above
        return ...  # something, and no number
    return item
