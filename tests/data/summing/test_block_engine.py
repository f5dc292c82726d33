"""The engine: several queries in one pass, exact totals whatever the blocks, and nothing that raises on a value."""

import traceback
from fractions import Fraction

import numpy as np
import pyarrow
import pytest
from data.summing.made_rows import SCHEMA, of_rows, source_of
from pyarrow import parquet

from dpkit.data.columns.kinds import Category, Number
from dpkit.data.columns.schema import Schema
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.data.tables.open_source import open_source
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.noise import check_delivery, release_exactly

CANARY = 7301.4242


def totals(engine, queries):
    return [total.steps().tolist() for total in engine.evaluate(queries)]


@pytest.mark.parametrize("in_memory", [True, False])
def test_totals_are_the_same_bits_for_every_block_size_order_and_table(queries, tmp_path, in_memory):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1.5, 1.5, size=(600, 2))
    rows[::7] = [1e308, 5e-324]
    rows[::11, 0] = np.nan
    wanted = [queries.count(), queries.total("y", -1, 1), queries.moments(["y", "x"]), queries.histogram("x", [-0.5, 0, 0.5])]
    reference = totals(BlockEngine(source_of(rows)), wanted)
    assert reference[0] == 600 - len(rows[::11])
    parquet.write_table(pyarrow.table({"x": rows[:, 0], "y": rows[:, 1]}), tmp_path / "r.parquet", row_group_size=170)
    for data in (rows[rng.permutation(600)], tmp_path / "r.parquet"):
        opened = open_source(data, SCHEMA, names=["x", "y"], in_memory=in_memory)
        for block_bytes in (1, 700, 1 << 20):
            assert totals(BlockEngine(opened, block_bytes=block_bytes), wanted) == reference


def test_the_total_is_the_rational_sum(queries):
    rows = np.array([[0.1, 1 / 3], [1e-30, -1.0], [-0.0, 5e-324], [1.0, 0.7]])
    (total,) = BlockEngine(source_of(rows)).evaluate([queries.total("y", -1, 1)])
    expected = sum(int(Fraction(value) * 2**40) for value in rows[:, 1].tolist())
    assert int(total.steps()[()]) == expected
    assert total.nearest() == expected / 2**40


def test_one_pass_reads_the_columns_that_are_needed_and_no_others(queries):
    source = source_of(np.zeros((5, 2)))
    asked = []
    original = source.blocks
    source.blocks = lambda columns, rows: asked.append(tuple(columns)) or original(columns, rows)
    BlockEngine(source).evaluate([queries.total("y", -1, 1), queries.histogram("y", [0])])
    assert asked == [("y",)]


def test_a_dropped_row_contributes_zero_to_the_queries_that_read_it_and_still_counts(queries):
    rows = np.array([[np.nan, 0.5], [0.25, 0.5]])
    source = source_of(rows, neighbours=Neighbours.REPLACE_ONE)
    x, y = BlockEngine(source).evaluate([queries.total("x", -1, 1), queries.total("y", -1, 1)])
    assert (x.nearest(), y.nearest()) == (0.25, 1.0)
    assert source.public_rows() == 2


def test_what_is_publicly_wrong_is_refused_before_data_is_read(queries):
    source = source_of(np.zeros((5, 2)))
    source.blocks = lambda columns, rows: pytest.fail("data was read")
    engine = BlockEngine(source)
    wrong = {
        "wrong shape": of_rows(lambda block: block, queries),
        "fails": of_rows(lambda block: block[:, 7], queries),
        "writes": of_rows(lambda block: block.sort(), queries),
        "wrong shape of the sum": of_rows(lambda block: block[:, 0], queries, block_sum=lambda block: block),
        "no bound": of_rows(lambda block: block[:, 0], queries, bound=None),
    }
    for query in wrong.values():
        with pytest.raises(InvalidValueError):
            engine.evaluate([query])
    with pytest.raises(UnknownNameError, match="Did you mean"):
        engine.check([queries.total("xx", -1, 1)])
    with pytest.raises(InvalidValueError):
        BlockEngine(source, block_bytes=0)


