"""Queries of bounded influence: whatever a row holds, its contribution is bounded, so no tight bounds are needed.

With z, u = z/||z|| and y as a `Frame` prepares them, and r = y - z'position, the queries are sums of u u'; octave histograms;
min(||z||/c, 1) where |r| < k; and u clip(r/k, -1, 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpkit.core.claims import Citation
from dpkit.core.distances import Distance, frobenius, l1, l2, rank_one
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Query
from dpkit.numerics.rounding import sqrt_up
from dpkit_irls.frame import Frame, residuals_at
from dpkit_irls.prepared_query import RowMap, Sensitivity, prepared_query
from dpkit_irls.rows import GRID, LARGEST_STEP, STEP, Array, cut_in_place
from dpkit_irls.wishart import swap

SOURCE = Citation(key="dpkit", locator="docs/proofs/irls.md")


def scatter(frame: Frame) -> Query:
    """Sum of u u'. Frobenius distance 1, or sqrt(2) when a record is replaced; both are attained."""

    def rows(prepared: Array) -> Array:
        u = prepared[:, :-2]
        return np.asarray(u[:, :, None] * u[:, None, :])

    def summed(prepared: Array) -> Array:
        u = prepared[:, :-2]
        return np.asarray(u.T @ u)

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        if neighbours is Neighbours.ADD_REMOVE:
            return frobenius(1.0), rank_one(1.0), swap(1.0)
        return frobenius(sqrt_up(Fraction(2))), swap(1.0)

    return _query("scatter", frame, rows, summed, (frame.width, frame.width), sensitivity)


def gradient(frame: Frame, position: Array, threshold: float) -> Query:
    """Sum of u clip(r/k, -1, 1). L2 distance 1, or 2 when a record is replaced; both are attained."""

    residuals = residuals_at(position)
    step = threshold * STEP  # a power of two less: the quotient rounds as r/k does

    def rows(prepared: Array) -> Array:
        scores = cut_in_place(np.clip(residuals(prepared) / threshold, -1.0, 1.0))
        return np.asarray(prepared[:, :-2] * scores[:, None])

    def summed(prepared: Array) -> Array:
        steps = residuals(prepared)
        steps /= step
        np.clip(steps, -LARGEST_STEP, LARGEST_STEP, out=steps)
        np.trunc(steps, out=steps)  # a NaN shows in the sum, which is then made of rows
        return np.asarray(steps @ prepared[:, :-2]) * STEP

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        return (l2(2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0),)

    return _query("gradient", frame, rows, summed, (frame.width,), sensitivity)


def curvature(frame: Frame, position: Array, threshold: float, length: float) -> Query:
    """Sum of min(||z||/c, 1) over rows with |r| < k. Distance 1 under both relations; attained."""
    residuals = residuals_at(position)

    def rows(prepared: Array) -> Array:
        near = np.abs(residuals(prepared)) < threshold
        return np.where(near, cut_in_place(np.minimum(prepared[:, -2] / length, 1.0)), 0.0)

    def summed(prepared: Array) -> Array:
        return np.asarray(np.sum(rows(prepared)))

    return _query("curvature", frame, rows, summed, (), lambda neighbours: (l1(1.0), l2(1.0)), grid=STEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Octaves:
    """Bins of magnitudes: a number with 2^(e-1) <= |v| < 2^e falls into bin (e - low) // step, or an end bin."""

    low: int
    bins: int
    step: int = 1

    def of(self, values: Array) -> Array:
        """The bin of each magnitude: exact, from the exponent alone."""
        exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))[1]
        found = np.clip((exponents - self.low) // self.step, 0, self.bins - 1)
        return np.asarray(np.where(values == 0.0, 0, found), dtype=np.int64)

    def edge(self, index: int) -> float:
        """The lower end of a bin."""
        return math.ldexp(1.0, self.low + index * self.step - 1)


def length_histogram(frame: Frame, octaves: Octaves) -> Query:
    """How many rows have ||z|| in each bin."""
    return _histogram("lengths", frame, octaves, lambda prepared: prepared[:, -2])


def target_histogram(frame: Frame, octaves: Octaves, position: Array | None = None) -> Query:
    """How many rows have |y|, or the residual of a position, in each bin."""
    if position is None:
        return _histogram("targets", frame, octaves, lambda prepared: prepared[:, -1])
    return _histogram("targets", frame, octaves, residuals_at(position))


def _histogram(name: str, frame: Frame, octaves: Octaves, values: RowMap) -> Query:
    """One count a row. L2 distance 1, or sqrt(2) when a record is replaced."""

    def rows(prepared: Array) -> Array:
        return np.asarray(octaves.of(values(prepared))[:, None] == np.arange(octaves.bins), dtype=np.float64)

    def summed(prepared: Array) -> Array:
        return np.bincount(octaves.of(values(prepared)), minlength=octaves.bins).astype(np.float64)

    return _query(name, frame, rows, summed, (octaves.bins,), _moved_counts(1), grid=1.0)


def column_histograms(frame: Frame, octaves: Octaves, places: Sequence[int]) -> Query:
    """How many rows have |x_j| in each bin, for these columns at once, in units of the frame; zeros are not counted."""
    chosen, bins = list(places), octaves.bins

    def found_bins(block: Array) -> tuple[Array, Array]:
        found = frame.entries(block)[:, chosen]
        return octaves.of(found), found != 0.0

    def rows(block: Array) -> Array:
        found, counted = found_bins(block)
        return np.asarray((found[:, :, None] == np.arange(bins)) & counted[:, :, None], dtype=np.float64)

    def block_sum(block: Array) -> Array:
        found, counted = found_bins(block)
        every = [np.bincount(found[counted[:, place], place], minlength=bins) for place in range(len(chosen))]
        return np.array(every, dtype=np.float64)

    return Query(
        name="magnitudes", rows=rows, block_sum=block_sum, shape=(len(chosen), bins), sensitivity=_moved_counts(len(chosen)),
        because=SOURCE, columns=frame.columns, grid=1.0, bound=1.0,
    )  # fmt: skip


def _moved_counts(columns: int) -> Sensitivity:
    """One count a column and row moves, or two when a record is replaced."""

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        changed = columns * (2 if neighbours is Neighbours.REPLACE_ONE else 1)
        return l2(sqrt_up(Fraction(changed))), l1(float(changed))

    return sensitivity


def _query(
    name: str,
    frame: Frame,
    rows: RowMap,
    summed: RowMap,
    shape: tuple[int, ...],
    sensitivity: Sensitivity,
    *,
    grid: float = GRID,
) -> Query:
    return prepared_query(
        name=name, columns=frame.columns, preparation=frame.preparation, rows=rows, summed=summed,
        shape=shape, sensitivity=sensitivity, because=SOURCE, grid=grid,
    )  # fmt: skip
