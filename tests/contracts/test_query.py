"""Queries: a sum over rows is the same either way, and half a declaration is refused."""

import dataclasses

import numpy as np
import pytest
from data.summing.prepared_queries import query, squares

import dpkit
from dpkit.contracts.query import Preparation, Query
from dpkit.errors import InvalidValueError
from dpkit.privacy.claims import Citation

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


@pytest.mark.parametrize(
    "fields", [{"preparation": None}, {"prepared_steps": 3}, {"block_sum": None}, {"grid": None}, {"preparation": squares}]
)
def test_half_a_preparation_is_refused(fields):
    with pytest.raises(InvalidValueError, match="prepar"):
        query(**({"preparation": Preparation(rows=squares, width=2), "place": 0} | fields))


@pytest.mark.parametrize("fields", [{"rows": 3}, {"width": 0}, {"keep": "yes"}])
def test_a_preparation_says_what_it_needs(fields):
    with pytest.raises(InvalidValueError, match="Preparation"):
        Preparation(**({"rows": squares, "width": 2} | fields))
