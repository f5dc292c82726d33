"""Thresholds and minima that are known in advance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpkit.numerics.bracketing import _geometric, first_true, minimise
from dpkit.numerics.special import Array
from dpkit.testing.strategies import examples

EXAMPLES = examples(200)
exponents = st.floats(-290.0, 290.0)


@EXAMPLES
@given(exponent=exponents, start=st.floats(-6.0, 6.0), relative=st.sampled_from((1e-6, 1e-10, 1e-13)))
def test_the_threshold_is_found_on_the_side_that_holds(exponent: float, start: float, relative: float) -> None:
    threshold = 10.0**exponent
    asked = []

    def holds(x: float) -> bool:
        asked.append(x)
        return x >= threshold

    bracket = first_true(holds, start=10.0**start, relative=relative)
    assert bracket is not None
    fails, succeeds = bracket
    assert fails < threshold <= succeeds <= fails * (1.0 + relative)
    assert {fails, succeeds} <= set(asked)
    assert len(asked) < 100


def test_a_predicate_that_never_holds_has_no_threshold() -> None:
    assert first_true(lambda x: False) is None


def test_a_predicate_that_always_holds_has_nothing_below_it() -> None:
    bracket = first_true(lambda x: True)
    assert bracket is not None
    assert bracket[0] == 0.0
    assert bracket[1] > 0.0


@EXAMPLES
@given(exponent=st.floats(-200.0, 200.0), width=st.floats(0.05, 4.0))
def test_the_minimum_of_a_valley_is_found_wherever_it_lies(exponent: float, width: float) -> None:
    bottom = exponent * math.log(10.0)
    found = minimise(lambda x: 1.0 + ((np.log(x) - bottom) / width) ** 2, low=1e-3, high=1e6)
    assert abs(math.log(found) - bottom) <= 1e-6 * width + 1e-7


@pytest.mark.parametrize("nothing", [np.inf, np.nan, 1.0])
def test_a_curve_without_a_minimum_still_ends(nothing: float) -> None:
    assert minimise(lambda x: np.full_like(x, nothing), low=1e-3, high=1e6) > 0.0


@EXAMPLES
@given(low=st.floats(-299.0, 299.0), decades=st.floats(1e-9, 8.0), count=st.sampled_from([2, 3, 13, 49]))
def test_grids_have_the_bits_of_numpys(low: float, decades: float, count: int) -> None:
    left, right = 10.0**low, 10.0 ** min(low + decades, 300.0)
    assert np.array_equal(_geometric(left, right, count), np.geomspace(left, right, count))


def test_points_that_say_nothing_are_passed_over() -> None:
    def curve(x: Array) -> Array:
        return np.where(x < 2.0, np.nan, np.where(x > 5.0, np.inf, (x - 3.0) ** 2))

    assert minimise(curve, low=1e-3, high=1e6) == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("rising", [True, False])
def test_a_monotone_curve_ends_at_an_end_of_the_floats(rising: bool) -> None:
    found = minimise(lambda x: x if rising else 1.0 / x, low=1e-3, high=1e6)
    assert found <= 1e-280 if rising else found >= 1e280


def test_a_bound_that_depends_on_its_grid_is_not_followed_for_ever():
    def curve(grid):  # falls to the right on grids that reach down to 1e5, and to the left on others
        looks.append(grid)
        assert len(looks) < 200
        return 1.0 / grid if grid[0] < 1e5 else 1.0 + grid

    looks: list = []
    assert minimise(curve, low=1e-2, high=1e3) > 1e3


@EXAMPLES
@given(
    threshold=st.floats(-20.0, 20.0),
    power=st.floats(0.3, 3.0),
    bend=st.floats(0.0, 0.2),
    start=st.floats(-3.0, 3.0),
    wobble=st.sampled_from([0.0, 1e-13, 1e-9, 1e-6, 0.1]),
)
def test_a_known_excess_leads_to_the_same_bracket(threshold, power, bend, start, wobble):
    """Whether the curve is smooth, noisy where it is near to zero, or jumps: the answer is the one without it."""

    def curve(x):
        far = threshold - math.log(x)
        noise = power * wobble * (hash(x) % 7 - 3.0)
        return power * far + bend * math.sin(far) + (noise if abs(far) > 3.0 * wobble else 0.0)

    asked = []

    def holds(x):
        asked.append(x)
        return curve(x) <= 0.0

    plain = first_true(holds, start=math.exp(start))
    without = len(asked)
    assert first_true(holds, start=math.exp(start), excess=curve) == plain
    assert len(asked) - without <= (8 if wobble == 0.0 and abs(threshold - start) > 1e-3 else without + 8)


@pytest.mark.parametrize("off", [0.0, 1e-11, 0.5, math.nan])
def test_a_guide_changes_how_often_excess_is_asked_and_never_what_is_found(off):
    asked = []

    def excess(x):
        asked.append(x)
        return math.log(5.5 / x)

    plain = first_true(lambda x: x >= 5.5, excess=excess)
    without = len(asked)
    assert first_true(lambda x: x >= 5.5, excess=excess, guide=lambda x: math.log(5.5 / x) + off) == plain
    assert off or len(asked) == without


@pytest.mark.parametrize("broken", [lambda x: math.nan, lambda x: math.inf, lambda x: 1.0 / 0.0, lambda x: 3.0, lambda x: x])
def test_an_excess_that_leads_nowhere_is_left(broken):
    assert first_true(lambda x: x >= 5.5, excess=broken) == first_true(lambda x: x >= 5.5)


def test_an_excess_that_lies_about_the_threshold_is_found_out():
    assert first_true(lambda x: x >= 5.5, excess=lambda x: math.log(7.0 / x)) == first_true(lambda x: x >= 5.5)
