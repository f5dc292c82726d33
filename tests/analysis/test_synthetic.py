"""Made-up rows: within the bounds, the same from the same seed however they are cut, and drawn apart from the noise."""

import pickle

import numpy as np
import pytest

from dpkit.analysis.synthetic import SyntheticTable
from dpkit.contracts.table import DivisibleTable
from dpkit.data.columns.kinds import Boolean, Category, Number
from dpkit.data.columns.schema import PrivacyUnit, Schema

SCHEMA = Schema(
    columns=(
        Number(name="x", lower=-2, upper=3),
        Number(name="n", lower=0, upper=5, whole=True),
        Category(name="c", levels=("a", "b", "c")),
        Boolean(name="b"),
    )
)


def table(seed=3, stop=10_000):
    return SyntheticTable(schema=SCHEMA, unit=PrivacyUnit(column="who", at_most=3), seed=seed, start=0, stop=stop)


def column(made, name, rows=777):
    return np.concatenate([batch.cells[name].values for batch in made.batches([name], rows)])


def test_values_are_within_the_bounds():
    assert -2 <= column(table(), "x").min() < -1.9 < 2.9 < column(table(), "x").max() <= 3
    assert set(column(table(), "n")) == set(range(6))
    assert set(column(table(), "c")) == {"a", "b", "c"}
    assert set(column(table(), "b")) == {0, 1}
    assert max(np.unique(column(table(), "who"), return_counts=True)[1]) == 3


@pytest.mark.parametrize("name", ["x", "c", "who"])
@pytest.mark.parametrize("size", [40, 9000, 1 << 20])
def test_pieces_make_the_same_rows(name, size):
    made = table(stop=5000)
    assert isinstance(made, DivisibleTable)
    pieces = [pickle.loads(pickle.dumps(piece)) for piece in made.pieces(size)]
    assert np.array_equal(np.concatenate([column(piece, name, 13) for piece in pieces]), column(made, name))


def test_seeds_and_columns_and_chunks_differ():
    x = column(table(), "x")
    assert not np.array_equal(x, column(table(seed=4), "x"))
    assert np.unique(x).size == x.size
    assert not np.array_equal(np.random.default_rng(3).random(100) * 5 - 2, x[:100])  # the noise has a stream of its own
