"""Atoms, ties and narrow bumps are found; the columns see only what they say."""

import numpy as np
import pandas
import pytest

from dpkit import PureDP, audit
from dpkit.auditing.betting.columns import OutputForm
from dpkit.auditing.betting.narrow_columns import NarrowCells, Ties
from dpkit.auditing.betting.profile import Point

ONE = (Point(epsilon=1.0, delta=0.0),)


def leaks_itself(value, n, rng):
    return np.where(rng.random(n) < 0.01, value, value + rng.laplace(size=n))


def leaks_its_mean(rows, n, rng):
    return np.where(rng.random(n) < 0.01, np.mean(rows), np.mean(rows) + rng.laplace(scale=1.0 / 3.0, size=n))


def has_a_bump(value, n, rng):
    place = 0.3 + 0.4 * value
    return np.where(rng.random(n) < 0.02, place + 0.002 * rng.random(n), value + rng.laplace(size=n))


def one_entry_leaks(value, n, rng):
    outputs = rng.laplace(size=(n, 3)) + value * np.array([1.0, 0.0, 0.0])
    outputs[:, 0] = np.where(rng.random(n) < 0.02, value + 5.0, outputs[:, 0])
    return outputs


@pytest.mark.parametrize(
    "pair",
    [(pandas.DataFrame({"x": [], "y": []}), pandas.DataFrame({"x": [1.0], "y": [2.0]})),
     (pandas.DataFrame({"town": []}), pandas.DataFrame({"town": ["a"]})), (np.zeros((2, 0)), np.zeros((3, 0))), ([], [1.0])],
)  # fmt: skip
def test_a_dataset_without_rows_or_numbers_has_no_ties(pair):
    ties = Ties(pair, np.arange(8.0).reshape(4, 2))
    assert ties.scores(np.full((3, 2), 0.123)).tolist() == [[0.0]] * 3


@pytest.mark.parametrize(
    ("fn", "pair"),
    [(leaks_itself, (0.0, 1.0)), (leaks_its_mean, ([0.1, 0.5, 0.7], [0.1, 0.5, 0.2])), (has_a_bump, (0.0, 1.0)),
     (one_entry_leaks, (0.0, 1.0))],
)  # fmt: skip
def test_an_atom_and_a_bump_are_refuted(fn, pair):
    (found,) = audit(fn, PureDP(epsilon=1.0), pair, samples=40_000, rng=5)
    assert found.refuted
    assert found.samples < 20_000
    assert found.epsilon_lower > 1.2


def test_ties_are_with_numbers_of_one_dataset_alone():
    ties = Ties(([1.0, 2.0, 6.0], [1.0, 2.0, 3.0]), np.array([[-1.0], [0.0], [1.0], [2.0]]))
    outputs = np.array([[1.0], [6.0], [9.0], [2.0], [3.0], [0.5], [6.0 + 1e-10], [6.0 + 1e-6]])
    # 3 is the mean of the first, too, and 6 the sum of the second; 9 is the sum of the first alone
    assert ties.scores(outputs)[:, 0].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    # of two numbers, each tells, though 1 is the count of both and 0 the spread of both
    one_number = Ties((0.0, 1.0), np.array([[-1.0], [0.0], [1.0], [2.0]]))
    assert one_number.scores(np.array([[0.0], [1.0], [2.0]]))[:, 0].tolist() == [1.0, -1.0, 0.0]
    code = ties.expression(0, OutputForm((1,)))
    assert eval(f"lambda y: {code}", {"np": np})(outputs[:, 0]).tolist() == ties.scores(outputs)[:, 0].tolist()
    assert Ties(("a", None), np.zeros((3, 2))).scores(np.zeros((3, 2))).shape == (3, 1)


def test_a_narrow_cell_is_where_one_side_crowds():
    rng = np.random.default_rng(1)
    first, second = rng.random((2_000, 2)), rng.random((2_000, 2))
    first[:60, 1] = 0.5 + 0.001 * rng.random(60)
    second[:60, 0] = 0.25
    cells = NarrowCells(ONE)
    cells.learn(first, second)
    assert cells.scores(np.array([[0.9, 0.5005]])) == 1.0
    assert cells.scores(np.array([[0.25, 0.9]])) == -1.0
    assert cells.scores(np.array([[0.6, 0.6]])) == 0.0
    code = cells.expression(0, OutputForm((2,)))
    for row in (np.array([0.9, 0.5005]), np.array([0.25, 0.9]), np.array([0.6, 0.6])):
        assert eval(f"lambda y: {code}", {"np": np})(row) == cells.scores(row[None])[0, 0]


def test_cells_of_equal_laws_do_not_pay_on_fresh_outputs():
    rng = np.random.default_rng(2)
    cells = NarrowCells(ONE)
    cells.learn(rng.random((4_000, 1)), rng.random((4_000, 1)))
    fresh = cells.scores(rng.random((20_000, 1)))
    other = cells.scores(rng.random((20_000, 1)))
    assert abs(np.mean(fresh == 1.0) - np.mean(other == 1.0)) < 0.01
