"""Exact sums of queries over blocks: a monoid; a row that fails is lost alone, and contributions keep their bound."""

import pickle
import warnings

import numpy as np
import pytest
from data.summing.made_rows import of_rows, source_of

from dpkit.contracts.engine import Engine, Summation
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.data.summing.query_sums import plan_sums


def raising_on_a_value(block):
    if (block[:, 0] == 0.5).any():
        raise ValueError(f"cannot bear {block}")
    return block[:, 0]


def nan_on_zero(block):
    return block[:, 0] / block[:, 0]


def wrong_shape_on_a_value(block):
    return block[:, 0] if (block[:, 0] != 0.5).all() else block


def warning_on_a_value(block):
    if (block[:, 0] == 0.5).any():
        warnings.warn(f"odd: {block}", stacklevel=1)
    return block[:, 0]


@pytest.mark.parametrize("rows", [raising_on_a_value, nan_on_zero, wrong_shape_on_a_value, warning_on_a_value])
def test_a_query_that_fails_on_a_row_loses_that_row_alone(rows, queries):
    data = np.full((1001, 2), 0.25)
    data[500, 0] = 0.0 if rows is nan_on_zero else 0.5
    engine = BlockEngine(source_of(data))
    (total,) = engine.evaluate([of_rows(rows, queries, name="fails")])
    each = 1.0 if rows is nan_on_zero else 0.25
    assert total.nearest() == 1000 * each + (0.5 if rows is warning_on_a_value else 0.0)


def test_a_fast_path_that_is_poisoned_by_a_row_gives_way_to_the_reference(queries):
    rows = np.full((100, 2), 0.5)
    rows[3] = 0.0
    unit = of_rows(nan_on_zero, queries, block_sum=lambda block: np.sum(nan_on_zero(block)))
    broken = of_rows(lambda block: block[:, 0], queries, block_sum=lambda block: np.float64(0.1) if len(block) > 3 else 0.0)
    large = of_rows(lambda block: block[:, 0], queries, block_sum=lambda block: np.float64(1e6 if len(block) > 3 else 0.0))
    found = BlockEngine(source_of(rows)).evaluate([unit, broken, large])
    assert [float(total.nearest()) for total in found] == [99.0, 49.5, 49.5]


def test_contributions_beyond_the_bound_are_clamped(queries):
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.0]])
    (total,) = BlockEngine(source_of(rows)).evaluate([of_rows(lambda block: block[:, 0] * 1e308 * 10, queries)])
    assert total.nearest() == 1.0


def test_summation_is_a_monoid_that_travels_without_rows(queries):
    plan = plan_sums([queries.count()], ["x", "y"])
    assert isinstance(plan, Summation)
    assert isinstance(BlockEngine(source_of(np.zeros((1, 2)))), Engine)
    one, other = plan.partial(np.zeros((3, 2))), plan.partial(np.ones((4, 2)))
    travelled = pickle.loads(pickle.dumps(one))
    assert plan.finish(plan.merge(plan.merge(plan.zero(), travelled), other))[0].nearest() == 7.0
