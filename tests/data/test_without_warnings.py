"""No warning tells of a value while data is read, on whatever threads."""

import warnings

import numpy as np
from data.summing.prepared_queries import query, squares

from dpkit.contracts.query import Preparation
from dpkit.data.summing.parallel import map_on_threads
from dpkit.data.summing.query_sums import plan_sums

NAMES = ["x", "y"]


def test_threads_keep_silent_together():
    def warns(block):
        warnings.warn(f"odd: {block}", stacklevel=1)
        return squares(block)[:, 0]

    plan = plan_sums([query(Preparation(rows=squares, width=2), 0, rows=warns, block_sum=warns, prepared_steps=warns)], NAMES)
    before = warnings.filters[:]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        list(map_on_threads(plan.partial, [np.ones((50, 2))] * 300, threads=4))
    assert not told
    assert warnings.filters == before
