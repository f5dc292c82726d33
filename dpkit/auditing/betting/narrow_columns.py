"""Columns for events that tails of entries miss: ties with what a dataset is made of, and narrow cells found in the past."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpkit.auditing.betting.bets import kelly
from dpkit.auditing.betting.columns import Columns, OutputForm, literal
from dpkit.auditing.betting.learned_columns import LearnedRatio
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.draw_outputs import flat
from dpkit.numerics.special import Array

_ENTRIES, _MOST_PARTS, _CLOSE = 8, 64, 2.0**-26
_SMALLEST, _LARGEST_SHARE, _RECENT, _CELLS = 4, 0.2, 16_384, 16


class Ties(Columns):
    """1 where an entry equals a number that the first dataset gives and the second does not, -1 the other way round.

    Numbers that a dataset gives are its entries, and their count, sum, mean, extremes, median and standard deviations. Equal
    means within 2**-26 of the spread of outputs: noise hits that with no probability to speak of.
    """

    mirrored = True
    names = ("tie_with_a_number_of_d1_or_d2(y)",)

    def __init__(self, pair: tuple[object, object], outputs: Array) -> None:
        first, second = (_numbers_of(dataset) for dataset in pair)
        spread = float(np.median(np.abs(flat(outputs) - np.median(flat(outputs), axis=0))))
        self._close = _CLOSE * spread if 0.0 < spread < 1e200 else 0.0
        one, two = (_told(*sides, self._close) for sides in ((first, second), (second, first)))
        self._only = [_without(one, two, self._close), _without(two, one, self._close)]

    def scores(self, outputs: Array) -> Array:
        rows = flat(outputs)
        one, two = (_near(rows, numbers, self._close).any(axis=1) for numbers in self._only)
        return np.subtract(one, two, dtype=np.float64).reshape(-1, 1)

    def expression(self, column: int, form: OutputForm) -> str:
        parts = []
        for numbers in self._only:
            apart = f"np.abs(np.asarray({form.row})[..., np.newaxis] - np.array({literal(numbers)}))"
            close = self._close + 0.5 * form.grid
            parts.append(f"np.any({apart} <= {literal(close)}, axis=(-2, -1)) * 1.0")
        return f"({' - '.join(parts)})"

    def margin(self, cut: float, form: OutputForm) -> float:
        """The grid is in the tolerance already, and a sign is exact."""
        return 0.0


class NarrowCells(LearnedRatio):
    """1 in the interval of one entry that would have paid best against the claim for the first side, -1 for the second.

    Intervals run from one output seen to another, so that narrow bumps and gaps are found wherever they are.
    """

    names = ("narrow_cell(y)",)
    growth = 1.25
    least = 64

    def __init__(self, points: Sequence[Point]) -> None:
        super().__init__()
        self._points = tuple(points)

    def fit(self, first: Array, second: Array) -> None:
        one, two = flat(first)[-_RECENT:], flat(second)[-_RECENT:]
        self._cells = []
        for rich, poor in ((one, two), (two, one)):
            intervals = [_intervals(rich[:, entry], poor[:, entry], entry) for entry in range(min(one.shape[1], _ENTRIES))]
            self._cells.append(_best_interval(np.concatenate(intervals, axis=1), self._points))

    def log_ratio(self, outputs: Array) -> Array:
        """A sign, not a ratio: the cell for the first side wins where both hold an output."""
        rows = flat(outputs)
        inside = [(rows[:, entry] >= low) & (rows[:, entry] <= high) for entry, low, high in self._cells]
        return np.where(inside[0], 1.0, np.where(inside[1], -1.0, 0.0))

    def expression(self, column: int, form: OutputForm) -> str:
        if not self._learned_at:
            return f"0 * {form.entry(0)}"
        half = 0.5 * form.grid
        one, two = (
            f"({form.entry(entry)} >= {literal(low - half)}) * ({form.entry(entry)} <= {literal(high + half)})"
            for entry, low, high in self._cells
        )
        return f"np.where({one}, 1.0, np.where({two}, -1.0, 0.0))"

    def margin(self, cut: float, form: OutputForm) -> float:
        """The grid is in the cells already, and a sign is exact."""
        return 0.0


def _intervals(rich: Array, poor: Array, entry: int) -> Array:
    """Intervals between two of `rich` that may pay, as columns: entry, both ends, and the shares of either side inside."""
    n = rich.size
    ordered, others = np.sort(rich), np.sort(poor)
    below, until = np.searchsorted(others, ordered, "left"), np.searchsorted(others, ordered, "right")
    found = [np.zeros((5, 0))]
    size = _SMALLEST
    while size <= _LARGEST_SHARE * n:
        low, high = ordered[: n - size + 1], ordered[size - 1 :]
        inside = until[size - 1 :] - below[: n - size + 1]
        few = _least(inside)  # of one size, those with the fewest of the other side pay best
        sizes = np.full((2, few.size), [[entry], [(size - 1.0) / n]])
        found.append(np.stack([sizes[0], low[few], high[few], sizes[1], (inside[few] + 1.0) / n]))
        size = max(size + 1, int(1.5 * size))
    return np.concatenate(found, axis=1)


def _least(counts: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Where the smallest counts stand, the first of equal ones first."""
    most = np.partition(counts, _CELLS - 1)[_CELLS - 1] if counts.size > _CELLS else counts.max()
    places = np.flatnonzero(counts <= most)
    return places[np.argsort(counts[places], kind="stable")[:_CELLS]]


