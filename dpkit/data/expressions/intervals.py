"""Interval arithmetic: from the ranges of operands to a range that holds every outcome, float64's own rounding included.

Sums, differences, products, quotients, square roots and roundings of float64 are monotone in each operand where their signs are
fixed, also after rounding. So the extremes are at the corners, computed by the same operation. Of exponentials, logarithms and
powers no such promise is made: their ranges are widened, and `evaluate` clips what it computes to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product

import numpy as np

Range = tuple[float, float]
EVERYTHING: Range = (-math.inf, math.inf)
_LOOSE = 2.0**-40


def hull(values: Iterable[float]) -> Range:
    """The smallest range with all of these; everything, where one of them is not a number."""
    found = list(values)
    return EVERYTHING if any(math.isnan(value) for value in found) else (min(found), max(found))


def add(one: Range, other: Range) -> Range:
    """The sum."""
    lower, upper = one[0] + other[0], one[1] + other[1]
    return (-math.inf if math.isnan(lower) else lower), (math.inf if math.isnan(upper) else upper)


def negative(one: Range) -> Range:
    """The value with its sign changed."""
    return -one[1], -one[0]


def multiply(one: Range, other: Range) -> Range:
    """The product: at its corners. What is nothing times an infinite bound is nothing: no value is infinite and counts."""
    return hull(0.0 if left == 0.0 or right == 0.0 else left * right for left, right in product(one, other))


def holds_zero(one: Range) -> bool:
    """Whether a divisor could be nothing."""
    return one[0] <= 0.0 <= one[1]


def divide(one: Range, other: Range) -> Range:
    """The quotient: anything, where the divisor may have either sign. One of 0 gives none, so a divisor from 0 on is positive,
    and as near to 0 as it likes.
    """
    if other[0] == 0.0 < other[1]:
        lower = one[0] / other[1] if one[0] >= 0.0 else -math.inf
        upper = one[1] / other[1] if one[1] <= 0.0 else math.inf
        return hull((lower, upper))
    if other[1] == 0.0 > other[0]:
        return negative(divide(one, negative(other)))
    if holds_zero(other):
        return EVERYTHING
    with np.errstate(all="ignore"):
        return hull(float(np.float64(left) / np.float64(right)) for left, right in product(one, other))


def remainder(one: Range, other: Range) -> Range:
    """What division leaves: with the sign of the dividend, and no larger than it or the divisor."""
    most = min(max(map(abs, one)), max(map(abs, other)))
    return (-most if one[0] < 0.0 else 0.0), (most if one[1] > 0.0 else 0.0)


def magnitude(one: Range) -> Range:
    """The absolute value."""
    ends = sorted(map(abs, one))
    return (0.0 if holds_zero(one) else ends[0]), ends[1]


def rising(function: Callable[[float], float], one: Range, *, loosely: bool = False) -> Range:
    """What a rising function makes of it; `loosely` where the function as computed may not quite rise."""
    with np.errstate(all="ignore"):
        lower, upper = float(function(one[0])), float(function(one[1]))
    return loose((lower, upper)) if loosely else (lower, upper)


def loose(one: Range) -> Range:
    """A little more, for functions whose last bits nobody promises."""
    lower, upper = one
    tiny = 2.0**-1000
    return (
        -math.inf if math.isnan(lower) else lower - abs(lower) * _LOOSE - tiny,
        math.inf if math.isnan(upper) else upper + abs(upper) * _LOOSE + tiny,
    )


def power(base: Range, exponent: Range) -> Range:
    """A power: of a base that is never negative at the corners; of another one by a fixed whole exponent only."""
    fixed = exponent[0] if exponent[0] == exponent[1] and exponent[0].is_integer() else None
    if base[0] < 0.0 and fixed is None:
        return EVERYTHING
    if holds_zero(base) and exponent[0] < 0.0:
        return EVERYTHING
    with np.errstate(all="ignore"):
        corners = [float(np.float64(left) ** np.float64(right)) for left, right in product(base, exponent)]
    if base[0] < 0.0 and holds_zero(base):
        corners.append(1.0 if fixed == 0.0 else 0.0)
    lower, upper = loose(hull(corners))
    is_never_negative = base[0] >= 0.0 or (fixed is not None and fixed % 2.0 == 0.0)
    return (max(lower, 0.0) if is_never_negative else lower), upper


def least(ranges: Iterable[Range]) -> Range:
    """The smallest of several values."""
    lowers, uppers = zip(*ranges, strict=True)
    return min(lowers), min(uppers)


def greatest(ranges: Iterable[Range]) -> Range:
    """The largest of several values."""
    lowers, uppers = zip(*ranges, strict=True)
    return max(lowers), max(uppers)
