"""Queries: a sum over rows is the same either way, and half a declaration is refused."""

import dataclasses

import numpy as np

import dpkit
from dpkit import Citation, Query

SOURCE = Citation(key="DR14", locator="somewhere")


def test_a_query_sums_its_rows_either_way():
    query = Query(
        name="sum",
        rows=lambda block: block,
        shape=(2,),
        sensitivity=lambda neighbours: (dpkit.l1(1.0),),
        because=SOURCE,
        block_sum=lambda block: np.ones(len(block)) @ block,
    )
    block = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(query.total(block), dataclasses.replace(query, block_sum=None).total(block))