def _best_interval(intervals: Array, points: Sequence[Point]) -> tuple[int, float, float]:
    """The entry and the ends of the interval in which a bet against the claim would have grown fastest; none if none would."""
    growths = [kelly(intervals[3], intervals[4], point)[1] for point in points]
    best = np.max(growths, axis=0)
    place = int(np.argmax(best)) if best.size else 0
    if not best.size or best[place] <= 0.0:
        return 0, math.inf, -math.inf
    return int(intervals[0, place]), float(intervals[1, place]), float(intervals[2, place])


def _numbers_of(dataset: object) -> tuple[Array, Array]:
    """Numbers that a release might be by mistake: entries and averages of them; and counts and spreads, often small numbers."""
    table = _as_table(dataset)
    columns = [table[np.isfinite(table)], *(column[np.isfinite(column)] for column in table.T[:_ENTRIES])]
    levels, sizes = [columns[0][:_MOST_PARTS]], [np.zeros(0)]
    for column in columns:
        if column.size:
            column = np.clip(column, -1e150, 1e150)  # squares are finite
            levels.append(np.array([column.sum(), column.mean(), column.min(), column.max(), np.median(column)]))
            spreads = [column.std(), column.var(), *([column.std(ddof=1)] if column.size > 1 else [])]
            sizes.append(np.array([column.size, *spreads]))
    return np.unique(np.concatenate(levels)), np.unique(np.concatenate(sizes))


def _told(mine: tuple[Array, Array], others: tuple[Array, Array], close: float) -> Array:
    """The numbers of one dataset alone. An entry of it stays one though it is a count or a spread of the other."""
    anything = np.unique(np.concatenate(others))
    return np.unique(np.concatenate([_without(mine[0], others[0], close), _without(mine[1], anything, close)]))


def _as_table(dataset: object) -> Array:
    """The numbers of a dataset, rows by columns; empty where it has none."""
    chosen = dataset.select_dtypes("number") if hasattr(dataset, "select_dtypes") else dataset
    try:
        found = np.asarray(chosen, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros((0, 1))
    rows = found.shape[0] if found.ndim > 1 else found.size
    return found.reshape(rows, found.size // rows) if rows else np.zeros((0, 1))


def _without(numbers: Array, others: Array, close: float) -> Array:
    return numbers[~_near(numbers[:, None], others, close).any(axis=1)] if numbers.size else numbers


def _near(rows: Array, numbers: Array, close: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which entries lie within `close` of one of the (ascending) numbers."""
    if numbers.size == 0:
        return np.zeros(rows.shape, dtype=bool)
    places = np.searchsorted(numbers, rows)
    below, above = numbers[np.maximum(places - 1, 0)], numbers[np.minimum(places, numbers.size - 1)]
    return np.minimum(np.abs(rows - below), np.abs(above - rows)) <= close
