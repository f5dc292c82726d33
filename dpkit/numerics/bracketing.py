"""Bracketing on the safe side: a threshold of a monotone predicate, and the minimum of a curve of upper bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpkit.numerics.special import Array

_LARGEST_EXPONENT = 1020.0
_COARSE, _ZOOM = 49, 13
_Seen = tuple[float, float]
"""A number and its excess."""


def first_true(
    holds: Callable[[float], bool], *, start: float = 1.0, relative: float = 1e-10, factor: float = 4.0
) -> tuple[float, float] | None:
    """The bracket `(fails, holds)` of the smallest positive number at which a monotone predicate holds: `first_within` without
    a hint how far off a number is, which is bisection.
    """
    return first_within(lambda number: -1.0 if holds(number) else 1.0, start=start, relative=relative, factor=factor)


def first_within(
    excess: Callable[[float], float], *, start: float = 1.0, relative: float = 1e-10, factor: float = 4.0
) -> tuple[float, float] | None:
    """The bracket `(exceeds, within)` of the smallest positive number whose excess is at most 0.

    The excess is above 0 below some threshold and at most 0 from it on; how large it is only says where to look next. The
    second end of the bracket was seen to be within, so it is on the safe side whatever the rounding; the two ends differ by at
    most `relative`. None when no positive float is within; the first end is 0 when all are.

    Chandrupatla (1997): an inverse parabola through the last three places where it can be trusted, and bisection elsewhere,
    all of it on logarithms.
    """
    low, high = _expand(excess, start=start, factor=factor)
    if high is None:
        return None
    if low is None:
        return 0.0, high[0]
    new, old, part, left = high, low, 0.5, 2 + math.ceil(math.log2(_log_ratio(high, low) / relative))
    while high[0] > low[0] * (1.0 + relative):
        width = _log_ratio(old, new)
        least = 0.5 * relative / abs(width)  # so that the bracket closes on both sides
        place = new[0] * math.exp(min(max(part, least), 1.0 - least) * width)
        if not low[0] < place < high[0]:
            place = math.sqrt(low[0]) * math.sqrt(high[0])
            if not low[0] < place < high[0]:
                break
        before, new = new, (place, excess(place))
        if (new[1] <= 0.0) == (before[1] <= 0.0):
            third = before
        else:
            third, old = old, before
        low, high = (old, new) if new[1] <= 0.0 else (new, old)
        left -= 1  # of the turns that bisection takes: afterwards there is nothing else
        part = _inverse_parabola(new, old, third) if left > 0 else 0.5
    return low[0], high[0]


def _inverse_parabola(new: _Seen, old: _Seen, third: _Seen) -> float:
    """Which part of the way from the new place to the old one a parabola through all three crosses zero at; 1/2 where it is
    not sure to be monotone.
    """
    f1, f2, f3 = new[1], old[1], third[1]
    if not all(map(math.isfinite, (f1, f2, f3))) or f3 in (f1, f2):
        return 0.5
    share, rise = _log_ratio(new, old) / _log_ratio(third, old), (f1 - f2) / (f3 - f2)
    if not (rise * rise < share and (1.0 - rise) ** 2 < 1.0 - share):
        return 0.5
    way = _log_ratio(third, new) / _log_ratio(old, new)
    return f1 / (f2 - f1) * f3 / (f2 - f3) + way * f1 / (f3 - f1) * f2 / (f3 - f2)


def _log_ratio(one: _Seen, other: _Seen) -> float:
    ratio = one[0] / other[0]
    return math.log(ratio) if 1e-300 < ratio < math.inf else math.log(one[0]) - math.log(other[0])


def _expand(excess: Callable[[float], float], *, start: float, factor: float) -> tuple[_Seen | None, _Seen | None]:
    """Walk from `start` with growing strides until the excess changes its side."""
    position, log_stride = (start, excess(start)), math.log(factor)
    if position[1] <= 0.0:
        while True:
            below = _scaled(position[0], -log_stride)
            if below is None:
                return None, position
            found = below, excess(below)
            if found[1] > 0.0:
                return found, position
            position, log_stride = found, 2.0 * log_stride
    while True:
        above = _scaled(position[0], log_stride)
        if above is None:
            return None, None
        found = above, excess(above)
        if found[1] <= 0.0:
            return position, found
        position, log_stride = found, 2.0 * log_stride


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
        grid = np.geomspace(left, right, zoom)
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
        grid = np.geomspace(low, high, coarse)
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


def _smallest(values: Array) -> int:
    return int(np.argmin(np.where(np.isnan(values), np.inf, values)))
