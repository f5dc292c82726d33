"""What was measured, as pictures: growth on logarithmic axes, ratios as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from dpkit.report.pictures import bars, curves, stacked
from dpkit_bench.fit import FitRow
from dpkit_bench.growth import COMPOSITIONS, GrowthRow
from dpkit_bench.importing import ImportRow
from dpkit_bench.passes import PassRow
from dpkit_bench.tables import Section

_MOST_BARS = 40


def growth_picture(rows: Sequence[GrowthRow]) -> Markup:
    """A picture an axis: log10 of seconds against log10 of the size, a line a series."""
    pictures = []
    for axis in dict.fromkeys(row.axis for row in rows):
        names = dict.fromkeys(row.series for row in rows if row.axis == axis)
        # one picture has eight colours: repeated releases and different ones stand apart
        for names_shown in _groups(axis, list(names)):
            series = [
                (
                    name,
                    [(math.log10(row.size), math.log10(row.seconds)) for row in rows if (row.axis, row.series) == (axis, name)],
                )
                for name in names_shown
            ]
            pictures.append(curves(series, title=f"seconds by {axis}", across=f"log10 {axis}", up="log10 seconds"))
    return stacked(pictures, title="how cost grows")


def _groups(axis: str, names: list[str]) -> list[list[str]]:
    if axis != COMPOSITIONS:
        return [names]
    different = [name for name in names if name.endswith("all different")]
    sampled = [name for name in names if name.endswith("subsampled")]
    return [[name for name in names if name not in different + sampled], [*different[-6:], *sampled], different[:-6]]


def picture_of(sections: Sequence[Section]) -> Markup:
    """All sections, one below the other: a section's own picture, or the ratios of its rows."""
    pictures = [section.picture if section.picture is not None else _ratios(section) for section in sections]
    return stacked(pictures, title="benchmarks")


def _ratios(section: Section) -> Markup:
    found = [(_label(row), float(ratio)) for row in section.rows if isinstance(ratio := _ratio(row), int | float)]
    if not found:
        return Markup("")
    left_out = f", the first {_MOST_BARS} of {len(found)}" if len(found) > _MOST_BARS else ""
    return bars(found[:_MOST_BARS], title=f"{section.name}: {_meaning(section.rows[0])}{left_out}", unit="x", headed=True)


def _ratio(row: object) -> object:
    return row.error_ratio if isinstance(row, FitRow) else getattr(row, "ratio", None)


def _label(row: object) -> str:
    """What is compared with what; two rows of one table have different ones."""
    if isinstance(row, PassRow):
        return f"{row.name}, d = {row.columns}: {row.beside}"
    return ", ".join(filter(None, (getattr(row, "name", ""), getattr(row, "peer", ""))))


def _meaning(row: object) -> str:
    if isinstance(row, PassRow | ImportRow):
        return "time of dpkit over the other's (less is better)"
    if isinstance(row, FitRow):
        return "error of the other over dpkit's (more is better)"
    return "times as fast as the other (more is better)"
