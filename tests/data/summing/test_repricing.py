"""Distances that a query does not declare under replace-one follow from those under add-remove."""

import numpy as np
import pytest

import dpkit
from dpkit.data.summing.repricing import priced_distances

ADD, REPLACE = dpkit.Neighbours.ADD_REMOVE, dpkit.Neighbours.REPLACE_ONE


def query_with(distances, grid):
    return dpkit.Query(
        name="it",
        columns=("x",),
        rows=lambda block: np.clip(np.rint(block[:, 0]), -1.0, 1.0),
        shape=(),
        bound=1.0,
        grid=grid,
        sensitivity=lambda neighbours: distances[neighbours],
        because=dpkit.Citation(key="dpkit", locator="docs/proofs/exact-sums.md"),
    )


@pytest.mark.parametrize("grid", [1.0, None])
def test_a_replaced_row_goes_and_comes(grid):
    query = query_with({ADD: (dpkit.l1(1.0), dpkit.l2(1.0)), REPLACE: (dpkit.l2(1.5),)}, grid)
    found = {distance.metric: distance.value for distance in priced_distances(query, REPLACE)}
    assert 2.0 <= found["l1"] < 2.0 + 1e-9  # twice the distance of one row
    assert 1.5 <= found["l2"] < 1.5 + 1e-9  # its own word


def test_distances_under_add_remove_are_those_declared():
    query = query_with({ADD: (dpkit.l1(1.0),), REPLACE: (dpkit.l1(1.0),)}, 1.0)
    assert priced_distances(query, ADD) == (dpkit.l1(1.0),)
