"""The strategies for data make what they say: distances are kept, neighbours are neighbours, budgets are legal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpkit
from dpkit import Neighbours
from dpkit.testing import sizes_in
from dpkit.testing.data_strategies import adversarial_floats, budgets, neighbouring_datasets, values_at


@pytest.mark.parametrize("metric", ["l1", "l2", "linf", "frobenius", "rank_one"])
@settings(deadline=None)
@given(data=st.data(), size=st.floats(1e-3, 1e3))
def test_values_are_within_the_distance(metric, data, size):
    shape = (3, 3) if metric in ("frobenius", "rank_one") else (3,)
    one, other = data.draw(values_at(dpkit.Distance(metric=metric, value=size), shape=shape))
    if metric == "rank_one":  # adding and subtracting rounds: the rank is that of the step, the size is checked
        assert np.linalg.norm(other - one) <= size * (1 + 1e-9)
    else:
        assert sizes_in(metric, (other - one)[None])[0] <= size


@given(neighbouring_datasets(Neighbours.ADD_REMOVE))
def test_one_record_more_or_less(pair):
    small, large = sorted(pair, key=len)
    assert len(large) == len(small) + 1
    assert any(np.array_equal(np.delete(large, row, axis=0), small, equal_nan=True) for row in range(len(large)))


@given(neighbouring_datasets(Neighbours.REPLACE_ONE, columns=3))
def test_one_record_in_another_s_place(pair):
    one, other = pair
    assert one.shape == other.shape
    differing = [row for row in range(len(one)) if not np.array_equal(one[row], other[row], equal_nan=True)]
    assert len(differing) <= 1


@settings(deadline=None)
@given(budgets())
def test_budgets_can_be_met(budget):
    pure = isinstance(budget, dpkit.PureDP)
    accountant = {dpkit.PureDP: "pure", dpkit.GDP: "gdp"}.get(type(budget), "zcdp")
    noise = dpkit.LaplaceEvent if pure else dpkit.GaussianEvent
    assert dpkit.calibrate(lambda scale: noise(ratio=1.0 / scale), budget, accountant) > 0.0


@given(adversarial_floats())
def test_finite_means_finite(number):
    assert np.isfinite(number)
