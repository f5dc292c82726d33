"""Queries of bounded influence: whatever a row holds, its contribution is bounded, so no tight bounds are needed.

With w and y as a `Frame` prepares them, and r = y - z'position, the queries are sums of w w' and of w clip(r/k, -1, 1);
histograms by octaves and by equal bins; and counts of levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpkit import Citation, Distance, InvalidValueError, Neighbours, Query, frobenius, l1, l2, rank_one
from dpkit.authoring import Steps, dataclass, sqrt_up, whole_steps
from dpkit_irls.bounded.scaled_rows import Frame, clamped
from dpkit_irls.loss import HUBER
from dpkit_irls.rows import kernels
from dpkit_irls.rows.fixed_point import GRID, Array, exponents_of, products_by_run, squares_by_run
from dpkit_irls.rows.kernels import Counts
from dpkit_irls.rows.prepared_query import RowMap, RunSums, Sensitivity, prepared_query
from dpkit_irls.wishart.wishart import swap

SOURCE = Citation(key="dpkit", locator="docs/proofs/irls.md")


def scatter(frame: Frame) -> Query:
    """Sum of w w'. Frobenius distance 1, or sqrt(2) when a record is replaced; both are attained."""

    def rows(prepared: Array) -> Array:
        w = prepared[:, :-2]
        return np.asarray(w[:, :, None] * w[:, None, :]) * GRID

    def summed(prepared: Array) -> Steps:
        w = prepared.T[:-2]
        fast = kernels.squares(w)
        return squares_by_run(w) if fast is None else whole_steps(fast)

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        if neighbours is Neighbours.ADD_REMOVE:
            return frobenius(1.0), rank_one(1.0), swap(1.0)
        return frobenius(sqrt_up(Fraction(2))), swap(1.0)

    return _query("scatter", frame, rows, summed, (frame.width, frame.width), sensitivity)


def gradient(frame: Frame, position: Array, threshold: float) -> Query:
    """Sum of w clip(r/k, -1, 1). L2 distance 1, or 2 when a record is replaced; both are attained."""
    scores = HUBER.at(position, threshold)

    def rows(prepared: Array) -> Array:
        return np.asarray(prepared[:, :-2] * scores(prepared)[:, None]) * GRID

    def summed(prepared: Array) -> Steps:
        fast = kernels.gradient(prepared.T, scores)
        return products_by_run(scores.of_numbers(prepared)[None], prepared.T[:-2])[:, 0] if fast is None else whole_steps(fast)

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        return (l2(2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0),)

    return replace(_query("gradient", frame, rows, summed, (frame.width,), sensitivity), preparation=frame.kept_preparation)


Bins = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Octaves:
    """Bins of magnitudes: a number with 2^(e-1) <= |v| < 2^e falls into bin (e - low) // step, or an end bin."""

    low: int
    bins: int
    step: int = 1

    def __post_init__(self) -> None:
        if self.low < -1020:
            raise InvalidValueError(field="low", found=self.low, allowed="at least -1020", where="Octaves")

    def of(self, values: Array) -> Bins:
        """The bin of each magnitude, from its exponent alone; 0 for zero."""
        return np.asarray(self._bins[exponents_of(values)])

    def counts(self, values: Array) -> Bins:
        """How many magnitudes each bin holds."""
        return self.binned(np.bincount(exponents_of(values), minlength=2048))

    def binned(self, counts: Bins) -> Bins:
        """Counts of bins from counts of stored exponents."""
        return np.bincount(self._bins, weights=counts, minlength=self.bins).astype(np.int64)

    @property
    def _bins(self) -> Bins:
        return _bins_of(self)

    def edge(self, index: int) -> float:
        """The lower end of a bin."""
        return math.ldexp(1.0, self.low + index * self.step - 1)


