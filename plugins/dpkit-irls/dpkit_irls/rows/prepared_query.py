"""A query that is told by what it makes of prepared rows; the row path and both fast paths follow from that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpkit import Citation, Distance, Neighbours, Preparation, Query
from dpkit.authoring import Steps
from dpkit_irls.rows.fixed_point import GRID, Array

RowMap = Callable[[Array], Array]
RunSums = Callable[[Array], Steps]
Sensitivity = Callable[[Neighbours], Sequence[Distance]]


def prepared_query(
    *,
    name: str,
    columns: tuple[str, ...],
    preparation: Preparation,
    rows: RowMap,
    summed: RunSums,
    shape: tuple[int, ...],
    sensitivity: Sensitivity,
    because: Citation,
    grid: float = GRID,
    bound: float = 1.0,
) -> Query:
    """`rows` and `summed` take prepared rows; `summed` gives whole steps of the grid, of each run of rows.

    Entries of contributions are at most `bound` in magnitude.
    """

    def block_sum(block: Array) -> Array:
        # exact for as few rows as the grid allows; runs of many more would not fit into 64 bits together
        return np.asarray(np.sum(summed(preparation.rows(block)), axis=0, dtype=np.float64) * grid)

    return Query(
        name=name,
        rows=lambda block: rows(preparation.rows(block)),
        block_sum=block_sum,
        shape=shape,
        sensitivity=sensitivity,
        because=because,
        columns=columns,
        grid=grid,
        bound=bound,
        preparation=preparation,
        prepared_steps=summed,
    )
