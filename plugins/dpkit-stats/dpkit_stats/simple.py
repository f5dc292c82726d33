"""Count and histogram: the released total is the answer, and its error is that of the noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import dpkit
from dpkit_stats import counting
from dpkit_stats.columns import known_column
from dpkit_stats.one_release import OneRelease
from dpkit_stats.results import Histogram, Number
from dpkit_stats.scaling import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many rows; the released number is the answer."""

    query: dpkit.Query

    def answer(self, released: Array, noise: dpkit.Mechanism, confidence: float) -> Number:
        """The released number."""
        return Number(estimate=float(released), error=self.error(noise, confidence, None), confidence=confidence)

    def error(self, noise: dpkit.Mechanism, confidence: float, rows: int | None) -> float:
        """That of the noise."""
        return dpkit.expected_error(noise, (), confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """One number a cell."""

    query: dpkit.Query
    cells: tuple[str, ...]

    def answer(self, released: Array, noise: dpkit.Mechanism, confidence: float) -> Histogram:
        """The released numbers."""
        estimates = tuple(float(count) for count in np.asarray(released))
        error = self.error(noise, confidence, None)
        return Histogram(cells=self.cells, estimates=estimates, error=error, confidence=confidence)

    def error(self, noise: dpkit.Mechanism, confidence: float, rows: int | None) -> float:
        """That of the noise, over all cells."""
        return dpkit.expected_error(noise, self.query.shape, confidence)


def count(setting: dpkit.Setting, *, column: str | None, mechanism: dpkit.Choice) -> OneRelease:
    """How many rows have a value in a column, or in every column."""
    columns = setting.columns if column is None else (known_column(setting, column),)
    return OneRelease(setting=setting, statistic=Count(query=counting.count_query(columns)), mechanism=mechanism)


def histogram(setting: dpkit.Setting, *, column: str, edges: tuple[float, ...] | None, mechanism: dpkit.Choice) -> OneRelease:
    """Counts of the levels of a category, or of numbers between edges."""
    levels = setting.levels(known_column(setting, column))
    if levels and edges is not None:
        allowed = "nothing: the cells of a category are its levels"
        raise dpkit.InvalidValueError(field="edges", found=edges, allowed=allowed, where="histogram")
    if levels:
        statistic = Cells(query=counting.categories_query(column, len(levels)), cells=levels)
    elif edges is None:
        lower, upper = setting.range(column)
        allowed = f"increasing numbers, since {column!r} has no levels"
        fix = f"For example [{_edge(lower)}, {_edge(0.5 * lower + 0.5 * upper)}, {_edge(upper)}]."
        raise dpkit.InvalidValueError(field="edges", found="nothing", allowed=allowed, where="histogram", fix=fix)
    else:
        statistic = Cells(query=counting.histogram_query(column, edges), cells=_cell_names(edges))
    return OneRelease(setting=setting, statistic=statistic, mechanism=mechanism)


def _cell_names(edges: tuple[float, ...]) -> tuple[str, ...]:
    """From one edge up to the next, which the last cell includes."""
    last = len(edges) - 2
    return tuple(
        f"[{_edge(low)}, {_edge(high)}{']' if place == last else ')'}" for place, (low, high) in enumerate(pairwise(edges))
    )


def _edge(value: float) -> str:
    """An edge in full: cells with edges that differ have names that differ."""
    return repr(float(value)).removesuffix(".0")
