"""The elementary functions against arbitrary precision, over every range that an accountant reaches."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpkit.numerics.special import expm1_minus, log1p_minus, log_sum_exp
from dpkit.testing.strategies import examples

UNIT = 2.0**-53
mp.dps = 60
EXAMPLES = examples(300)


def magnitudes(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def units_off(computed: float, exact: mpf) -> float:
    """The relative error in units of rounding."""
    return float(abs(mpf(computed) - exact) / abs(exact) / UNIT)


@EXAMPLES
@given(size=magnitudes(1e-150, 700.0), sign=st.sampled_from((-1.0, 1.0)))
def test_expm1_minus_keeps_its_digits(size: float, sign: float) -> None:
    z = sign * size
    with mp.workdps(400):
        exact = mp.exp(mpf(z)) - 1 - mpf(z)
    assert units_off(float(expm1_minus(z)), exact) <= 8.0


@EXAMPLES
@given(size=magnitudes(1e-150, 1e300))
def test_log1p_minus_keeps_its_digits(size: float) -> None:
    for x in (size, -size if size < 1.0 else -1.0 + 1.0 / (1.0 + size)):
        if x <= -1.0:
            continue
        with mp.workdps(400):
            exact = mp.log1p(mpf(x)) - mpf(x)
        assert units_off(float(log1p_minus(x)), exact) <= 16.0


@pytest.mark.parametrize("around", [0.3, 0.5, math.log(2.0), 1.0])
def test_branches_meet_without_a_jump(around: float) -> None:
    for value in (math.nextafter(around, 0.0), around, math.nextafter(around, 2.0)):
        for function, exact in (
            (expm1_minus, mp.expm1(mpf(value)) - mpf(value)),
            (log1p_minus, mp.log1p(mpf(value)) - mpf(value)),
        ):
            assert units_off(float(function(value)), exact) <= 16.0


@EXAMPLES
@given(terms=st.lists(st.floats(-800.0, 800.0), min_size=1, max_size=40))
def test_log_sum_exp_neither_overflows_nor_loses_digits(terms: list[float]) -> None:
    exact = mp.log(mp.fsum(mp.exp(mpf(term)) for term in terms))
    size = max(1.0, max(abs(term) for term in terms))
    assert abs(mpf(float(log_sum_exp(np.array(terms)))) - exact) <= (len(terms) + 8.0) * UNIT * size


def test_log_sum_exp_of_nothing_possible_is_impossible() -> None:
    assert log_sum_exp(np.array([-np.inf, -np.inf])) == -np.inf
    assert log_sum_exp(np.array([-np.inf, 3.0])) == 3.0


def test_functions_work_elementwise() -> None:
    z = np.array([1e-9, 0.1, 0.7, 3.0])
    assert np.array_equal(expm1_minus(z), [float(expm1_minus(x)) for x in z])
    assert np.array_equal(log1p_minus(z), [float(log1p_minus(x)) for x in z])
