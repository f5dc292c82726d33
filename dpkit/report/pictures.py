"""Pictures as inline SVG, written by hand: they take their colours from the page, scale to any width, and load nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from dpkit.analysis.showing.comparison import Comparison
from dpkit.analysis.showing.pieces import Markup, element, joined
from dpkit.analysis.showing.text import number

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 440.0, 122.0, 16.0, 20.0, 34.0
STYLE = """
svg text { font: 11.5px system-ui, sans-serif; fill: currentColor }
svg .axis { stroke: currentColor; stroke-opacity: .35 }
svg .bar { fill: #3b6fd4 } svg .line { fill: none; stroke: #3b6fd4; stroke-width: 2 }
svg .dot { fill: #3b6fd4 } svg .reach { stroke: #3b6fd4; stroke-width: 2 }
svg .s1 { stroke: #d4663b } svg .s2 { stroke: #2e9e6b } svg .s3 { stroke: #9b51c4 } svg .s4 { stroke: #b58900 }
svg .s5 { stroke: #c43b76 } svg .s6 { stroke: #4aa3b5 } svg .s7 { stroke: #888 }
"""

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
    above = any(_cut(name) != name for name, _ in rows)
    left, step, drop = (4.0, 42.0, 14.0) if above else (LEFT, 28.0, 0.0)
    inner = [_text(4, 12, title)] if headed else []
    for place, (name, value) in enumerate(rows):
        y = TOP + step * place
        length = (WIDTH - left - RIGHT - 64.0) * (value / largest if math.isfinite(value) else 0.0)
        inner.append(_text(left, y + 11, _cut(name, 74)) if above else _text(left - 8, y + 15, name, anchor="end"))
        inner.append(element("rect", cls="bar", x=_n(left), y=_n(y + 2 + drop), width=_n(max(length, 0.5)), height=18, rx=2))
        inner.append(_text(left + length + 8, y + 15 + drop, f"{shown(value)}{unit}"))
    return _svg(inner, TOP + step * len(rows) + 6.0, title)


def intervals(rows: Sequence[tuple[str, float, float, float]], *, title: str) -> Markup:
    """A dot for each value with the interval from lower to upper, on one scale."""
    finite = [row for row in rows if all(math.isfinite(value) for value in row[1:])]
    if not finite:
        return Markup("")
    low, high = _padded(min(min(row[1:]) for row in finite), max(max(row[1:]) for row in finite))
    height = TOP + 28.0 * len(finite) + BOTTOM
    inner = _ticks(low, high, height)
    for place, (name, value, lower, upper) in enumerate(finite):
        y = TOP + 28.0 * place + 12.0
        start, middle, end = (_x(item, low, high) for item in (lower, value, upper))
        inner.append(_text(LEFT - 8, y + 4, _cut(name), anchor="end"))
        inner.append(element("line", cls="reach", x1=_n(start), x2=_n(end), y1=_n(y), y2=_n(y)))
        inner.append(element("circle", cls="dot", cx=_n(middle), cy=_n(y), r=4))
    return _svg(inner, height, title)


def curves(series: Sequence[tuple[str, Sequence[Point]]], *, title: str, across: str, up: str, height: float = 230.0) -> Markup:
    """Lines through points; the caller gives both axes in the scale they are drawn in."""
    drawn = [(name, [p for p in points if math.isfinite(p[0]) and math.isfinite(p[1])]) for name, points in series]
    drawn = [(name, points) for name, points in drawn if points]
    if not drawn:
        return Markup("")
    everything = [point for _, points in drawn for point in points]
    low, high = _ends([p[0] for p in everything])
    marks = _round_numbers(min(p[1] for p in everything), max(p[1] for p in everything), most=4)
    bottom, top = _ends([p[1] for p in everything] + marks)
    legend = 18.0 * len(drawn) if len(drawn) > 1 else 0.0
    inner = _ticks(low, high, height)
    floor, span = height - BOTTOM, height - BOTTOM - TOP
    for mark in marks:
        y = floor - span * (mark - bottom) / (top - bottom)
        inner.append(element("line", cls="axis", x1=_n(LEFT), x2=_n(WIDTH - RIGHT), y1=_n(y), y2=_n(y)))
        inner.append(_text(LEFT - 8, y + 4, number(mark), anchor="end"))
    for place, (name, points) in enumerate(drawn):
        path = " ".join(f"{_n(_x(x, low, high))},{_n(floor - span * (y - bottom) / (top - bottom))}" for x, y in points)
        style = f"line s{place}" if place else "line"
        inner.append(element("polyline", cls=style, points=path))
        if legend:
            y = height + 14.0 + 18.0 * place
            inner.append(element("line", cls=style, x1=_n(LEFT), x2=_n(LEFT + 24), y1=_n(y - 4), y2=_n(y - 4)))
            inner.append(_text(LEFT + 32, y, name))
    inner.append(_text(WIDTH - RIGHT, height - 4, across, anchor="end"))
    inner.append(_text(4, 10, up))
    return _svg(inner, height + legend + 8.0, title)


def stacked(pictures: Sequence[Markup], *, title: str) -> Markup:
    """Pictures of this file, one below the other, as one; those with nothing to show are left out."""
    inner, height = [], 0.0
    for picture in pictures:
        found = _BOX.search(picture.text)
        if found is None:
            continue
        place = f'<svg x="0" y="{_n(height)}" width="{_n(WIDTH)}" height="{found[1]}" '
        inner.append(Markup(picture.text.replace("<svg ", place, 1)))
        height += float(found[1]) + 12.0
    return _svg(inner, height, title) if inner else Markup("")


def comparison_picture(found: Comparison) -> Markup:
    """epsilon against delta for every accountant: a file of its own."""
    series = [
        (
            row.accountant,
            [(math.log10(delta), epsilon) for delta, epsilon in zip(found.deltas, row.epsilons, strict=True) if delta],
        )
        for row in found.rows
    ]
    return curves(series, title="epsilon of each accountant against delta", across="log10 delta", up="epsilon")


def _svg(inner: Sequence[Markup], height: float, title: str) -> Markup:
    box = f"0 0 {_n(WIDTH)} {_n(height)}"
    named = element("title", title)
    style = element("style", Markup(STYLE))
    return element("svg", named, style, joined(inner), xmlns="http://www.w3.org/2000/svg", viewBox=box, role="img")


def _ticks(low: float, high: float, height: float) -> list[Markup]:
    floor = height - BOTTOM
    marks = [element("line", cls="axis", x1=_n(LEFT), x2=_n(WIDTH - RIGHT), y1=_n(floor), y2=_n(floor))]
    for value in _round_numbers(low, high, most=6):
        if low <= value <= high:
            x = _x(value, low, high)
            marks.append(element("line", cls="axis", x1=_n(x), x2=_n(x), y1=_n(floor), y2=_n(floor + 4)))
            marks.append(_text(x, floor + 17, number(value), anchor="middle"))
    if low < 0.0 < high:
        x = _x(0.0, low, high)
        marks.append(element("line", cls="axis", x1=_n(x), x2=_n(x), y1=_n(TOP), y2=_n(floor)))
    return marks


def _round_numbers(low: float, high: float, *, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, at most `most` of them, that reach over what is between the ends."""
    width = (high - low) or abs(high) or 1.0
    for step in (size * 10.0**power for power in range(math.floor(math.log10(width)) - 1, 400) for size in (1, 2, 5)):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            return [step * count for count in range(first, last + 1)]
    return []


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if low < high else _padded(low, high)


def _padded(low: float, high: float) -> tuple[float, float]:
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _x(value: float, low: float, high: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> Markup:
    return element("text", text, x=_n(x), y=_n(y), text_anchor=anchor)


def _cut(text: str, most: int = 18) -> str:
    return text if len(text) <= most else text[: most - 2] + "…"


def _n(value: float) -> str:
    return f"{value:.5g}"
