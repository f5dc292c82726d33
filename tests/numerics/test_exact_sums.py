"""Exact sums: equal to rational arithmetic on adversarial values, in every order, block size and partition."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_sums import (
    ExactSum,
    floats_of,
    grid_below,
    guarded_steps,
    is_power_of_two,
    rows_per_exact_sum,
    runs_of,
    truncated,
    whole_steps,
)
from dpkit.testing.strategies import examples

ADVERSARIAL = [
    1e308,
    -1e308,
    5e-324,
    -5e-324,
    -0.0,
    0.0,
    1.0,
    -1.0,
    1 / 3,
    np.nextafter(1.0, 0.0),
    1e-162,
    np.nan,
    np.inf,
    -np.inf,
]
bounds = st.one_of(st.sampled_from([1.0, 2.0**-400, 2.0**400, 0.1, 1e100]), st.floats(1e-100, 1e100))


def exact_total(parts, *, shape, grid):
    return reduce(ExactSum.plus, parts, ExactSum.zero(shape, grid=grid))


def exactly(values, *, bound, grid):
    """The reference: each value guarded and cut in rational arithmetic."""
    total = Fraction(0)
    for value in values:
        if value == value:
            clamped = Fraction(min(max(value, -bound), bound)) / Fraction(grid)
            total += int(clamped) * Fraction(grid)  # int() cuts towards zero
    return total


def summed(values, *, bound, grid, size):
    parts = [
        ExactSum.of_steps(np.sum(guarded_steps(np.array(values[start : start + size]), bound=bound, grid=grid)), grid=grid)
        for start in range(0, len(values), size)
    ]
    return exact_total(parts, shape=(), grid=grid)


@examples(200)
@given(
    values=st.lists(st.one_of(st.sampled_from(ADVERSARIAL), st.floats()), max_size=60),
    bound=bounds,
    size=st.integers(1, 20),
    order=st.randoms(use_true_random=False),
)
@example(values=ADVERSARIAL, bound=1.0, size=4, order=None)
def test_sums_equal_rational_sums_in_any_order_and_block_size(values, bound, size, order):
    grid = grid_below(bound)
    total = summed(values, bound=bound, grid=grid, size=size)
    expected = exactly(values, bound=bound, grid=grid)
    assert Fraction(int(total.steps()[()])) * Fraction(grid) == expected
    assert total.nearest() == expected.numerator / expected.denominator
    if order is not None:
        shuffled = order.sample(values, len(values))
        assert np.array_equal(summed(shuffled, bound=bound, grid=grid, size=7).steps(), total.steps())


@settings(deadline=None)
@given(bound=bounds)
def test_the_grid_cuts_the_bound_into_forty_bits_and_4096_rows_are_exact(bound):
    grid = grid_below(bound)
    assert is_power_of_two(grid)
    assert 2**39 < Fraction(bound) / Fraction(grid) <= 2**40
    assert rows_per_exact_sum(bound, grid) >= 2**13


def test_blas_adds_blocks_of_quantised_products_without_rounding():
    rng = np.random.default_rng(0)
    left = truncated(rng.uniform(-1, 1, size=(4096, 7)), grid=2.0**-20)
    right = truncated(rng.uniform(-1, 1, size=(4096, 5)), grid=2.0**-20)
    left[:1000], right[:1000] = 1.0, 1.0
    whole = left.T @ right
    exact = (left * 2**20).astype(np.int64).T.astype(object) @ (right * 2**20).astype(np.int64).astype(object)
    assert np.array_equal((whole * 2.0**40).astype(np.int64), exact.astype(np.int64))
    order = rng.permutation(4096)
    for size in (4096, 1000, 333, 1):
        parts = [
            ExactSum.of_steps(left[rows].T @ right[rows] * 2.0**40, grid=2.0**-40)
            for rows in np.split(order, range(size, 4096, size))
        ]
        assert np.array_equal(exact_total(parts, shape=(7, 5), grid=2.0**-40).nearest(), whole)


def test_a_total_never_wraps_and_saturates_only_as_a_float():
    huge = ExactSum.of_steps(np.array([2**53, -(2**53)]), grid=1.0)
    total, steps = huge, 2**53
    for _ in range(200):  # doubling: far beyond 64 bits, and beyond the largest float at this grid
        total, steps = total.plus(total), 2 * steps
    assert total.steps().tolist() == [steps, -steps]
    largest = np.finfo(np.float64).max
    assert ExactSum(grid=2.0**900, high=total.high, low=total.low).nearest().tolist() == [largest, -largest]


def test_adding_is_associative_and_commutative_to_the_bit():
    rng = np.random.default_rng(1)
    parts = [ExactSum.of_steps(rng.integers(-(2**53), 2**53, size=4), grid=0.5) for _ in range(30)]
    forward = exact_total(parts, shape=(4,), grid=0.5)
    backward = exact_total(parts[::-1], shape=(4,), grid=0.5)
    nested = exact_total(parts[:9], shape=(4,), grid=0.5).plus(exact_total(parts[9:], shape=(4,), grid=0.5))
    for other in (backward, nested):
        assert np.array_equal(forward.high, other.high)
        assert np.array_equal(forward.low, other.low)


@settings(deadline=None)
@given(steps=st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=5), power=st.integers(-60, 53))
def test_a_split_total_is_the_total(steps, power):
    total = ExactSum.of_steps(np.array(steps), grid=2.0**-40)
    total = total.plus(total).plus(total)
    unit = 2.0**-40 * 2.0**power
    whole, rest = total.split(unit)
    for exact, multiple, remainder in zip(total.steps().tolist(), whole.tolist(), rest.tolist(), strict=True):
        assert multiple * Fraction(unit) + Fraction(remainder) == exact * Fraction(total.grid)
        assert abs(remainder) <= unit / 2


def test_cutting_goes_towards_zero_and_never_to_minus_zero():
    cut = truncated([0.75, -0.75, 1.25, -5e-324, -0.0], grid=0.5)
    assert cut.tolist() == [0.5, -0.5, 1.0, 0.0, 0.0]
    assert not np.signbit(cut[3:]).any()


def test_what_cannot_be_exact_is_refused():
    for bound, grid in ((1.0, 0.3), (1.0, 2.0**-53), (2.0**401, 1.0), (0.0, 1.0), (1.0, np.inf)):
        with pytest.raises(InvalidValueError):
            rows_per_exact_sum(bound, grid)
    total = ExactSum.zero((), grid=1.0)
    for wrong in (lambda: total.split(3.0), lambda: total.split(2.0**54), lambda: total.plus(ExactSum.zero((), grid=2.0))):
        with pytest.raises(InvalidValueError):
            wrong()


def test_a_coarse_grid_leaves_room_for_one_row_at_least():
    assert rows_per_exact_sum(0.5, 1.0) == 2**53
    assert rows_per_exact_sum(1.0, 2.0**-52) == 2
    assert floats_of(np.array([3], dtype=object), grid=0.5).tolist() == [1.5]


def test_integers_add_up_rows_that_float64_could_not():
    """Steps of 53 bits of both signs: the sum over rows, by limbs, is that of Python's integers."""
    steps = np.random.default_rng(4).integers(-(2**53), 2**53, (3_000, 2)).astype(np.float64)
    steps[:2] = [[2.0**53, -(2.0**53)], [-(2.0**53), 2.0**53]]
    total = ExactSum.of_rows(steps, grid=2.0**-50).plus(ExactSum.of_rows(steps[:0], grid=2.0**-50))
    assert total.steps().tolist() == [sum(map(int, column)) for column in steps.T.tolist()]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50))
