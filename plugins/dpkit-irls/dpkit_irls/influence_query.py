"""Queries of bounded influence: whatever a row holds, its contribution is bounded, so no tight bounds are needed.

`Frame` is the released view of a row: columns divided by powers of two, multiplied by a preconditioner P of 20 bits. With
z = P x the queries are sums of u u', u = z/||z||; octave histograms; min(||z||/c, 1) where |r| < k; and u clip(r/k, -1, 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpkit.core.claims import Citation
from dpkit.core.distances import Distance, frobenius, l1, l2, rank_one
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Query
from dpkit.numerics.rounding import sqrt_up
from dpkit_irls.dummies import Levels, widened
from dpkit_irls.rows import GRID, STEP, Array, cut, directions, fixed_point, power_of_two_above
from dpkit_irls.wishart import swap

SOURCE = Citation(key="dpkit", locator="docs/proofs/irls.md")
CLAMP = 1e100
"""The public clamp: magnitudes above it count as this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """The columns of a block (the target last), what each entry of x is divided by, and the preconditioner; public or released.

    `levels` says which features are categories; empty where all are numbers.
    """

    columns: tuple[str, ...]
    units: tuple[float, ...]
    intercept: bool
    preconditioner: Array = field(repr=False)
    levels: Levels = ()

    @property
    def width(self) -> int:
        """Entries of z."""
        return len(self.units) + self.intercept

    def entries(self, block: Array) -> Array:
        """x in the units of the frame, without the intercept."""
        raw = widened(block[:, :-1], self.levels)
        return np.asarray(np.clip(np.nan_to_num(raw, nan=0.0), -CLAMP, CLAMP) / np.array(self.units))

    def fixed(self, block: Array) -> tuple[Array, Array]:
        """x in fixed point, at most 1, and the power of two that each row is to be scaled by."""
        x = self.entries(block)
        if self.intercept:
            x = np.column_stack([x, np.ones(x.shape[0])])
        scales = power_of_two_above(np.max(np.abs(x), axis=1, initial=0.0))
        return cut(x / scales[:, None]), scales

    def directed(self, block: Array) -> tuple[Array, Array]:
        """u on the grid, and ||z||."""
        x, scales = self.fixed(block)
        matrix, scale = fixed_point(self.preconditioner)
        u, length = directions(np.asarray(x @ matrix))
        return u, length * scales * scale

    def residuals(self, block: Array, beta: Array) -> Array:
        """y - x'beta, for beta in the units of the frame, cut to 20 bits."""
        x, scales = self.fixed(block)
        direction, scale = fixed_point(beta)
        y = np.clip(np.nan_to_num(block[:, -1], nan=0.0), -CLAMP, CLAMP)
        return np.asarray(y - (x @ direction) * scales * scale)


def scatter(frame: Frame) -> Query:
    """Sum of u u'. Frobenius distance 1, or sqrt(2) when a record is replaced; both are attained."""

    def rows(block: Array) -> Array:
        u, _ = frame.directed(block)
        return np.asarray(u[:, :, None] * u[:, None, :])

    def block_sum(block: Array) -> Array:
        u, _ = frame.directed(block)
        return np.asarray(u.T @ u)

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        if neighbours is Neighbours.ADD_REMOVE:
            return frobenius(1.0), rank_one(1.0), swap(1.0)
        return frobenius(sqrt_up(Fraction(2))), swap(1.0)

    return _query("scatter", frame, rows, (frame.width, frame.width), sensitivity, block_sum=block_sum)


def gradient(frame: Frame, beta: Array, threshold: float) -> Query:
    """Sum of u clip(r/k, -1, 1). L2 distance 1, or 2 when a record is replaced; both are attained."""

    def both(block: Array) -> tuple[Array, Array]:
        u, _ = frame.directed(block)
        return u, cut(np.clip(frame.residuals(block, beta) / threshold, -1.0, 1.0))

    def rows(block: Array) -> Array:
        u, score = both(block)
        return np.asarray(u * score[:, None])

    def block_sum(block: Array) -> Array:
        u, score = both(block)
        return np.asarray(u.T @ score)

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        return (l2(2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0),)

    return _query("gradient", frame, rows, (frame.width,), sensitivity, block_sum=block_sum)


def curvature(frame: Frame, beta: Array, threshold: float, length: float) -> Query:
    """Sum of min(||z||/c, 1) over rows with |r| < k. Distance 1 under both relations; attained."""

    def rows(block: Array) -> Array:
        _, size = frame.directed(block)
        near = np.abs(frame.residuals(block, beta)) < threshold
        return np.asarray(np.where(near, cut(np.minimum(size / length, 1.0)), 0.0))

    return _query("curvature", frame, rows, (), lambda neighbours: (l1(1.0), l2(1.0)), grid=STEP)


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
    return _histogram("lengths", frame, octaves, lambda block: frame.directed(block)[1][:, None])


def target_histogram(frame: Frame, octaves: Octaves) -> Query:
    """How many rows have |y| in each bin."""
    return _histogram("targets", frame, octaves, lambda block: np.clip(block[:, -1:], -CLAMP, CLAMP))


def column_histograms(frame: Frame, octaves: Octaves, places: Sequence[int]) -> Query:
    """How many rows have |x_j| in each bin, for these columns at once, in units of the frame; zeros are not counted."""
    chosen = list(places)
    return _histogram(
        "magnitudes",
        frame,
        octaves,
        lambda block: frame.entries(block)[:, chosen],
        zeros=False,
        count=len(chosen),
    )


def _histogram(
    name: str, frame: Frame, octaves: Octaves, values: Callable[[Array], Array], *, zeros: bool = True, count: int = 1
) -> Query:
    """One count a column and row. L2 distance sqrt(columns), or sqrt(2 columns) when a record is replaced."""
    shape = (octaves.bins,) if zeros else (count, octaves.bins)
    bins = np.arange(octaves.bins)

    def rows(block: Array) -> Array:
        found = values(block)
        hot = (octaves.of(found)[:, :, None] == bins) & (zeros | (found != 0.0))[:, :, None]
        return np.asarray(hot.astype(np.float64).reshape(block.shape[0], *shape))

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        changed = count * (2 if neighbours is Neighbours.REPLACE_ONE else 1)
        return l2(sqrt_up(Fraction(changed))), l1(float(changed))

    return _query(name, frame, rows, shape, sensitivity, grid=1.0)


def _query(
    name: str,
    frame: Frame,
    rows: Callable[[Array], Array],
    shape: tuple[int, ...],
    sensitivity: Callable[[Neighbours], Sequence[Distance]],
    *,
    block_sum: Callable[[Array], Array] | None = None,
    grid: float = GRID,
) -> Query:
    def summed(block: Array) -> Array:
        return np.asarray(np.sum(rows(block), axis=0))

    return Query(
        name=name,
        rows=rows,
        block_sum=summed if block_sum is None else block_sum,
        shape=shape,
        sensitivity=sensitivity,
        because=SOURCE,
        columns=frame.columns,
        grid=grid,
        bound=1.0,
    )
