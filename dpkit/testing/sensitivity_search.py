"""The search for neighbours whose sums are further apart than a query declares: extremes, optimisation, hypothesis."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from dpkit.auditing.search.metrics import is_measured, sizes_in
from dpkit.contracts.query import Query
from dpkit.errors import DpkitError
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.conformance import LawNotApplicable

Array = npt.NDArray[np.float64]

EXTREMES = (0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, 1e-162, 1e9)
MOST_ROWS = 1_200
CLIMBS = 40
BLOCKS, BLOCK_ROWS = 8, 160
"""Rows that are mixed from what hypothesis draws: to evaluate a thousand costs less than its engine does for eight."""
SLACK = 1e-9
"""A relative excess that rounding explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowExcess:
    """Rows that move the sum further than declared; `other` is None where a row comes or goes."""

    metric: str
    declared: float
    found: float
    row: tuple[float, ...]
    other: tuple[float, ...] | None

    def __str__(self) -> str:
        change = f"row {self.row}" if self.other is None else f"rows {self.row} and {self.other}"
        return f"{change} give a {self.metric} distance of {self.found:.6g}, declared {self.declared:.6g}"


def search_excess(query: Query, width: int, relation: Neighbours, *, hints: list[float], seed: int = 0) -> RowExcess | None:
    """Neighbours whose sums are further apart than declared, or None where the search finds none.

    Distances in a metric that the kit cannot measure are left out; where there are no others, the law does not apply.
    """
    rng = np.random.default_rng([seed, 7])
    declared = tuple(query.sensitivity(relation))
    assert declared, f"the query declares no distance under {relation}: nothing can be priced"
    unknown = [distance.metric for distance in declared if not is_measured(distance.metric)]
    if len(unknown) == len(declared):
        raise LawNotApplicable(f"the kit cannot measure in the metric {unknown[0]!r}")
    for distance in declared:
        if distance.metric in unknown:
            continue
        worst = _Worst(query=query, relation=relation, metric=distance.metric, limit=distance.value)
        pool = row_pool(width, hints, rng, MOST_ROWS)
        worst.try_all(pool)
        worst.climb(rng)
        if worst.excess() is None:
            worst.ask_hypothesis(width, hints, seed)
        found = worst.excess()
        if found is not None:
            return worst.shrunk()
    return None


@dataclass(slots=True, kw_only=True)
class _Worst:
    """The worst rows so far in one metric."""

    query: Query
    relation: Neighbours
    metric: str
    limit: float
    size: float = -1.0
    row: Array | None = None
    other: Array | None = None

    def try_all(self, pool: Array) -> None:
        contributions = summed_contributions(self.query, pool)
        blocks: list[tuple[Array, Array | None]] = [(contributions, None)]
        if self.relation is Neighbours.REPLACE_ONE:
            # the farthest from each of the outermost ones: all pairs would be a million
            order = np.argsort(-np.nan_to_num(sizes_in(self.metric, contributions), nan=np.inf))
            anchors = np.concatenate([order[:24], order[-4:]])
            blocks = [(contributions - contributions[anchor], pool[anchor]) for anchor in anchors]
        for differences, anchor_row in blocks:
            sizes = _sized(self.metric, differences)
            index = int(np.argmax(sizes))
            if sizes[index] > self.size:
                self.size, self.row, self.other = float(sizes[index]), pool[index], anchor_row

    def measure(self, row: Array, other: Array | None) -> float:
        rows = row[None] if other is None else np.stack([row, other])
        parts = summed_contributions(self.query, rows)
        return float(_sized(self.metric, parts[:1] - parts[1:] if other is not None else parts)[0])

    def climb(self, rng: np.random.Generator) -> None:
        """Coordinate moves, large and small, from the worst so far; all moves of a round are evaluated at once."""
        if self.row is None or not math.isfinite(self.size):
            return
        for round_ in range(CLIMBS):
            step = 2.0 ** -(round_ / 3.0)
            for which in ("row", "other"):
                start = getattr(self, which)
                if start is None:
                    continue
                moved = np.repeat(start[None], 24, axis=0)
                factor = np.exp(step * rng.standard_normal(moved.shape))
                shift = step * rng.standard_normal(moved.shape) * (rng.random(moved.shape) < 0.5)
                touched = rng.random(moved.shape) < 0.6
                with np.errstate(all="ignore"):
                    moved = np.where(touched, moved * factor + shift, moved)
                parts = summed_contributions(self.query, moved)
                fixed = self.other if which == "row" else self.row
                if fixed is not None:
                    parts = parts - summed_contributions(self.query, fixed[None])[0]
                sizes = _sized(self.metric, parts)
                index = int(np.argmax(sizes))
                if sizes[index] > self.size:
                    self.size = float(sizes[index])
                    setattr(self, which, moved[index])

    def ask_hypothesis(self, width: int, hints: list[float], start: int) -> None:
        """Rows whose entries are, a third each, extremes and hints, ordinary numbers, and floats that hypothesis draws."""
        rng = np.random.default_rng([start, 11])
        drawn = drawn_by_hypothesis(start, getattr(self.query.rows, "__module__", ""))
        known = np.array([*EXTREMES, *hints, 0.25])
        for _ in range(BLOCKS):
            shape = (BLOCK_ROWS, width)
            kinds = [rng.choice(known, size=shape), rng.uniform(-4.0, 4.0, size=shape), rng.choice(drawn, size=shape)]
            self.try_all(np.choose(rng.integers(0, 3, size=shape), kinds))

    def excess(self) -> RowExcess | None:
        if self.row is None or self.size <= self.limit * (1.0 + SLACK):
            return None
        other = None if self.other is None else tuple(float(x) for x in self.other)
        row = tuple(float(x) for x in self.row)
        return RowExcess(metric=self.metric, declared=self.limit, found=self.size, row=row, other=other)

    def shrunk(self) -> RowExcess | None:
        """The same violation with simpler numbers: each is replaced by 0, 1 or its leading digit where that still exceeds."""
        for which in ("row", "other"):
            array = getattr(self, which)
            if array is None:
                continue
            for index, simpler in itertools.product(range(len(array)), range(4)):
                trial = array.copy()
                trial[index] = _simpler(float(array[index]), simpler)
                pair = (trial, self.other) if which == "row" else (self.row, trial)
                size = self.measure(*pair)
                if size > self.limit * (1.0 + SLACK):
                    self.size, array = size, trial
                    setattr(self, which, trial)
                    break
        return self.excess()


