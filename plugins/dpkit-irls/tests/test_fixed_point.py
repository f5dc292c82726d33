"""Sums of products of whole steps beside integers, and powers of two beside the definition."""

import math

import numpy as np
import pytest
from dpkit_irls.rows.fixed_point import LARGEST_STEP, RUN, power_of_two_above, products_by_run, squares_by_run
from hypothesis import example, given
from hypothesis import strategies as st


@pytest.mark.parametrize("width", [1, 2, 3, 10, 12, 17, 31, 32, 40])
@pytest.mark.parametrize("rows", [0, 1, RUN - 1, RUN, 2 * RUN + 513])
def test_squares_by_run_are_those_of_integers(width, rows):
    """Runs are cut into parts by the width, and the first column goes its own way: no entry may be left, or counted twice."""
    rng = np.random.default_rng(width)
    steps = rng.integers(-int(LARGEST_STEP), int(LARGEST_STEP) + 1, size=(width, rows))
    found = squares_by_run(steps.astype(np.float64))
    assert np.array_equal(found, products_by_run(steps.astype(np.float64), steps.astype(np.float64)))
    assert np.array_equal(np.sum(found, axis=0), steps @ steps.T)


@pytest.mark.parametrize("place", [0, 3])
def test_squares_by_run_refuse_what_is_no_number(place):
    steps = np.ones((4, 100))
    steps[place, 50] = math.nan
    with pytest.raises(ValueError, match="whole numbers"):
        squares_by_run(steps)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4))
@example([0.0, 2.0**1023])
def test_powers_of_two_are_the_next_above(values):
    """Zeros, and numbers below the least normal one, go another way than the others; the answer of one bears on no other."""
    found = power_of_two_above(np.array(values))
    for value, above in zip(values, found.tolist(), strict=True):
        if value == 0.0:
            assert above == 1.0
        elif abs(value) >= 2.0**1023:
            assert above == math.inf
        else:
            assert math.frexp(above)[0] == 0.5
            assert above / 2.0 <= abs(value) < above or above == 5e-324
