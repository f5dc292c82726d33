"""Counts: of rows that have a value, of numbers between edges, of the levels of a category. All contributions are 0 or 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import dpkit
from dpkit.authoring import finite_number, sqrt_up
from dpkit_stats.scaling import Array

BECAUSE = dpkit.Citation(key="DMNS06", locator="section 3.2: counts and histograms")


Sensitivity = Callable[[dpkit.Neighbours], tuple[dpkit.Distance, ...]]


def norms(*, one: tuple[float, float | Fraction], replaced: tuple[float, float | Fraction]) -> Sensitivity:
    """A sensitivity from the squares of L2 norms: (L1, L2 squared) of a row that comes or goes, and of one that is replaced."""

    def sensitivity(neighbours: dpkit.Neighbours) -> tuple[dpkit.Distance, ...]:
        l1, square = replaced if neighbours is dpkit.Neighbours.REPLACE_ONE else one
        return dpkit.l1(l1), dpkit.l2(sqrt_up(Fraction(square)))

    return sensitivity


def count_query(columns: Sequence[str]) -> dpkit.Query:
    """How many rows have a value in all of these columns. Replacing a row that has by one that has changes nothing."""
    return dpkit.Query(
        name="count",
        columns=tuple(columns),
        rows=lambda block: np.ones(block.shape[0]),
        block_sum=lambda block: np.float64(block.shape[0]),
        shape=(),
        grid=1.0,
        bound=1.0,
        sensitivity=norms(one=(1.0, 1.0), replaced=(0.0, 0.0)),
        because=BECAUSE,
    )


def rows_query(columns: Sequence[str]) -> dpkit.Query:
    """How many rows there are, with a value or without.

    One column would do. Name and columns are those of the count of rows with a value everywhere, which this took the place of:
    ledgers know releases by them, and runs of before shall go on.
    """
    return replace(count_query(columns), keeps_missing=True)


def histogram_query(column: str, edges: Sequence[float]) -> dpkit.Query:
    """How many values lie from each edge up to the next one; the last edge belongs to the last cell. Others count nowhere."""
    where = "histogram"
    ends = np.array([finite_number(edge, field="edges", where=where) for edge in edges])
    if len(ends) < 2 or not (np.diff(ends) > 0.0).all():
        raise dpkit.InvalidValueError(field="edges", found=tuple(edges), allowed="at least two increasing numbers", where=where)

    def cells(block: Array) -> npt.NDArray[np.int64]:
        found = np.searchsorted(ends, block[:, 0], side="right") - 1
        found = np.where(block[:, 0] == ends[-1], len(ends) - 2, found)
        return np.where((block[:, 0] >= ends[0]) & (block[:, 0] <= ends[-1]), found, -1)

    return _one_of_cells("histogram", column, cells, len(ends) - 1)


def categories_query(column: str, levels: int) -> dpkit.Query:
    """How many rows have each of the codes 0 to levels - 1 of a category."""
    if levels < 1:
        raise dpkit.InvalidValueError(field="levels", found=levels, allowed="a whole number >= 1", where="categories")

    def cells(block: Array) -> npt.NDArray[np.int64]:
        code = block[:, 0]
        legal = (code >= 0.0) & (code <= levels - 1.0) & (code == np.floor(code))
        return np.where(legal, code, -1.0).astype(np.int64)

    return _one_of_cells("categories", column, cells, levels)


def share_query(column: str, code: float, *, with_others: bool = True) -> dpkit.Query:
    """How many rows have this code and, with others, how many another."""

    def cells(block: Array) -> npt.NDArray[np.int64]:
        return np.where(block[:, 0] == code, 0, 1 if with_others else -1)

    return _one_of_cells("proportion", column, cells, 2 if with_others else 1)


def _one_of_cells(name: str, column: str, cells: Callable[[Array], npt.NDArray[np.int64]], count: int) -> dpkit.Query:
    def rows(block: Array) -> Array:
        return (cells(block)[:, None] == np.arange(count)).astype(np.float64)

    def block_sum(block: Array) -> Array:
        found = cells(block)
        return np.bincount(found[found >= 0], minlength=count).astype(np.float64)

    moved = (2.0, 2.0) if count > 1 else (1.0, 1.0)  # in a single cell, a row can only come or go
    moves = norms(one=(1.0, 1.0), replaced=moved)
    return dpkit.Query(
        name=name,
        columns=(column,),
        rows=rows,
        block_sum=block_sum,
        shape=(count,),
        grid=1.0,
        bound=1.0,
        sensitivity=lambda neighbours: (*moves(neighbours), dpkit.linf(1.0)),  # no count moves by more than one
        because=BECAUSE,
    )
