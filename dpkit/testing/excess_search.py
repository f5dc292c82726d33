"""The search for neighbours that exceed a sensitivity, among any numbers: extremes, hints, and what hypothesis draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from dpkit.auditing.search.metrics import is_measured
from dpkit.auditing.search.sensitivity import Excess, contributions, search_sensitivity
from dpkit.contracts.query import Query
from dpkit.errors import DpkitError
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.run_laws import LawNotApplicable

Array = npt.NDArray[np.float64]

EXTREMES = (0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, 1e-162, 1e9)
MOST_ROWS = 1_200
BLOCKS, BLOCK_ROWS = 8, 160
"""Rows that are mixed from what hypothesis draws: to evaluate a thousand costs less than its engine does for eight."""


class AnyRows:
    """Rows of any numbers at all, NaN and infinities too; `hints` are numbers at which the query may change."""

    def __init__(self, width: int, hints: list[float]) -> None:
        self._width, self._hints = width, hints

    def rows(self, count: int, rng: np.random.Generator) -> Array:
        """Constant rows and unit vectors of extreme values first, then mixtures, then ordinary ones."""
        width, hints = self._width, self._hints
        values = np.array([*EXTREMES, *hints, *[-hint for hint in hints]])
        rows: list[Any] = [np.full(width, value) for value in values]
        rows += [value * np.eye(width)[j] for value in values if np.isfinite(value) for j in range(width)]
        rows += [np.where(np.arange(width) % 2 == 0, value, -value) for value in values if np.isfinite(value)]
        mixed = rng.choice(values, size=(count, width))
        ordinary = rng.standard_normal((count, width)) * 10.0 ** rng.uniform(-3, 3, size=(count, 1))
        stacked = np.concatenate([np.asarray(rows[:count]).reshape(-1, width), mixed[: count // 2], ordinary])
        return np.asarray(stacked[:count], dtype=np.float64)

    def ordinary(self, count: int, rng: np.random.Generator) -> Array:
        """Numbers about one, or about a hint."""
        return np.asarray(rng.standard_normal((count, self._width)) * rng.choice([1.0, *self._hints], size=(count, 1)))

    def near(self, row: Array, size: float, rng: np.random.Generator) -> Array:
        """Some entries scaled and shifted."""
        shape = (24, len(row))
        factor = np.exp(size * rng.standard_normal(shape))
        shift = size * rng.standard_normal(shape) * (rng.random(shape) < 0.5)
        with np.errstate(all="ignore"):
            return np.where(rng.random(shape) < 0.6, row * factor + shift, row)

    def within(self, block: Array) -> Array:
        """Every row is allowed."""
        return block


def search_excess(query: Query, width: int, relation: Neighbours, *, hints: list[float], seed: int = 0) -> Excess | None:
    """Neighbours whose sums are further apart than declared, or None where the search finds none.

    Distances in a metric that the kit cannot measure are left out; where there are no others, the law does not apply.
    """
    declared = tuple(query.sensitivity(relation))
    assert declared, f"the query declares no distance under {relation}: nothing can be priced"
    if not any(is_measured(distance.metric) for distance in declared):
        raise LawNotApplicable(f"the kit cannot measure in the metric {declared[0].metric!r}")

    def try_drawn(try_rows: Callable[[Array], None]) -> None:
        """Rows whose entries are, a third each, extremes and hints, ordinary numbers, and floats that hypothesis draws."""
        rng, shape = np.random.default_rng([seed, 11]), (BLOCK_ROWS, width)
        drawn = drawn_by_hypothesis(seed, getattr(query.rows, "__module__", ""))
        known = np.array([*EXTREMES, *hints, 0.25])
        for _ in range(BLOCKS):
            kinds = [rng.choice(known, size=shape), rng.uniform(-4.0, 4.0, size=shape), rng.choice(drawn, size=shape)]
            try_rows(np.choose(rng.integers(0, 3, size=shape), kinds))

    return search_sensitivity(
        query,
        relation,
        AnyRows(width, hints),
        tries=MOST_ROWS,
        seed=seed,
        contribute=summed_contributions,
        more=try_drawn,
    )


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


def contributions_of(query: Query, block: Array) -> Array:
    """`rows(block)` as floats of the declared shape; that it raises on no value is part of the bargain."""
    try:
        rows = contributions(query, block)
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
    return rows.clip(-query.bound, query.bound) if relies_on_ranges(query) and query.bound is not None else rows
