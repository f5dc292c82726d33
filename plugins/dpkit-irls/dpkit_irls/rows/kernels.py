"""Whether passes are compiled: where numba is installed (the extra `fast`), from the moment that loading it pays.

The compiled passes give the same bits as numpy's, so nothing but time depends on this. Each function here gives None where
numpy is to do it: without numba, for few rows, for many columns (where BLAS is faster), or for numbers beyond the clamp.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from threading import local
from types import ModuleType

import numpy as np
import numpy.typing as npt

from dpkit_irls.rows.fixed_point import RUN, STEP, Array
from dpkit_irls.rows.scores import Scores

Counts = npt.NDArray[np.int64]

WORTH_LOADING = 100_000_000
"""numpy does this number of cells in more time than numba takes to load: small analyses never load it. It is loaded at once
where the declared number of rows says that there will be as many, else when as many were done.
"""
MOST_COLUMNS = 32
"""With more columns BLAS adds up products faster."""

_worth = [WORTH_LOADING]
_done = [0]  # cells of this process; threads may lose counts, which does not matter
_failed = [False]


@contextmanager
def compiled_passes(*, wanted: bool) -> Iterator[None]:
    """All passes compiled meanwhile, or none: to compare them. Not for several threads."""
    before = _worth[0]
    _worth[0] = 0 if wanted else 1 << 62
    try:
        yield
    finally:
        _worth[0] = before


def can_compile() -> bool:
    """Whether numba is there."""
    return _compiled() is not None


def expect(rows: int | None, *, cells_of_a_row: int) -> None:
    """A run over this many rows begins, where their number is declared: what will be compiled is so from its first pass on."""
    if rows is not None and rows * cells_of_a_row >= _worth[0]:
        _done[0] = max(_done[0], _worth[0])


def passes_by(rows: int | None, *, cells_of_a_row: int) -> str:
    """What will do the passes of a run over this many rows, in words; the answers are the same. It does not load numba."""
    if find_spec("numba") is None:
        return "numpy (the extra dpkit-irls[fast] compiles passes over many rows)"
    if rows is not None and rows * cells_of_a_row < _worth[0]:
        return "numpy (too few cells to be worth loading numba)"
    return "numpy at first, then compiled by numba" if rows is None else "compiled by numba"


def prepared(
    block: Array,
    centres: Array,
    inverse_units: Array,
    turned: Array,
    scale: float,
    origin: float,
    near: float,
    far: float,
    clamp: float,
    *,
    intercept: bool,
    kept: bool = False,
) -> Array | None:
    """Weighted directions, reaches and targets, a column each; `kept` for later passes."""
    width = turned.shape[0]
    passes = _passes(block, width)
    if passes is None:
        return None
    shape = (width + 2, block.shape[0])
    found = _room.array(shape) if kept else np.empty(shape)
    seen = (centres, inverse_units, intercept, turned, scale * STEP, origin, near, far, clamp)
    return found if _did(passes.prepared, block, *seen, found) else None


def length_counts(
    block: Array, centres: Array, inverse_units: Array, turned: Array, scale: float, clamp: float, *, intercept: bool
) -> Counts | None:
    """How many rows have lengths of each stored exponent, in a frame without weights."""
    passes = _passes(block, turned.shape[0])
    if passes is None:
        return None
    counts = np.zeros(2048, dtype=np.int64)
    seen = (centres, inverse_units, intercept, turned, scale * STEP, clamp)
    return counts if _did(passes.length_exponents, block, *seen, counts) else None


def exponent_counts(
    block: Array, centres: Array, inverse_units: Array, clamp: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """How often each column has each stored exponent, and how often it is zero."""
    features = inverse_units.size
    passes = _passes(block, features)
    if passes is None:
        return None
    counts, zeros = np.zeros((features, 2048), dtype=np.int64), np.zeros(features, dtype=np.int64)
    return (counts, zeros) if _did(passes.exponents, block, centres, inverse_units, clamp, counts, zeros) else None


def bin_counts(
    block: Array,
    centres: Array,
    inverse_units: Array,
    origin: float,
    clamp: float,
    lows: Array,
    inverse_widths: Array,
    bins: int,
) -> Counts | None:
    """How many entries of each column, and of the target where there is one more `low`, are in each of equal bins."""
    passes = _passes(block, inverse_units.size)
    if passes is None:
        return None
    counts = np.zeros((lows.size, bins), dtype=np.int64)
    seen = (centres, inverse_units, origin, clamp, lows, inverse_widths)
    return counts if _did(passes.bins, block, *seen, counts) else None


def squares(columns: Array) -> Array | None:
    """Sums of w w', of each run of rows."""
    passes = _passes(columns, columns.shape[0])
    if passes is None:
        return None
    totals = np.zeros((_runs(columns), columns.shape[0], columns.shape[0]))
    return _both_triangles(totals) if _did(passes.squares, columns, RUN, totals) else None


