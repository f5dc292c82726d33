"""Values are taken exactly or refused: integers of any size, in lists and arrays; limits; masks; ragged lists."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpkit.errors import InvalidValueError
from dpkit.numerics.noise.noise_inputs import checked_integers, checked_value

LARGEST = 2**61
CANARY = 98765432123456789012345


def integers(value, saturate=None):
    return checked_integers(value, largest=LARGEST, saturate=saturate, where="here")


def reals(value, saturate=None):
    return checked_value(value, saturate=saturate, where="here")


def clamp(number, limit):
    return max(-limit, min(limit, number))


@settings(deadline=None)  # a busy machine is no counterexample
@given(st.lists(st.integers(-(2**70), 2**70), max_size=6), st.integers(1, 2**70))
def test_integers_of_any_size_saturate_exactly(numbers, limit):
    for given_as in (list, tuple, lambda listed: np.array(listed, dtype=object)):
        clamped = integers(given_as(numbers), saturate=limit)
        assert clamped.dtype == np.int64
        assert clamped.tolist() == [clamp(number, min(limit, LARGEST)) for number in numbers]


@settings(deadline=None)  # a busy machine is no counterexample
@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=6))
def test_integers_are_taken_exactly_or_refused(numbers):
    if max(map(abs, numbers)) <= LARGEST:
        assert integers(numbers).tolist() == numbers
    else:
        with pytest.raises(InvalidValueError, match="larger magnitude"):
            integers(numbers)


@settings(deadline=None)  # a busy machine is no counterexample
@given(st.lists(st.integers(-(2**70), 2**70) | st.floats(-1e300, 1e300), min_size=1, max_size=6))
def test_reals_in_lists_are_taken_exactly_or_refused(numbers):
    """Mixed with floats, numpy would round an integer beyond 2**53 without a word."""
    limit = 2.0**450
    large = [isinstance(number, int) and abs(number) > 2**53 for number in numbers]
    if any(large) or any(abs(number) > limit for number in numbers):
        with pytest.raises(InvalidValueError):
            reals(numbers)
    else:
        assert reals(numbers).tolist() == numbers
    expected = [clamp(number, 2**53 if isinstance(number, int) else limit) for number in numbers]
    assert reals(numbers, saturate=limit).tolist() == expected


@pytest.mark.parametrize("numbers", [[2**63, -1], [CANARY, -1], [2**64, 0.5], [2**53 + 1, 0.5], 2**70, [[1, 2**70], [0, 1]]])
def test_what_numpy_would_round_is_refused_and_never_shown(numbers):
    with pytest.raises(InvalidValueError) as caught:
        reals(numbers)
    assert "larger magnitude" in str(caught.value)
    assert not any(digits in str(caught.value) for digits in (str(CANARY), "9223372036854775808", "9007199254740993"))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_the_ends_of_every_integer_type_saturate(dtype):
    ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    assert integers(np.array(ends, dtype=dtype), saturate=100).tolist() == [clamp(end, 100) for end in ends]
    assert integers(np.array(ends, dtype=dtype), saturate=1e99).tolist() == [clamp(end, LARGEST) for end in ends]


@pytest.mark.parametrize("saturate", [math.nan, math.inf, -1, 0, 0.5, True, "10", 10**400, [3]])
def test_a_limit_for_integers_is_a_number_of_at_least_one(saturate):
    with pytest.raises(InvalidValueError, match=r"saturate.*from 1 to"):
        integers([1], saturate=saturate)


def test_a_limit_between_two_integers_clamps_to_the_smaller():
    assert integers([5, -5], saturate=2.5).tolist() == [2, -2]


@pytest.mark.parametrize("check", [integers, reals])
@pytest.mark.parametrize("saturate", [None, 10.0])
@pytest.mark.parametrize("value", [[[1], [1, 2]], [1, [2, 3]], [1, "two"], [1, None], "text", [1, 2j], None, [True, False]])
def test_what_is_no_array_of_numbers_gets_an_error_of_ours(check, saturate, value):
    with pytest.raises(InvalidValueError) as caught:
        check(value, saturate=saturate)
    assert caught.value.__cause__ is None
    assert "two" not in str(caught.value)


@pytest.mark.parametrize("value", [[1.5], [1.0], np.array([1.0]), np.array([]), [1, 2.5]])
def test_floats_are_no_integers(value):
    with pytest.raises(InvalidValueError, match="integers"):
        integers(value)


def test_an_empty_list_is_an_array_of_either_kind():
    assert integers([]).shape == reals([]).shape == (0,)


@pytest.mark.parametrize("check", [integers, reals])
@pytest.mark.parametrize("saturate", [None, 10.0])
def test_a_mask_is_refused_because_it_would_be_ignored(check, saturate):
    with pytest.raises(InvalidValueError, match=r"masked array.*Fill"):
        check(np.ma.array([1, 2], mask=[False, True]), saturate=saturate)


def test_nothing_is_signalled_on_a_value():
    signaling = np.array([0x7FA00000, 0x7F800000], dtype=np.uint32).view(np.float32)
    with np.errstate(all="raise"):
        assert reals(signaling, saturate=5.0).tolist() == [0.0, 5.0]
