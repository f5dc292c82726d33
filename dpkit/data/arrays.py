"""Tables in memory without further packages: numpy arrays, and columns by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.core.source import Batch, Cells
from dpkit.errors import SourceError


class ColumnsTable:
    """Columns by name, one-dimensional and equally long."""

    def __init__(self, columns: Mapping[str, object], *, source: str = "the columns") -> None:
        arrays = {str(name): as_column(values) for name, values in columns.items()}
        if any(array.ndim != 1 for array in arrays.values()):
            raise SourceError(source=source, reason="a column is not one-dimensional.")
        if len({array.shape[0] for array in arrays.values()}) > 1:  # their lengths may be private
            raise SourceError(source=source, reason="its columns are not equally long.")
        self._columns = arrays

    @property
    def names(self) -> tuple[str, ...]:
        """The keys."""
        return tuple(self._columns)

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of the arrays, not copies."""
        total = next(iter(self._columns.values())).shape[0] if self._columns else 0
        for start in range(0, total, rows):
            count = min(rows, total - start)
            cells = {name: Cells(values=self._columns[name][start : start + count]) for name in names}
            yield Batch(rows=count, cells=cells)


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


def as_column(values: object) -> npt.NDArray[np.generic]:
    """An array of whatever is given; what numpy would not hold side by side is kept as objects."""
    if isinstance(values, np.ndarray):
        return values
    items = list(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else [values]
    return objects(items)


def objects(items: Sequence[object]) -> npt.NDArray[np.generic]:
    """A one-dimensional array of objects, whatever they are; lists in it stay lists."""
    return np.fromiter(items, dtype=object, count=len(items))
