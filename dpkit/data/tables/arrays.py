"""Tables in memory without further packages: numpy arrays, and columns by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.cells import objects
from dpkit.data.tables.arrow import arrow_cells
from dpkit.data.tables.frames import series_cells
from dpkit.errors import SourceError
from dpkit.numerics.noise.noise_inputs import is_masked_array


class ColumnsTable:
    """Columns by name, one-dimensional and equally long."""

    def __init__(self, columns: Mapping[str, object], *, source: str = "the columns") -> None:
        found = {str(name): as_column(values, name=str(name), source=source) for name, values in columns.items()}
        for name, column in found.items():
            if column.values.ndim != 1:
                raise SourceError(source=source, reason=f"the column {name!r} is not one-dimensional.")
        if len({column.values.shape[0] for column in found.values()}) > 1:  # their lengths may be private
            raise SourceError(source=source, reason="its columns are not equally long.")
        self._columns = found

    @property
    def names(self) -> tuple[str, ...]:
        """The keys."""
        return tuple(self._columns)

    def __len__(self) -> int:
        """How many rows there are."""
        return next(iter(self._columns.values())).values.shape[0] if self._columns else 0

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of the arrays, not copies."""
        total = len(self)
        for start in range(0, total, rows):
            stop = min(start + rows, total)
            yield Batch(rows=stop - start, cells={name: _part(self._columns[name], start, stop) for name in names})


def table_of_array(array: npt.NDArray[Any], names: Sequence[str] | None) -> ColumnsTable:
    """A structured array with its own names, or a two-dimensional array whose columns are named here."""
    source = "the numpy array"
    if array.dtype.names:
        records: Mapping[str, object] = {name: array[name] for name in array.dtype.names}
        return ColumnsTable(records, source=source)
    if array.ndim != 2:
        raise SourceError(source=source, reason="it is neither structured nor two-dimensional.", fix="Give one row a record.")
    if names is None or len(names) != array.shape[1] or len(set(names)) != len(names):
        found = "without names" if names is None else f"with {len(set(names))} names"
        reason = f"it has {array.shape[1]} columns and comes {found}."
        raise SourceError(source=source, reason=reason, fix="Pass `names`, one for each column, all different.")
    return ColumnsTable({name: array[:, place] for place, name in enumerate(names)}, source=source)


def as_column(values: object, *, name: str, source: str) -> Cells:
    """The cells of a column: of an array, masked or not, of a list or tuple, or of a pandas or polars series or Arrow array.

    Anything else is refused: a column that was read wrongly would look like a column without values.
    """
    if is_masked_array(values):
        missing = np.ma.getmaskarray(values)
        if missing.dtype != np.bool_:  # of records: a mask a field
            raise SourceError(source=source, reason=f"the column {name!r} holds records.")
        return Cells(values=np.asarray(values.data), missing=missing)
    if isinstance(values, np.ndarray):
        return Cells(values=values)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray | memoryview):
        return Cells(values=objects(values))
    found = series_cells(values) or arrow_cells(values)
    if found is None:
        raise SourceError(
            source=source,
            reason=f"the column {name!r} is of the type {type(values).__name__}, which holds no cells that can be read.",
            fix="Give a list, a numpy array, a pandas or polars series, or an Arrow array.",
        )
    return found


def _part(column: Cells, start: int, stop: int) -> Cells:
    missing = None if column.missing is None else column.missing[start:stop]
    return Cells(values=column.values[start:stop], missing=missing)
