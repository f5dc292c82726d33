"""The search finds neighbours that exceed a declared sensitivity, and finds none where it holds."""

import numpy as np
import pytest

import dpkit
from dpkit import Neighbours
from dpkit.testing import search_excess


def query(rows, declared):
    return dpkit.Query(
        name="q",
        columns=(),
        rows=rows,
        shape=(),
        sensitivity=lambda neighbours: (dpkit.l1(declared),),
        because=dpkit.Citation(key="dpkit", locator="tests"),
    )


def clipped(block):
    return np.clip(np.nan_to_num(block[:, 0]), -1.0, 1.0)


@pytest.mark.parametrize(("relation", "moved"), [(Neighbours.ADD_REMOVE, 1.0), (Neighbours.REPLACE_ONE, 2.0)])
def test_the_true_sensitivity_stands_and_one_below_it_falls(relation, moved):
    assert search_excess(query(clipped, moved), 1, relation, hints=[]) is None
    found = search_excess(query(clipped, 0.9 * moved), 1, relation, hints=[])
    assert found is not None


def test_a_number_at_which_the_code_branches_is_found_by_its_hint():
    def sentinel(block):
        return np.where(block[:, 0] == 1234.5, 50.0, clipped(block))

    assert search_excess(query(sentinel, 1.0), 1, Neighbours.ADD_REMOVE, hints=[1234.5]) is not None