@cache
def drawn_by_hypothesis(start: int, module: str) -> Array:
    """Floats that hypothesis deems worth a try: edges of the format, and constants in the code that is loaded.

    They depend on the seed and on that code alone, so equal ones are drawn once; `module` is where the query stands.
    """
    found: list[float] = []

    @seed(start)
    @settings(max_examples=100, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(numbers=st.lists(st.floats(), min_size=20, max_size=20))
    def collect(numbers: list[float]) -> None:
        found.extend(numbers)

    collect()
    return np.unique(found)


def _simpler(number: float, choice: int) -> float:
    if choice < 2:
        return float(choice)
    if choice == 2:
        return math.copysign(1.0, number)
    return float(f"{number:.1g}")


def _sized(metric: str, differences: Array) -> Array:
    """Sizes, where a contribution that is not finite is infinitely far away."""
    shaped = differences
    sizes = sizes_in(metric, shaped)
    return np.where(np.isfinite(shaped.reshape(len(shaped), -1)).all(axis=1), sizes, np.inf)


def contributions_of(query: Query, block: Array) -> Array:
    """`rows(block)` as floats of the declared shape; that it raises on no value is part of the bargain."""
    try:
        with np.errstate(all="ignore"):
            rows = np.asarray(query.rows(block), dtype=np.float64)
    except DpkitError:
        raise
    except Exception as error:  # noqa: BLE001 - a third party's function may raise anything
        raise AssertionError(f"rows() raised {type(error).__name__} on a value: map bad values instead") from None
    wanted = (len(block), *query.shape)
    assert rows.shape == wanted, f"rows() gave shape {rows.shape}, declared {wanted}"
    return rows


def relies_on_ranges(query: Query) -> bool:
    """Whether it is written for declared columns and exact sums, so that it may rely on their ranges and need not clip.

    Of such a query the engine clamps the contributions of `rows` to the declared bound.
    """
    return bool(query.columns) and query.bound is not None and query.grid is not None


def summed_contributions(query: Query, block: Array) -> Array:
    """Contributions as the engine adds them up: over declared columns it counts NaN as zero."""
    rows = contributions_of(query, block)
    if query.columns:
        rows = np.where(np.isnan(rows), 0.0, rows)
    if not relies_on_ranges(query):
        return rows
    assert query.bound is not None
    return rows.clip(-query.bound, query.bound)


def row_pool(width: int, hints: list[float], rng: np.random.Generator, count: int) -> Array:
    """Rows to try first: constant rows and unit vectors of extreme values, then mixtures, then ordinary ones."""
    values = np.array([*EXTREMES, *hints, *[-hint for hint in hints]])
    rows: list[Any] = [np.full(width, value) for value in values]
    rows += [value * np.eye(width)[j] for value in values if np.isfinite(value) for j in range(width)]
    rows += [np.where(np.arange(width) % 2 == 0, value, -value) for value in values if np.isfinite(value)]
    mixed = rng.choice(values, size=(count, width))
    ordinary = rng.standard_normal((count, width)) * 10.0 ** rng.uniform(-3, 3, size=(count, 1))
    stacked = np.concatenate([np.asarray(rows[:count]).reshape(-1, width), mixed[: count // 2], ordinary])
    return np.asarray(stacked[:count], dtype=np.float64)