def gradient(columns: Array, scores: Scores) -> Array | None:
    """Sums of scores times directions, of each run of rows."""
    passes = _passes(columns, scores.direction.size)
    if passes is None:
        return None
    totals = np.zeros((_runs(columns), scores.direction.size))
    how = (scores.direction, scores.scale, scores.shape, scores.table)
    return totals if _did(passes.gradient, columns, *how, RUN, totals) else None


def step(columns: Array, scores: Scores, *, carried: int, inverse_far: float) -> tuple[Array, Array, Array] | None:
    """Gradient, what it carries (one of compiled's numbers) and nearness, of each run of rows."""
    passes = _passes(columns, scores.direction.size)
    if passes is None:
        return None
    runs, width = _runs(columns), scores.direction.size
    gradients, matrices, nears = np.zeros((runs, width)), np.zeros((runs, width, width)), np.zeros(runs)
    how = (scores.direction, scores.scale, scores.shape, scores.table)
    if not _did(passes.step, columns, *how, RUN, carried, inverse_far, gradients, matrices, nears):
        return None
    return gradients, _both_triangles(matrices), nears


def moments(columns: Array, direction: Array, scale: float, cap: float, balance: float) -> Array | None:
    """Sums of w w', of each run of rows."""
    passes = _passes(columns, direction.size)
    if passes is None:
        return None
    totals = np.zeros((_runs(columns), columns.shape[0], columns.shape[0]))
    return _both_triangles(totals) if _did(passes.moments, columns, direction, scale, cap, balance, RUN, totals) else None


class _Room(local):
    """Memory for arrays that are kept together, some thirty megabytes at a time: a system gives large pieces several times as
    fast as many smaller ones.
    """

    def __init__(self) -> None:
        self._piece, self._used = np.empty(0), 0

    def array(self, shape: tuple[int, int]) -> Array:
        """An array of this shape, which holds anything."""
        size = shape[0] * shape[1]
        if self._used + size > self._piece.size:
            self._piece, self._used = np.empty(max(size, _PIECE)), 0
        self._used += size
        return self._piece[self._used - size : self._used].reshape(shape)


_PIECE = 1 << 22
_room = _Room()


def _did(compiled_pass: Callable[..., object], columns: Array, *arguments: object) -> bool:
    """Whether a compiled pass did its work over these columns, which it only reads; numpy does it otherwise.

    Passes are compiled when they are first called, and numba writes to a disk then: what it raises says nothing of a row, but
    an engine would take it for a row that cannot be counted. It costs time instead, and numba is not asked again.
    """
    read = columns.view()
    read.flags.writeable = False  # of what may be written to, each pass would be compiled a second time
    try:
        return compiled_pass(read, *arguments) is not False
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - as above
        _failed[0] = True
        logging.getLogger("dpkit").info("numba cannot compile (%s): irls does without.", type(error).__name__)
        return False


def _both_triangles(lower: Array) -> Array:
    return np.asarray(lower + np.tril(lower, -1).swapaxes(1, 2))


def _runs(columns: Array) -> int:
    return max(1, -(-int(columns.shape[1]) // RUN))


def _passes(cells: Array, width: int) -> ModuleType | None:
    """The compiled passes, for these cells."""
    if _failed[0] or width > MOST_COLUMNS or not cells.flags.c_contiguous:
        return None
    if _done[0] < _worth[0]:
        _done[0] += cells.size
        return None
    return _compiled()


@cache
def _compiled() -> ModuleType | None:
    try:
        from dpkit_irls.rows import compiled
    except Exception as error:  # noqa: BLE001 - a numba that does not load costs time, and nothing else
        if not isinstance(error, ModuleNotFoundError):
            logging.getLogger("dpkit").info("numba does not load (%s): irls does without.", type(error).__name__)
        return None
    return compiled
