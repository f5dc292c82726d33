"""Made-up rows of declared columns, for simulations: uniform within the bounds, from a seed, and related to no data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit.analysis.spec import DataSpec
from dpkit.data.columns import Boolean, Category, Column

ROWS = 1000
"""As many as that where the analysis declares no number."""


def synthetic_columns(data: DataSpec, rng: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
    """A value for every declared column of every row; persons have at most as many rows as the unit allows."""
    rows = ROWS if data.rows is None else data.rows
    columns = {column.name: _values(column, rows, rng) for column in data.schema.columns}
    if data.unit.column is not None:
        columns[data.unit.column] = np.arange(rows) // data.unit.at_most
    return columns


def _values(column: Column, rows: int, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    lower, upper = column.range
    if isinstance(column, Category):
        return np.array(column.levels, dtype=object)[rng.integers(0, len(column.levels), size=rows)]
    if isinstance(column, Boolean):
        return rng.integers(0, 2, size=rows)
    values = lower + (upper - lower) * rng.random(rows)
    return np.rint(values) if getattr(column, "whole", False) else values
