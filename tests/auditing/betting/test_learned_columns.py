"""What is learned from the past orders new outputs as the true likelihood ratio does."""

import numpy as np
import pytest

from dpkit.auditing.betting.learned_columns import BinnedRatio, CategoryRatio, Logistic, TreeRatio


@pytest.mark.parametrize("column", [BinnedRatio(), Logistic(), TreeRatio()], ids=lambda column: type(column).__name__)
def test_a_shift_is_learned(column):
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.0, size=(2_000, 1)), rng.normal(3.0, size=(2_000, 1))
    column.learn(first, second)
    low, high = column.scores(np.array([[-1.0], [4.0]]))[:, 0]
    assert low > high


def test_categories_are_told_apart_by_how_often_they_came():
    column = CategoryRatio()
    column.learn(np.repeat([[0.0], [1.0]], (900, 100), axis=0), np.repeat([[0.0], [1.0]], (100, 900), axis=0))
    often, seldom = column.scores(np.array([[0.0], [1.0]]))[:, 0]
    assert often > 0.0 > seldom


def test_nothing_is_said_before_anything_was_seen():
    for column in (CategoryRatio(), BinnedRatio(), Logistic(), TreeRatio()):
        assert not column.scores(np.zeros((3, 1))).any()
