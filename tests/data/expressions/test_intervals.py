"""Interval arithmetic, against values drawn from the ranges: every outcome lies in the range that was promised."""

import math

import numpy as np
import pytest

from dpkit.data.expressions import intervals

RANGES = [
    (0.0, 1.0),
    (-1.0, 0.0),
    (-2.0, 3.0),
    (0.5, 0.5),
    (1e-300, 1e300),
    (-1e200, -1e-200),
    (0.0, 0.0),
    (2.0, 7.0),
    (-0.1, 0.3),
]


def drawn(given, rng):
    lower, upper = given
    inside = rng.uniform(0.0, 1.0, 20) * (upper - lower) + lower
    return np.concatenate([[lower, upper], inside.clip(lower, upper)])


BINARY = {
    "add": (np.add, lambda one, other: True),
    "multiply": (np.multiply, lambda one, other: True),
    "divide": (np.divide, lambda one, other: other != 0.0),
    "remainder": (np.fmod, lambda one, other: other != 0.0),
    "power": (np.power, lambda one, other: not (one == 0.0 and other < 0.0)),
}


@pytest.mark.parametrize("name", BINARY)
def test_outcomes_lie_where_they_are_promised(name):
    compute, counts = BINARY[name]
    rng = np.random.default_rng(6)
    for one in RANGES:
        for other in RANGES:
            lower, upper = getattr(intervals, name)(one, other)
            for left in drawn(one, rng):
                with np.errstate(all="ignore"):
                    found = [(compute(left, right), right) for right in drawn(other, rng)]
                for value, right in found:
                    if counts(left, right) and not math.isnan(value):
                        slack = 2.0**-45 * abs(value) if name == "power" else 0.0  # evaluation clips powers
                        assert lower - slack <= value <= upper + slack, (one, other, left, right)


def test_known_ranges():
    assert intervals.divide((1.0, 2.0), (0.5, 4.0)) == (0.25, 4.0)
    assert intervals.divide((0.0, 5.0), (0.0, 10.0)) == (0.0, math.inf)
    assert intervals.divide((1.0, 2.0), (-1.0, 1.0)) == intervals.EVERYTHING
    assert intervals.divide((1.0, 2.0), (-4.0, 0.0)) == (-math.inf, -0.25)
    assert intervals.magnitude((-3.0, 2.0)) == (0.0, 3.0)
    assert intervals.multiply((-1.0, 2.0), (-math.inf, 0.0)) == (-math.inf, math.inf)
    assert intervals.power((-2.0, 1.0), (2.0, 2.0))[0] == 0.0
    assert intervals.least([(0.0, 5.0), (2.0, 3.0)]) == (0.0, 3.0)
    assert intervals.greatest([(0.0, 5.0), (2.0, 3.0)]) == (2.0, 5.0)


def test_a_range_that_is_too_small_would_be_seen():
    """A mutant that forgets one corner of a product."""
    one, other = (-2.0, 3.0), (-1.0, 4.0)
    mutant = (one[0] * other[0], one[1] * other[1])
    assert not mutant[0] <= one[0] * other[1] <= mutant[1]
    assert intervals.multiply(one, other) == (-8.0, 12.0)
