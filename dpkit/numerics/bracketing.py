"""Bracketing on the safe side: a threshold of a monotone predicate, and the minimum of a curve of upper bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from dpkit.numerics.special import Array

_LARGEST_EXPONENT = 1020.0
_COARSE, _ZOOM = 49, 13
_SECANTS, _LARGEST_STEP, _NEAR = 14, 7.0, 1e-3
"""How many secants are tried before the plain search, how far one may lead in the logarithm, and what is near."""


def first_true(
    holds: Callable[[float], bool],
    *,
    start: float = 1.0,
    relative: float = 1e-10,
    factor: float = 4.0,
    excess: Callable[[float], float] | None = None,
    guide: Callable[[float], float] | None = None,
) -> tuple[float, float] | None:
    """The bracket `(fails, holds)` of the smallest positive number at which a monotone predicate holds.

    `holds` is false below some threshold and true above it. The second end of the bracket was seen to hold, so it is on
    the safe side whatever the rounding; the two ends differ by at most `relative`. None when it holds nowhere among the
    positive floats; the first end is 0 when it holds everywhere.

    `excess`: a number that falls through 0 where `holds` begins, if one is known. Where it is smooth the same bracket is found
    in a third of the calls: the numbers that are asked are fixed beforehand, and those on one side of a place where it was
    seen to fail, or to hold, are not asked. `guide`: a cheaper number that most likely falls through 0 at the same place; it
    is asked first. Whatever leads there, `holds` itself was asked at both ends of the bracket.
    """
    asked = cache(holds)
    for leading in (guide, excess):
        known = None if leading is None else _crossing(leading, start=start, relative=relative)
        if known is None:
            continue
        fails, works = known

        def seen(place: float, fails: float = fails, works: float = works) -> bool:
            return place > fails and (place >= works or asked(place))

        found = first_true(seen, start=start, relative=relative, factor=factor)
        if found is not None and found[0] > 0.0 and asked(found[1]) and not asked(found[0]):
            return found
    low, high = _expand(holds, start=start, factor=factor)
    if high is None:
        return None
    if low is None:
        return 0.0, high
    # Bisection of the logarithm: the number of calls depends on the precision alone, whatever the predicate looks like.
    while high > low * (1.0 + relative):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def _crossing(excess: Callable[[float], float], *, start: float, relative: float) -> tuple[float, float] | None:
    """Two numbers, some `relative` apart, where `excess` was seen above 0 and not above; None where it is not smooth there.

    Secants through its last two points, in the logarithm of the number.
    """
    place, step, slope = math.log(start), math.inf, -1.0
    points: list[tuple[float, float]] = []
    for _ in range(_SECANTS):
        value = _excess_at(excess, place)
        if value is None:
            return None
        points.append((place, value))
        if len(points) > 1 and points[-1][0] != points[-2][0]:
            slope = (points[-1][1] - points[-2][1]) / (points[-1][0] - points[-2][0])
        if not slope < 0.0:
            return None
        before, step = step, -value / slope
        step = min(max(step, -_LARGEST_STEP), _LARGEST_STEP)
        place += step
        if (
            abs(step) < _NEAR and abs(step * before) < 0.1 * relative
        ):  # the error of the next point is of the order of this product
            near = _seen_around(excess, place, relative, slope)
            return _seen_around(excess, place, 2.5 * relative, slope) if near is None else near
    return None


def _seen_around(excess: Callable[[float], float], place: float, margin: float, slope: float) -> tuple[float, float] | None:
    """The numbers a margin below and above, if they fall on two sides and by as much as the slope says."""
    below, above = _excess_at(excess, place - margin), _excess_at(excess, place + margin)
    if below is None or above is None or not below > 0.0 >= above:
        return None
    return (
        (math.exp(place - margin), math.exp(place + margin)) if 0.8 < (above - below) / (2.0 * margin * slope) < 1.25 else None
    )


def _excess_at(excess: Callable[[float], float], place: float) -> float | None:
    """None where the curve, or the number, is none."""
    try:
        value = excess(math.exp(place))
    except (ArithmeticError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _expand(holds: Callable[[float], bool], *, start: float, factor: float) -> tuple[float | None, float | None]:
    """Walk from `start` with growing strides until the predicate changes."""
    position, log_stride = start, math.log(factor)
    if holds(position):
        while True:
            below = _scaled(position, -log_stride)
            if below is None:
                return None, position
            if not holds(below):
                return below, position
            position, log_stride = below, 2.0 * log_stride
    while True:
        above = _scaled(position, log_stride)
        if above is None:
            return None, None
        if holds(above):
            return position, above
        position, log_stride = above, 2.0 * log_stride


def _scaled(position: float, log_factor: float) -> float | None:
    exponent = math.log(position) + log_factor
    limit = _LARGEST_EXPONENT * math.log(2.0)
    if exponent > limit:
        return math.exp(limit) if position < 0.99 * math.exp(limit) else None
    if exponent < -limit:
        return math.exp(-limit) if position > 1.01 * math.exp(-limit) else None
    return math.exp(exponent)


def minimise(
    curve: Callable[[Array], Array],
    *,
    low: float,
    high: float,
    relative: float = 1e-8,
    coarse: int = _COARSE,
    zoom: int = _ZOOM,
) -> float:
    """Where a curve of upper bounds over (0, inf) is smallest, by zooming a geometric grid, wide of [low, high] if needed.

    Every point of the curve is a valid bound, so a minimum that is missed costs tightness and never soundness. A zoom
    shrinks the window sixfold and stops at a relative width, by default of 1e-8, where a smooth minimum is flat to rounding.
    `coarse` and `zoom` are how many points the first grid and the later ones have: fewer suit a curve that is dear.
    """
    grid, values, best = _widened(curve, low, high, coarse)
    champion, smallest = float(grid[best]), float(values[best])
    while True:
        left, right = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
        if right <= left * (1.0 + relative):
            return champion
        grid = _geometric(left, right, zoom)
        values = curve(grid)
        best = _smallest(values)
        if values[best] < smallest:
            champion, smallest = float(grid[best]), float(values[best])


_GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))


def minimise_unimodal(
    function: Callable[[float], float], *, low: float, high: float, near: float, tolerance: float = 1e-6, most: int = 80
) -> float:
    """Where a function with one valley is smallest, of the places looked at: Brent's parabolas, guarded by golden sections.

    For a function that is dear: about a dozen calls where it is smooth, from a place that is `near` the valley on. A place that
    is missed costs tightness only.
    """
    best = min(max(near, low), high)
    at_best = function(best)
    low, high = _around(function, best, at_best, low=low, high=high)
    second = third = best
    at_second = at_third = at_best
    step = before = 0.0
    for _ in range(most):
        middle, least = 0.5 * (low + high), tolerance * (1.0 + abs(best))
        if abs(best - middle) + 0.5 * (high - low) <= 2.0 * least:
            break
        near, far = (best - second) * (at_best - at_third), (best - third) * (at_best - at_second)
        top, bottom = (best - third) * far - (best - second) * near, 2.0 * (far - near)
        top, bottom = (-top if bottom > 0.0 else top), abs(bottom)
        parabola_is_sure = abs(top) < abs(0.5 * bottom * before) and bottom * (low - best) < top < bottom * (high - best)
        if abs(before) > least and parabola_is_sure:
            before, step = step, top / bottom
        else:
            before = (high if best < middle else low) - best
            step = _GOLDEN * before
        place = best + (step if abs(step) >= least else math.copysign(least, step))
        value = function(place)
        if value <= at_best:
            low, high = (best, high) if place >= best else (low, best)
            third, at_third, second, at_second, best, at_best = second, at_second, best, at_best, place, value
            continue
        low, high = (place, high) if place < best else (low, place)
        if value <= at_second or second == best:
            third, at_third, second, at_second = second, at_second, place, value
        elif value <= at_third or third in (best, second):
            third, at_third = place, value
    return best


def _around(function: Callable[[float], float], place: float, value: float, *, low: float, high: float) -> tuple[float, float]:
    """Ends between which the one valley lies: on each side as far as the function falls, by strides that double."""
    ends = []
    for limit, sign in ((low, -1.0), (high, 1.0)):
        stride, before, at = 0.25, value, place
        while at != limit:
            at = max(limit, at - stride) if sign < 0.0 else min(limit, at + stride)
            here = function(at)
            if here > before:
                break
            before, stride = here, 2.0 * stride
        ends.append(at)
    return ends[0], ends[1]


def _widened(curve: Callable[[Array], Array], low: float, high: float, coarse: int) -> tuple[Array, Array, int]:
    """A grid whose smallest value is not at an end, as far as positive floats go.

    A bound may depend on the grid that it is asked for on, and then each of two grids can point to the other: who would turn
    back stays, at the better of the two.
    """
    before: tuple[Array, Array, int] | None = None
    while True:
        grid = _geometric(low, high, coarse)
        values = curve(grid)
        best = _smallest(values)
        found = grid, values, best
        falls_left, falls_right = best == 0 and low > 1e-290, best == coarse - 1 and high < 1e290
        if not (falls_left or falls_right):
            return found
        if before is not None and (before[2] == 0) != falls_left:
            return found if values[best] <= before[1][before[2]] else before
        before = found
        low, high = (max(low * 1e-8, 1e-300), float(grid[1])) if falls_left else (float(grid[-2]), min(high * 1e8, 1e300))


def _geometric(low: float, high: float, count: int) -> Array:
    """The bits of numpy's geomspace of two positive numbers, without its checks: searches ask for small grids, often."""
    first, last = np.log10([low, high])
    exponents = _ranks(count) * ((last - first) / (count - 1)) + first
    exponents[-1] = last
    grid: Array = np.power(10.0, exponents)
    grid[0], grid[-1] = low, high
    return grid


@cache
def _ranks(count: int) -> Array:
    return np.arange(count, dtype=float)


def _smallest(values: Array) -> int:
    return int(np.argmin(np.where(np.isnan(values), np.inf, values)))
