"""Tables that are pandas or polars frames. Neither package is imported: a frame that is passed in has brought its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.cells import objects
from dpkit.errors import SourceError


class FrameTable:
    """A frame, column by column; `cells_of` reads one column of some rows."""

    def __init__(self, frame: Any, *, kind: str, cells_of: Callable[[Any, int, int], Cells]) -> None:
        names = [str(name) for name in frame.columns]
        if len(set(names)) != len(names):
            raise SourceError(source=f"the {kind} frame", reason="two of its columns have the same name.")
        self._columns = dict(zip(names, frame.columns, strict=True))
        self._frame = frame
        self._cells_of = cells_of

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, as texts."""
        return tuple(self._columns)

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of the columns."""
        total = len(self._frame)
        for start in range(0, total, rows):
            stop = min(start + rows, total)
            cells = {name: self._cells_of(self._frame[self._columns[name]], start, stop) for name in names}
            yield Batch(rows=stop - start, cells=cells)


def frame_table(frame: object) -> FrameTable | None:
    """The table of a pandas or polars frame; None for anything else."""
    package = type(frame).__module__.partition(".")[0]
    if type(frame).__name__ != "DataFrame":
        return None
    if package == "pandas":
        return FrameTable(frame, kind="pandas", cells_of=_pandas_cells)
    if package == "polars":
        return FrameTable(frame, kind="polars", cells_of=_polars_cells)
    return None


def series_cells(series: Any) -> Cells | None:
    """The cells of a pandas or polars series; None for anything else."""
    package = type(series).__module__.partition(".")[0]
    if package == "pandas" and hasattr(series, "iloc") and getattr(series, "ndim", 0) == 1:
        return _pandas_cells(series, 0, len(series))
    if package == "polars" and type(series).__name__ == "Series":
        return _polars_cells(series, 0, len(series))
    return None


def _pandas_cells(series: Any, start: int, stop: int) -> Cells:
    part = series.iloc[start:stop]
    if isinstance(part.dtype, np.dtype) and part.dtype.kind in "fiubO":
        return Cells(values=part.to_numpy())
    items = one_by_one(part.tolist, len(part), lambda place: part.iloc[place])
    return Cells(values=objects(items), missing=np.asarray(part.isna(), dtype=np.bool_))


def _polars_cells(series: Any, start: int, stop: int) -> Cells:
    part = series.slice(start, stop - start)
    missing = np.asarray(part.is_null().to_numpy(), dtype=np.bool_)
    if part.dtype.is_float() or (part.dtype.is_integer() and "128" not in str(part.dtype)):  # numpy has none of 128 bits
        # filled first: numpy has no integer that is null, and floats in their place would change the other rows
        return Cells(values=np.asarray(part.fill_null(0).to_numpy()), missing=missing)
    return Cells(values=objects(one_by_one(part.to_list, len(part), lambda place: part[place])), missing=missing)


def one_by_one(all_at_once: Callable[[], list[object]], count: int, item: Callable[[int], object]) -> list[object]:
    """The cells as Python's objects; where one cannot be held (a year beyond 9999), it alone is something and no number."""
    try:
        return all_at_once()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - polars panics with no Exception; no cell may be told from another by that
        return [_or_something(item, place) for place in range(count)]


def _or_something(item: Callable[[int], object], place: int) -> object:
    try:
        return item(place)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return ...