def test_any_integers_of_64_bits_are_added_exactly(integers):
    found = ExactSum.of_integers(np.array(integers, dtype=np.int64), grid=1.0)
    assert int(found.steps()) == sum(integers)


@pytest.mark.parametrize("sums", [[0.5], [np.nan], [np.inf], [2.0**53 + 2.0], [3.0, -1e300]])
def test_what_float64_did_not_add_up_exactly_is_no_number_of_steps(sums):
    assert whole_steps(np.array([2.0**53, -(2.0**53), 0.0, -0.0])).tolist() == [2**53, -(2**53), 0, 0]
    with pytest.raises(InvalidValueError, match="whole numbers"):
        whole_steps(np.array(sums))


@pytest.mark.parametrize("length", [0, 1, 4, 5, 8, 11])
def test_runs_are_all_values_in_their_order_without_a_copy(length):
    columns = np.arange(3.0 * length).reshape(3, length)
    runs = [run for part in runs_of(columns, 4) for run in part]
    assert all(run.shape[-1] <= 4 for run in runs)
    assert np.array_equal(np.concatenate(runs, axis=-1), columns)
    assert all(np.shares_memory(run, columns) for run in runs if run.size)
    assert [run.shape[0] for run in runs_of(columns[0], 4)[-1:]] == [1 if length % 4 or length < 4 else length // 4]