@lru_cache(maxsize=64)
def _bins_of(octaves: Octaves) -> Bins:
    """The bin of each exponent that a float64 can have, as it is stored; what is not finite counts as if below 1."""
    exponents = np.arange(2048) - 1022
    exponents[0], exponents[-1] = octaves.low, 0
    return np.clip((exponents - octaves.low) // octaves.step, 0, octaves.bins - 1)


def length_histogram(frame: Frame, octaves: Octaves) -> Query:
    """How many rows have |z| in each bin, in a frame without weights. L2 distance 1, or sqrt(2) when a record is replaced."""

    def rows(block: Array) -> Array:
        lengths = frame.prepared(block)[:, -2]
        return np.asarray(octaves.of(lengths)[:, None] == np.arange(octaves.bins), dtype=np.float64)

    def block_sum(block: Array) -> Array:
        return octaves.binned(frame.length_counts(block)).astype(np.float64)

    return Query(
        name="lengths", rows=rows, block_sum=block_sum, shape=(octaves.bins,), sensitivity=_moved_counts(1),
        because=SOURCE, columns=frame.columns, grid=1.0, bound=1.0,
    )  # fmt: skip


def target_histogram(frame: Frame, octaves: Octaves) -> Query:
    """How many rows have |y| in each bin; zeros are not counted. L2 distance 1, or sqrt(2) when a record is replaced."""

    def rows(prepared: Array) -> Array:
        y = prepared[:, -1]
        return np.asarray((octaves.of(y)[:, None] == np.arange(octaves.bins)) & (y != 0.0)[:, None], dtype=np.float64)

    def summed(prepared: Array) -> Steps:
        y = prepared[:, -1]
        return octaves.counts(y[y != 0.0])[None]

    return _query("targets", frame, rows, summed, (octaves.bins,), _moved_counts(1), grid=1.0)


def column_histograms(frame: Frame, octaves: Octaves, places: Sequence[int]) -> Query:
    """How many rows have |x_j| in each bin, for these columns at once, in units of the frame; zeros are not counted."""
    chosen, bins = list(places), octaves.bins

    def rows(block: Array) -> Array:
        found = frame.entries(block)[:, chosen]
        return np.asarray((octaves.of(found)[:, :, None] == np.arange(bins)) & (found != 0.0)[:, :, None], dtype=np.float64)

    def block_sum(block: Array) -> Array:
        found, zeros = frame.exponent_counts(block)
        counts = np.array([octaves.binned(found[place]) for place in chosen], dtype=np.float64)
        counts[:, 0] -= zeros[chosen]
        return counts

    return Query(
        name="magnitudes", rows=rows, block_sum=block_sum, shape=(len(chosen), bins), sensitivity=_moved_counts(len(chosen)),
        because=SOURCE, columns=frame.columns, grid=1.0, bound=1.0,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualBins:
    """`bins` bins of one width for each column, from `lows`; what lies outside falls into the end bins. Public or released."""

    lows: tuple[float, ...]
    widths: tuple[float, ...]
    bins: int

    def of(self, values: Array) -> Bins:
        """The bin of each value, a column each: of finite values, one correctly rounded operation after the other."""
        found = np.floor(np.clip((values - np.array(self.lows)) * self.inverse_widths, 0.0, self.bins - 1.0))
        return np.asarray(found, dtype=np.int64)

    @property
    def inverse_widths(self) -> Array:
        """Finite, so that no product is NaN."""
        widths = np.array(self.widths)
        return np.where(widths > 1e-150, 1.0 / np.maximum(widths, 1e-150), 0.0)


def place_histograms(frame: Frame, bins: EqualBins, places: Sequence[int], *, target: bool = True) -> Query:
    """How many rows have x_j in each bin, for these entries in units of the frame, and then y (with `target`): all at once."""
    chosen, count = list(places), bins.bins

    def found(block: Array) -> Bins:
        entries = frame.entries(block)[:, chosen]
        return bins.of(np.column_stack([entries, frame.targets(block)]) if target else entries)

    def counted(block: Array) -> Counts | None:
        every = chosen == list(range(len(frame.units)))
        return frame.bin_counts(block, np.array(bins.lows), bins.inverse_widths, count) if every else None

    return _counting("places", frame, found, (len(chosen) + target, count), counted)


def answer_counts(frame: Frame) -> Query:
    """How many targets are below 1/2, and how many are not: of a target of 0 and 1, the two answers."""

    def found(block: Array) -> Bins:
        return (frame.targets(block) >= 0.5).astype(np.int64)[:, None]

    def counted(block: Array) -> Counts:
        yes = np.count_nonzero(frame.targets(block) >= 0.5)
        return np.array([[len(block) - yes, yes]])

    return _counting("answers", frame, found, (1, 2), counted)


def class_counts(frame: Frame, classes: int) -> Query:
    """How many targets have each code of a class; what is no code counts nowhere."""

    def found(block: Array) -> Bins:
        codes = frame.targets(block)
        known = (codes >= 0.0) & (codes < classes) & (codes == np.floor(codes))
        return np.where(known, codes, -1.0).astype(np.int64)[:, None]

    return _counting("answers", frame, found, (1, classes))


def row_count(frame: Frame) -> Query:
    """How many rows there are, where that is not public."""
    return _counting("rows", frame, lambda block: np.zeros((block.shape[0], 1), dtype=np.int64), (1, 1))


def level_counts(frame: Frame) -> Query:
    """How many rows have each level of each category, by code; a code that is no level counts nowhere."""
    places = [place for place, count in enumerate(frame.levels) if count]
    most = max(frame.levels)

    def found(block: Array) -> Bins:
        codes = clamped(block[:, places])
        known = (codes >= 0.0) & (codes < np.array(frame.levels)[places]) & (codes == np.floor(codes))
        return np.where(known, codes, -1.0).astype(np.int64)

    return _counting("levels", frame, found, (len(places), most))


def _counting(
    name: str,
    frame: Frame,
    found: Callable[[Array], Bins],
    shape: tuple[int, int],
    counted: Callable[[Array], Counts | None] = lambda block: None,
) -> Query:
    """How many rows have each number, a column each; -1 counts nowhere. `counted` gives the same counts where it is faster."""
    columns, bins = shape

    def rows(block: Array) -> Array:
        return np.asarray(found(block)[:, :, None] == np.arange(bins), dtype=np.float64)

    def block_sum(block: Array) -> Array:
        fast = counted(block)
        if fast is not None:
            return fast.astype(np.float64)
        numbers = found(block)
        counts = [np.bincount(numbers[:, place] + 1, minlength=bins + 1)[1:] for place in range(columns)]
        return np.array(counts, dtype=np.float64)

    return Query(
        name=name, rows=rows, block_sum=block_sum, shape=shape, sensitivity=_moved_counts(columns),
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
    summed: RunSums,
    shape: tuple[int, ...],
    sensitivity: Sensitivity,
    *,
    grid: float = GRID,
) -> Query:
    return prepared_query(
        name=name, columns=frame.columns, preparation=frame.preparation, rows=rows, summed=summed,
        shape=shape, sensitivity=sensitivity, because=SOURCE, grid=grid,
    )  # fmt: skip
