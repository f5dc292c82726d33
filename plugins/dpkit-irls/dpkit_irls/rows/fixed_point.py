"""Maps of a row that depend on that row alone, bit for bit: fixed-point factors, exact products, elementwise everything else.

Factors are multiples of 2**-20 and at most 1 in magnitude, so products of two have 40 bits and a product with a vector of so
many columns is exact in float64 in any order, through any BLAS kernel. What is not exact (a square root, a quotient) is one
correctly rounded operation a step, column by column, so it does not depend on a row's place either.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from dpkit.authoring import Steps, runs_of, truncated, whole_steps

Array = npt.NDArray[np.float64]

STEP = 2.0**-20
"""The grid of a factor."""
GRID = STEP * STEP
"""The grid of a product of two factors."""
LARGEST_STEP = 1.0 / STEP
"""1, in steps of a factor."""
RUN = 8192
"""How many products of two factors float64 adds up without rounding: 2**53 / 2**40."""
MOST_COLUMNS = 4096


@cache
def above_diagonal(size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The places above the diagonal of a matrix of this size, row by row; not to be written into."""
    rows, columns = np.triu_indices(size, k=1)
    return rows, columns


def cut(values: Array) -> Array:
    """Multiples of the step, towards zero; NaN becomes 0."""
    if not np.isfinite(np.sum(values)):  # one cheap look; the same bits either way
        values = np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=-1.0)
    return truncated(values, grid=STEP)


def finite(steps: Array) -> Array:
    """The same with 0 for NaN. Fast sums do without: a NaN shows in the sum, which is then made of rows."""
    np.copyto(steps, 0.0, where=np.isnan(steps))
    return steps


def products_by_run(left: Array, right: Array) -> Steps:
    """Sums over rows, which lie along the last axis, of products of whole steps of factors: exact, a matrix a run of rows.

    A NaN, or a step beyond a factor's, is refused: whoever asked makes the sum of rows.
    """
    pairs = zip(runs_of(left, RUN), runs_of(right, RUN), strict=True)
    return whole_steps(np.concatenate([np.matmul(one, other.swapaxes(1, 2)) for one, other in pairs]))


def squares_by_run(columns: Array) -> Steps:
    """The same of columns with themselves.

    BLAS multiplies small matrices fast if they are two, and one with itself in up to twice the time: so the first column is
    multiplied by itself apart, and runs are cut into parts that are small.
    """
    width, part = len(columns), RUN
    while width * width * part > _SMALL:
        part //= 2
    if part < _LEAST_PART:
        return products_by_run(columns, columns)
    sums = []
    for run in runs_of(columns, part):
        others, found = run.swapaxes(1, 2), np.empty((len(run), width, width))
        np.matmul(run[:, 1:], others, out=found[:, 1:])
        np.matmul(run[:, :1], others[:, :, :1], out=found[:, :1, :1])
        found[:, 0, 1:] = found[:, 1:, 0]
        sums.append(found)
    parts = whole_steps(np.concatenate(sums))
    return np.add.reduceat(parts, np.arange(0, len(parts), RUN // part), axis=0)


_SMALL, _LEAST_PART = 1_000_000, 512
"""Up to so many products OpenBLAS takes a matrix to be small. Another BLAS finds the same sums."""


def sums_by_run(steps: Array) -> Steps:
    """Sums over rows of whole steps: exact, one a run of rows."""
    return whole_steps(np.concatenate([np.sum(run, axis=-1) for run in runs_of(steps, RUN)]))


def lengths(block: Array) -> Array:
    """Euclidean norms of rows with entries of moderate size, summed column by column."""
    total = np.zeros(block.shape[0])
    for column in range(block.shape[1]):
        total += block[:, column] * block[:, column]
    return np.asarray(np.sqrt(total))


def exponents_of(values: Array) -> npt.NDArray[np.int64]:
    """Exponents of float64 numbers as they are stored: e + 1022 where 2^(e-1) <= |v| < 2^e, 0 for zero and below 2^-1022."""
    found = values.view(np.int64) >> 52
    found &= 0x7FF
    return found


def power_of_two_above(values: Array) -> Array:
    """The smallest power of two above each magnitude (1 for zero, infinity from 2**1023 on): scaling by it is exact."""
    stored = np.abs(np.asarray(values, dtype=np.float64)).view(np.int64) & _EXPONENT
    if stored.size and np.min(stored) >= _LEAST_EXPONENT and np.max(stored) < _EXPONENT:  # normal numbers, as most are
        stored += _LEAST_EXPONENT
        return stored.view(np.float64)
    with np.errstate(over="ignore"):
        found = np.ldexp(1.0, np.frexp(np.abs(values))[1])
    return np.asarray(np.where(values == 0.0, 1.0, found))


_LEAST_EXPONENT, _EXPONENT = 1 << 52, 0x7FF << 52
"""The bits of the exponent of the least normal number, and of one that is not finite."""


def in_unit_ball(block: Array) -> Array:
    """Rows cut to the ball of radius 1 and to the grid. Their norm is at most 1 exactly, not up to rounding:

    its square is a multiple of 2**-40, and it is below 1 + 2**-40.
    """
    inside = np.clip(block, -1e100, 1e100)
    if np.isnan(np.sum(inside)):
        np.copyto(inside, 0.0, where=np.isnan(inside))
    largest = power_of_two_above(np.max(np.abs(inside), axis=1, initial=0.0))
    small = inside / np.maximum(largest, 1.0)[:, None]
    length = lengths(small) * np.maximum(largest, 1.0)
    return cut(inside / np.maximum(length, 1.0)[:, None])


def fixed_point(values: Array) -> tuple[Array, float]:
    """A released vector or matrix in 20 bits: multiples of 2**-20, at most 1, and the power of two to scale it by."""
    finite = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=1e200, neginf=-1e200)
    scale = float(power_of_two_above(np.max(np.abs(finite), initial=0.0)))
    return truncated(finite / scale, grid=STEP), scale
