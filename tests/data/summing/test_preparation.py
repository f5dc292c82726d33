"""Prepared rows: computed once for queries that share them, kept for later passes, and never a reason for another total."""

import numpy as np
import pytest
from data.summing.prepared_queries import query, squares, steps_of

from dpkit.contracts.query import Preparation, Query
from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import Schema
from dpkit.data.summing import block_engine
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.data.tables.open_source import open_source
from dpkit.errors import InvalidValueError
from dpkit.testing import exact_sum_laws

SCHEMA = Schema(columns=(Number(name="x", lower=-1, upper=1), Number(name="y", lower=-1, upper=1)))


class Counted:
    """A row map that counts its calls."""

    def __init__(self, rows):
        self.rows, self.calls = rows, 0

    def __call__(self, block):
        self.calls += 1
        return self.rows(block)


def engine_of(count=1000, **options):
    rows = np.random.default_rng(1).uniform(-1.2, 1.2, size=(count, 2))
    rows[3] = np.nan  # a row that is dropped
    return BlockEngine(open_source(rows, SCHEMA, names=["x", "y"]), block_bytes=1600, **options)


def steps(engine, queries):
    return [total.steps().tolist() for total in engine.evaluate(queries)]


def plain(queries):
    return [
        Query(
            **{
                name: getattr(one, name)
                for name in ("name", "rows", "shape", "sensitivity", "because", "columns", "grid", "bound")
            }
        )
        for one in queries
    ]


@pytest.mark.parametrize("cache_bytes", [0, 5_000, 1 << 20])
def test_totals_are_those_of_the_rows_in_every_pass(cache_bytes):
    shared = Preparation(rows=squares, width=2)
    both = [query(shared, 0), query(shared, 1)]
    engine = engine_of(cache_bytes=cache_bytes)
    expected = steps(engine_of(), plain(both))
    assert [steps(engine, both) for _ in range(4)] == [expected] * 4


def test_it_is_computed_once_a_block_and_kept():
    counted = Counted(squares)
    shared = Preparation(rows=counted, width=2)
    engine, both = engine_of(), [query(shared, 0), query(shared, 1)]
    calls = []
    for _ in range(4):
        before = counted.calls
        steps(engine, both)
        calls.append(counted.calls - before)
    assert calls == [len(both) + 10, 0, 0, 0]  # the first check tries every query once on made-up rows


def test_what_does_not_fit_is_computed_anew():
    counted = Counted(squares)
    engine, one = engine_of(cache_bytes=5_000), [query(Preparation(rows=counted, width=2), 0)]
    for _ in range(4):
        steps(engine, one)
    assert counted.calls >= 4 * 10


def test_what_no_later_pass_asks_for_is_not_kept():
    counted = Counted(squares)
    shared = Preparation(rows=counted, width=2, keep=False)
    engine, both = engine_of(), [query(shared, 0), query(shared, 1)]
    expected = steps(engine_of(), plain(both))
    assert [steps(engine, both) for _ in range(3)] == [expected] * 3
    assert counted.calls == len(both) + 3 * 10  # once a block for both, each time


def test_another_preparation_takes_the_place():
    first, second = (Preparation(rows=squares, width=2) for _ in range(2))
    engine = engine_of()
    expected = steps(engine, [query(first, 0)])
    for preparation in (first, second, first, second, second, first):
        assert steps(engine, [query(preparation, 0)]) == expected


def test_what_is_kept_of_some_columns_is_not_taken_for_others():
    shared, engine = Preparation(rows=squares, width=2), engine_of()
    for columns in (("x", "y"), ("y", "x"), ("x", "y")):
        one = [query(shared, 0, columns=columns)]
        assert steps(engine, one) == steps(engine_of(), plain(one))


def failing_on(value):
    def prepared_steps(prepared):
        if ((prepared[:, 0] > value) & (prepared[:, 0] < 0.999)).any():  # not on made-up rows, which are corners
            raise ValueError("cannot bear it")
        return steps_of(prepared[:, 0])

    return prepared_steps


def unless_many(wrong):
    """Right on made-up rows, which are few."""
    return lambda prepared: (wrong if len(prepared) > 50 else steps_of)(prepared[:, 0])


@pytest.mark.parametrize(
    "broken",
    [
        {"prepared_steps": failing_on(0.9)},
        {"prepared_steps": unless_many(lambda values: steps_of(values) + 0.3)},
        {"prepared_steps": unless_many(lambda values: steps_of(values).astype(np.int32))},
        {"prepared_steps": unless_many(lambda values: np.sum(steps_of(values)))},
        {"prepared_steps": unless_many(lambda values: steps_of(values)[:, None])},
        {"prepared_steps": unless_many(lambda values: np.array([1 << 60]))},
        {"prepared_steps": unless_many(lambda values: np.array([1 << 62] * 4))},
        {"prepared_steps": unless_many(lambda values: None)},
    ],
)
def test_a_sum_that_fails_leaves_it_to_the_rows(broken):
    engine, one = engine_of(), [query(Preparation(rows=squares, width=2), 0, **broken)]
    expected = steps(engine_of(), plain(one))
    assert [steps(engine, one) for _ in range(4)] == [expected] * 4


def test_a_preparation_that_fails_on_a_value_leaves_it_to_the_rows():
    def odd(block):
        if ((block[:, 0] > 0.9) & (block[:, 0] < 0.999)).any():
            raise ValueError(f"cannot bear {block}")
        return squares(block)

    engine, one = engine_of(), [query(Preparation(rows=odd, width=2), 0)]
    expected = steps(engine_of(), plain(one))
    assert [steps(engine, one) for _ in range(4)] == [expected] * 4


def test_prepared_rows_are_read_only():
    def writing(prepared):
        prepared[:] = 0.0
        return steps_of(prepared[:, 0])

    shared = Preparation(rows=squares, width=2)
    with pytest.raises(InvalidValueError, match="read-only"):
        steps(engine_of(), [query(shared, 0, prepared_steps=writing)])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda prepared: steps_of(prepared[:, 1]),
        lambda prepared: steps_of(prepared[:8192, 0]),  # the first run only
        lambda prepared: steps_of(prepared[:, 0])[:1],
    ],
)
def test_the_law_catches_prepared_steps_of_something_else(wrong):
    shared = Preparation(rows=squares, width=2)
    exact_sum_laws.prepared_steps_are_the_sum_of_rows(query(shared, 0), [(-1.0, 1.0)] * 2)
    with pytest.raises(AssertionError):
        exact_sum_laws.prepared_steps_are_the_sum_of_rows(query(shared, 0, prepared_steps=wrong), [(-1.0, 1.0)] * 2)


def test_old_and_new_rows_together_keep_within_the_bound(monkeypatch):
    """A wider preparation after a narrow one: what is let go of the old makes room for what is kept of the new."""
    monkeypatch.setattr(block_engine, "MERGED_BYTES", 1)
    narrow, wide = Preparation(rows=squares, width=1), Preparation(rows=squares, width=4)
    kept = block_engine.KeptRows(most_bytes=64_000)
    for preparation, blocks in ((narrow, 60), (wide, 15)):
        assert kept.begin((preparation, ("x", "y")))
        for _ in range(blocks):
            assert kept.add(np.zeros((125, preparation.width)))
            held = [*kept._blocks, *kept._small, *kept._former]
            assert sum(block.nbytes for block in held) <= 64_000
        kept.end(complete=True)
    assert kept.blocks_of((wide, ("x", "y"))) is not None
