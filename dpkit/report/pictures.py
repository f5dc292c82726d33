"""Pictures as inline SVG: this file places what is drawn, pictures.svg draws it and escapes every name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from markupsafe import Markup

from dpkit.analysis.showing.html import render
from dpkit.analysis.showing.text import number
from dpkit.numerics.rounding import percent_up

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 440.0, 122.0, 16.0, 20.0, 34.0
_LETTER, _MOST_LETTERS = 6.0, 34
"""How wide a letter is, about; and how many of a name stand beside an interval."""

Point = tuple[float, float]
_BOX = re.compile(r'viewBox="0 0 [\d.]+ ([\d.]+)"')


def bars(
    rows: Sequence[tuple[str, float]],
    *,
    title: str,
    unit: str = "",
    headed: bool = False,
    shown: Callable[[float], str] = number,
) -> Markup:
    """One bar a row, with its number (bounds are `shown` by `at_most` or `at_least`); names stand beside the bars, or above
    them where one is long; `headed` by the title.
    """
    largest = max((value for _, value in rows if math.isfinite(value)), default=0.0) or 1.0
    above = any(len(name) > 18 for name, _ in rows)
    left, step = (4.0, 42.0) if above else (LEFT, 28.0)
    drawn = []
    for place, (name, value) in enumerate(rows):
        length = (WIDTH - left - RIGHT - 64.0) * (value / largest if math.isfinite(value) else 0.0)
        drawn.append((_cut(name, 74), TOP + step * place, length, f"{shown(value)}{unit}"))
    height = TOP + step * len(rows) + 6.0
    return render("report/pictures.svg", "bars", title=title, height=height, rows=drawn, left=left, above=above, headed=headed)


def gauge(spent: float, held: float) -> Markup:
    """The parts of a budget, from 0 to 1: spent, held by open runs, and left."""
    wide = WIDTH - 8.0
    words = f"{percent_up(spent)} spent" + (f", {percent_up(held)} held by open runs" if held else "")
    first, second = wide * min(1.0, spent), wide * min(1.0, held)
    return render("report/pictures.svg", "gauge", title="the budget", spent=first, held=second, wide=wide, words=words)


def intervals(rows: Sequence[tuple[str, float, float, float]], *, title: str, from_zero: bool = False) -> Markup:
    """A dot for each value with the interval from lower to upper, on one scale; with `from_zero`, on bars that begin there."""
    finite = [row for row in rows if all(map(math.isfinite, row[1:]))]
    if not finite:
        return Markup("")
    low, high = min(min(row[1:]) for row in finite), max(max(row[1:]) for row in finite)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    height = TOP + 28.0 * len(finite) + BOTTOM
    left = max(LEFT, 14.0 + _LETTER * min(max(len(name) for name, *_ in finite), _MOST_LETTERS))
    x, marks = _across(low - margin, high + margin, height, left)
    drawn = [
        (_cut(name, _MOST_LETTERS), TOP + 28.0 * place + 12.0, x(lower), x(value), x(upper))
        for place, (name, value, lower, upper) in enumerate(finite)
    ]
    zero = x(0.0) if from_zero else None
    return render("report/pictures.svg", "intervals", title=title, height=height, rows=drawn, marks=marks, left=left, zero=zero)


def curves(series: Sequence[tuple[str, Sequence[Point]]], *, title: str, across: str, up: str, height: float = 230.0) -> Markup:
    """Lines through points; the caller gives both axes in the scale they are drawn in."""
    finite = [(name, [point for point in points if all(map(math.isfinite, point))]) for name, points in series]
    everything = [point for _, points in finite for point in points]
    if not everything:
        return Markup("")
    across_all, up_all = zip(*everything, strict=True)
    levels = _round_numbers(min(up_all), max(up_all), most=4)
    x, marks = _across(*_ends(across_all), height)
    bottom, top = _ends((*up_all, *levels))
    floor, span = height - BOTTOM, height - BOTTOM - TOP

    def y(value: float) -> float:
        return floor - span * (value - bottom) / (top - bottom)

    return render(
        "report/pictures.svg",
        "curves",
        title=title,
        height=height,
        series=[(name, [(x(one), y(other)) for one, other in points]) for name, points in finite if points],
        marks=marks,
        levels=list(zip(map(y, levels), _labels(levels), strict=True)),
        across=across,
        up=up,
    )


def stacked(pictures: Sequence[Markup], *, title: str) -> Markup:
    """Pictures of this file, one below the other, as one; those with nothing to show are left out."""
    placed, height = [], 0.0
    for picture in pictures:
        found = _BOX.search(picture)
        if found is not None:
            placed.append((height, float(found[1]), picture))
            height += float(found[1]) + 12.0
    return render("report/pictures.svg", "stacked", title=title, height=height, pictures=placed) if placed else Markup("")


def _across(
    low: float, high: float, height: float, left: float = LEFT
) -> tuple[Callable[[float], float], list[tuple[float, float, str]]]:
    """Where a value stands on the axis, and the axis' marks; the one at zero reaches up where values are on both sides."""

    def x(value: float) -> float:
        return left + (WIDTH - left - RIGHT) * (value - low) / (high - low)

    floor = height - BOTTOM
    marks = [value for value in _round_numbers(low, high, most=6) if low <= value <= high]
    tops = [TOP if value == 0.0 and low < 0.0 < high else floor for value in marks]
    return x, list(zip(map(x, marks), tops, _labels(marks), strict=True))


def _labels(marks: Sequence[float]) -> list[str]:
    """The marks as numbers, with as many digits as tell them apart."""
    shown = [number(mark) for mark in marks]
    for digits in range(5, 18):
        if len(set(shown)) == len(marks):
            break
        shown = [f"{mark:.{digits}g}" for mark in marks]
    return shown


def _round_numbers(low: float, high: float, *, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, at most `most` of them, that reach over what is between the ends."""
    width = (high - low) or abs(high) or 1.0
    for step in (size * 10.0**power for power in range(math.floor(math.log10(width)) - 1, 400) for size in (1, 2, 5)):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            return [step * count for count in range(first, last + 1)]
    return []


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest value; where they are equal, a little below and above."""
    low, high = min(values), max(values)
    margin = 0.0 if low < high else 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _cut(text: str, most: int = 18) -> str:
    return text if len(text) <= most else text[: most - 2] + "…"
