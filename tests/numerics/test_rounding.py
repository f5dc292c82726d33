"""Rounding against exact rationals: the right side, and no further than the next float."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpkit.numerics.rounding import SMALLEST, exact_sum, next_up, outward, round_down, round_up, sqrt_up
from dpkit.testing.strategies import examples

EXAMPLES = examples(300)
floats = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=SMALLEST, allow_nan=False, allow_infinity=False, allow_subnormal=True)
rationals = st.builds(
    lambda numerator, denominator, power: Fraction(numerator, denominator) * Fraction(2) ** power,
    st.integers(-(10**30), 10**30),
    st.integers(1, 10**30),
    st.integers(-1150, 900),
)
LARGEST = math.nextafter(math.inf, 0.0)


@EXAMPLES
@given(exact=rationals)
def test_round_up_is_the_smallest_float_that_is_not_below(exact: Fraction) -> None:
    above = round_up(exact)
    assert Fraction(above) >= exact
    assert Fraction(math.nextafter(above, -math.inf)) < exact


@EXAMPLES
@given(exact=rationals)
def test_round_down_is_the_largest_float_that_is_not_above(exact: Fraction) -> None:
    below = round_down(exact)
    assert Fraction(below) <= exact
    assert Fraction(math.nextafter(below, math.inf)) > exact


@EXAMPLES
@given(value=floats)
def test_a_float_rounds_to_itself(value: float) -> None:
    assert round_up(Fraction(value)) == value == round_down(Fraction(value))


def test_what_no_float_holds_is_infinite_on_the_safe_side() -> None:
    huge = Fraction(10) ** 400
    assert round_up(huge) == math.inf
    assert round_down(huge) == LARGEST
    assert round_up(-huge) == -LARGEST
    assert round_up(Fraction(LARGEST) + 1) == math.inf
    assert round_up(1 / huge) == SMALLEST
    assert round_down(1 / huge) == 0.0


@EXAMPLES
@given(terms=st.lists(st.tuples(floats | rationals, st.integers(0, 10**12)), max_size=20))
def test_exact_sum_is_exact(terms: list[tuple[float | Fraction, int]]) -> None:
    assert exact_sum(terms) == sum((Fraction(value) * count for value, count in terms), Fraction(0))


@EXAMPLES
@given(exact=rationals.map(abs))
def test_sqrt_up_is_never_below_and_two_floats_above_at_most(exact: Fraction) -> None:
    root = sqrt_up(exact)
    assert Fraction(root) ** 2 >= exact
    if root > 0.0:
        closer = math.nextafter(math.nextafter(root, 0.0), 0.0)
        assert Fraction(closer) ** 2 <= exact


@pytest.mark.parametrize("value", [1e-170, 1e-300, SMALLEST, 1e170, 1e300, 0.0])
def test_sqrt_up_of_a_square_that_no_float_holds(value: float) -> None:
    assert sqrt_up(Fraction(value) ** 2) == pytest.approx(value, rel=1e-15, abs=0.0)


@EXAMPLES
@given(value=positive.filter(lambda x: x < 1e300), ulps=st.floats(0.0, 64.0), error=st.floats(-1.0, 1.0))
def test_outward_covers_the_error_it_promises_to_cover(value: float, ulps: float, error: float) -> None:
    exact = Fraction(value) + Fraction(error) * Fraction(ulps) * Fraction(2) ** -53 * Fraction(value)
    assert Fraction(outward(value, magnitude=value, ulps=ulps)) >= exact


def test_outward_leaves_infinity_alone_and_moves_zero() -> None:
    assert outward(math.inf, magnitude=1.0) == math.inf
    assert outward(0.0, magnitude=0.0) == next_up(0.0) == SMALLEST
