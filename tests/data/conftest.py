"""Queries that the tests of the data layer share, written as a plugin author would write them."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpkit.contracts.query import Query
from dpkit.numerics.exact_sums import truncated
from dpkit.privacy.claims import Citation
from dpkit.privacy.neighbours import Neighbours, frobenius, l1, l2, linf

SOURCE = Citation(key="dpkit", locator="docs/proofs/exact-sums.md")
STEP = 2.0**-20


def count():
    return Query(
        name="count",
        rows=lambda block: np.ones(block.shape[0]),
        block_sum=lambda block: np.float64(block.shape[0]),
        shape=(),
        sensitivity=lambda relation: (l1(1.0), l2(1.0)) if relation is Neighbours.ADD_REMOVE else (l1(0.0), l2(0.0)),
        because=SOURCE,
        grid=1.0,
        bound=1.0,
    )


def total(column, lower, upper):
    """A sum without a grid: the engine cuts it."""
    largest = max(abs(lower), abs(upper))
    return Query(
        name=f"sum of {column}",
        rows=lambda block: block[:, 0],
        shape=(),
        sensitivity=lambda relation: (l1(largest if relation is Neighbours.ADD_REMOVE else upper - lower),),
        because=SOURCE,
        columns=(column,),
    )


def moments(columns):
    """x x' of columns within [-1, 1], by quantised factors and BLAS."""
    size = len(columns)

    def rows(block):
        x = truncated(block, grid=STEP)
        return x[:, :, None] * x[:, None, :]

    def block_sum(block):
        x = truncated(block, grid=STEP)
        return x.T @ x

    return Query(
        name="moments",
        rows=rows,
        block_sum=block_sum,
        shape=(size, size),
        sensitivity=lambda relation: (frobenius(size if relation is Neighbours.ADD_REMOVE else 2.0 * size), linf(2.0)),
        because=SOURCE,
        columns=tuple(columns),
        grid=STEP * STEP,
        bound=1.0,
    )


def histogram(column, edges):
    """Counts of one column in bins, both ends open."""
    bins = len(edges) + 1
    sides = np.array(edges)

    def rows(block):
        return np.eye(bins)[np.searchsorted(sides, block[:, 0])]

    def block_sum(block):
        return np.bincount(np.searchsorted(sides, block[:, 0]), minlength=bins).astype(np.float64)

    return Query(
        name=f"histogram of {column}",
        rows=rows,
        block_sum=block_sum,
        shape=(bins,),
        sensitivity=lambda relation: (l1(1.0),) if relation is Neighbours.ADD_REMOVE else (l1(2.0),),
        because=SOURCE,
        columns=(column,),
        grid=1.0,
        bound=1.0,
    )


@pytest.fixture(scope="session")
def queries():
    return SimpleNamespace(count=count, total=total, moments=moments, histogram=histogram, STEP=STEP, SOURCE=SOURCE)
