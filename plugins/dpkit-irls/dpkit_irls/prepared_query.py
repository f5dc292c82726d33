"""A query that is told by what it makes of prepared rows; the row path and both fast paths follow from that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpkit.core.claims import Citation
from dpkit.core.distances import Distance
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Preparation, Query
from dpkit_irls.rows import GRID, Array

RowMap = Callable[[Array], Array]
Sensitivity = Callable[[Neighbours], Sequence[Distance]]


def prepared_query(
    *,
    name: str,
    columns: tuple[str, ...],
    preparation: Preparation,
    rows: RowMap,
    summed: RowMap,
    shape: tuple[int, ...],
    sensitivity: Sensitivity,
    because: Citation,
    grid: float = GRID,
    bound: float = 1.0,
) -> Query:
    """`rows` and `summed` take prepared rows. Entries of contributions are at most `bound` in magnitude."""
    return Query(
        name=name,
        rows=lambda block: rows(preparation.rows(block)),
        block_sum=lambda block: summed(preparation.rows(block)),
        shape=shape,
        sensitivity=sensitivity,
        because=because,
        columns=columns,
        grid=grid,
        bound=bound,
        preparation=preparation,
        prepared_sum=summed,
    )