def test_a_planted_value_is_in_no_error_and_no_repr(queries):
    source = source_of(np.full((3, 2), CANARY))
    schema = Schema(columns=(Number(name="x", lower=0, upper=1e4),))
    held = open_source({"x": [CANARY]}, schema)
    (total,) = BlockEngine(held).evaluate([queries.total("x", 0, 1e4)])
    shown = [repr(source), repr(held), str(held), repr(total), repr(BlockEngine(held))]
    for wrong in (
        lambda: held.public_rows(),
        lambda: BlockEngine(held).evaluate([queries.total("z", 0, 1)]),
        lambda: total.split(3.0),
    ):
        try:
            wrong()
        except Exception:  # noqa: BLE001 - whatever it is, it is shown
            shown.append(traceback.format_exc())
    assert len(shown) == 8
    assert not any("7301" in text for text in shown)


@pytest.mark.parametrize("data", [np.zeros((0, 2)), np.ones((1, 2)), np.full((10_000, 2), 1 / 3)])
def test_empty_single_and_equal_rows(data, queries):
    count, moments = BlockEngine(source_of(data)).evaluate([queries.count(), queries.moments(["x", "y"])])
    assert count.nearest() == len(data)
    cut = int(Fraction(float(data[0, 0])) * 2**20) ** 2 if len(data) else 0
    assert moments.steps().tolist() == [[len(data) * cut] * 2] * 2
    assert BlockEngine(source_of(data)).evaluate([]) == ()


def test_a_million_rows(queries):
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, size=(1_000_000, 2))
    count, moments = BlockEngine(source_of(rows)).evaluate([queries.count(), queries.moments(["x", "y"])])
    whole = (np.trunc(rows * 2**20)).astype(np.int64)
    exact = [[int(np.sum(whole[:, i] * whole[:, j] >> 30, dtype=object)) for j in range(2)] for i in range(2)]
    assert count.nearest() == 1_000_000
    steps = moments.steps()
    low = [[int(np.sum(whole[:, i] * whole[:, j] & (2**30 - 1))) for j in range(2)] for i in range(2)]
    assert steps.tolist() == [[(exact[i][j] << 30) + low[i][j] for j in range(2)] for i in range(2)]


def test_categories_are_places_in_their_list(queries):
    schema = Schema(columns=(Category(name="city", levels=("Bern", "Ulm", "Rom")),))
    source = open_source({"city": ["Ulm", "Rom", "Ulm", "Paris"]}, schema)
    (total,) = BlockEngine(source).evaluate([queries.histogram("city", [0.5, 1.5])])
    assert total.nearest().tolist() == [0.0, 2.0, 1.0]
    assert source.distances(queries.histogram("city", [0.5]))[0].value == 1.0


def test_noise_that_is_far_too_coarse_is_refused_before_it_is_paid_for(queries):
    check_delivery(queries.moments(["x"]), Gaussian(scale=1e9))
    with pytest.raises(InvalidValueError, match="grid"):
        check_delivery(queries.moments(["x"]), Gaussian(scale=1e12))


def test_symmetric_totals_stay_symmetric(queries):
    (total,) = BlockEngine(source_of(np.full((9, 2), 0.3))).evaluate([queries.moments(["x", "y"])])
    noisy = release_exactly(total, SymmetricGaussian(scale=1.0), np.random.default_rng(0))
    assert np.array_equal(noisy, noisy.T)


class Bare:
    """A mechanism that says nothing of a grid."""

    def release(self, value, rng):
        return value + 1.0


def test_a_mechanism_without_a_grid_gets_the_nearest_float(queries):
    (total,) = BlockEngine(source_of(np.full((4, 2), 0.5))).evaluate([queries.total("x", -1, 1)])
    assert release_exactly(total, Bare(), np.random.default_rng(0)) == 3.0
    check_delivery(queries.total("x", -1, 1), Bare())
