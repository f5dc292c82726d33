"""Functions of one release are audited as they are; tables that they return become numbers."""

import numpy as np
import pandas as pd
import pytest

from dpkit import InvalidValueError, Laplace, PureDP, audit, confirm, one_release
from dpkit.auditing.targets.one_release import as_sampler, table_numbers

OWN = np.random.default_rng(3)
CLAIM = PureDP(epsilon=1.0)


def half(data):
    return len(data) + OWN.laplace(scale=0.4)


def with_rng(data, rng):
    return len(data) + rng.laplace(scale=0.4)


def right(data, rng=None):
    return len(data) + rng.laplace()


def test_a_function_of_one_release_is_a_target():
    (found,) = audit(half, CLAIM, ([1], [1, 2]), samples=4_000, rng=1)
    assert found.confirmed
    assert found.target.endswith(":half")
    assert confirm(found, half, rng=1).confirmed
    assert audit(one_release(with_rng), CLAIM, ([1], [1, 2]), samples=4_000, rng=1)[0].refuted
    assert not audit(right, CLAIM, ([1], [1, 2]), samples=2_000, rng=1)[0].refuted


def test_what_takes_three_arguments_is_left_as_it_is():
    def sampler(data, n, rng):
        return np.zeros(n)

    assert as_sampler(sampler) is sampler
    method = Laplace(scale=1.0).release_many
    assert as_sampler(method) is method
    assert as_sampler(lambda data, epsilon=1.0, seed=None: 0)([1], 2, None) == [0, 0]
    assert as_sampler(lambda *all: 0) is not None
    with pytest.raises(InvalidValueError):
        one_release(sampler)


def test_a_table_is_numbers_of_one_width_whatever_its_rows():
    one = pd.DataFrame({"x": [1.0, np.nan, 3.0], "who": ["a", "b", "a"]})
    two = pd.DataFrame({"who": ["z"], "x": [7.0]})
    assert table_numbers(one).shape == table_numbers(two).shape == table_numbers(one.iloc[:0]).shape
    assert table_numbers(one)[0] == 3.0
    assert not np.array_equal(table_numbers(one), table_numbers(one.assign(x=[1.0, 2.0, 3.0])))


def test_a_generator_of_synthetic_tables_that_copies_rows_is_refuted():
    def bootstrap(table):
        return table.sample(frac=1.0, replace=True, random_state=int(OWN.integers(2**31)))

    table = pd.DataFrame({"x": [0.0, 1.0, 0.5], "kind": ["a", "b", "a"]})
    more = pd.concat([table, pd.DataFrame({"x": [40.0], "kind": ["new"]})], ignore_index=True)
    (found,) = audit(bootstrap, CLAIM, (table, more), samples=600, rng=1)
    assert found.refuted
    assert "one row more" in found.relation
