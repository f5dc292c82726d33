"""Sums of numbers: the total itself, and the moments behind mean, variance and covariance.

Mean and variance come from contributions that are points of a simplex: nonnegative and adding up to one. A row that comes
or goes then moves the totals by 1 in L1, and their sum is the number of rows, at no extra cost. For u on the unit scale they
are the Bernstein polynomials: (1+u)/2 and (1-u)/2 for the mean; (1+u)^2/4, (1-u)^2/4 and (1-u^2)/2 for the variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

import dpkit
from dpkit.authoring import grid_below, round_up
from dpkit_stats.counting import norms
from dpkit_stats.scaling import GRID, Array, Interval, cut_down

BECAUSE = dpkit.Citation(key="dpkit", locator="docs/statistics.md")
REPLACED_MOMENTS = dpkit.Citation(key="dpkit", locator="docs/proofs/covariance.md")
FACTOR = 2.0**-20
"""Factors of a product are cut to this, so that products lie on the grid and BLAS adds them up exactly."""


FINE = 2.0**-50
"""Terms of a plain sum are multiples of this share of their unit: so fine that cutting is seen beside no noise."""

FINE_IN_BLOCKS = 2.0**-43
"""The same for the cells of a table: so coarse that float64 adds up a thousand rows at a time."""


def sum_unit(bounds: Interval, *, centre: float = 0.0) -> float:
    """The unit in which `sum` adds up: the power of two at or above every distance from the centre."""
    return grid_below(max(abs(bounds.lower - centre), abs(bounds.upper - centre)), bits=0)


def sum_query(column: str, bounds: Interval, *, centred: bool = False, fine: float = FINE) -> dpkit.Query:
    """The sum of a column in `sum_unit`s; with `centred`, of what the values are above the middle of the bounds.

    Not centred where rows may be without a value, since these add nothing. Centred, terms and their errors are as small as
    the bounds are narrow, however far from zero they lie; whoever reads the sum must then know how many rows there are.
    """
    centre = bounds.centre if centred else 0.0
    unit = sum_unit(bounds, centre=centre)

    def rows(block: Array) -> Array:
        values = np.clip(np.where(np.isnan(block[:, 0]), bounds.lower, block[:, 0]), bounds.lower, bounds.upper)
        return np.asarray(np.rint((values - centre) / unit / fine) * fine + 0.0)

    low, high = rows(np.array([[bounds.lower], [bounds.upper]])).tolist()
    # exact, and attained: every step above is monotone, and both ends are multiples of the grid
    width, most = high - low, max(abs(low), abs(high))
    return dpkit.Query(
        name="sum",
        columns=(column,),
        rows=rows,
        shape=(),
        grid=fine,
        bound=most,
        sensitivity=norms(one=(most, Fraction(most) ** 2), replaced=(width, Fraction(width) ** 2)),
        because=BECAUSE,
    )


def mean_query(column: str, bounds: Interval, *, with_count: bool = True) -> dpkit.Query:
    """Sums of (1+u)/2 and, with the count, of (1-u)/2: their difference is the centred sum, their sum the number of rows."""

    def high(block: Array) -> Array:
        return cut_down((1.0 + bounds.unit(block[:, 0])) / 2.0)

    def rows(block: Array) -> Array:
        share = high(block)
        return np.stack([share, 1.0 - share] if with_count else [share], axis=1)

    def block_sum(block: Array) -> Array:
        total = np.sum(high(block))
        return np.array([total, block.shape[0] - total] if with_count else [total])

    return dpkit.Query(
        name="mean",
        columns=(column,),
        rows=rows,
        block_sum=block_sum,
        shape=(2,) if with_count else (1,),
        grid=GRID,
        bound=1.0,
        sensitivity=norms(one=(1.0, 1.0), replaced=(2.0, 2.0) if with_count else (1.0, 1.0)),
        because=BECAUSE,
    )


def variance_query(column: str, bounds: Interval, *, with_count: bool = True) -> dpkit.Query:
    """Sums of (1+u)^2/4 and (1-u)^2/4 and, with the count, of what is left of 1."""

    def ends(block: Array) -> tuple[Array, Array]:
        unit = bounds.unit(block[:, 0])
        # both are cut down, so that what is left of 1 is never negative
        return cut_down(((1.0 + unit) / 2.0) ** 2), cut_down(((1.0 - unit) / 2.0) ** 2)

    def rows(block: Array) -> Array:
        high, low = ends(block)
        return np.stack([high, low, 1.0 - high - low] if with_count else [high, low], axis=1)

    def block_sum(block: Array) -> Array:
        high, low = (np.sum(end) for end in ends(block))
        return np.array([high, low, block.shape[0] - high - low] if with_count else [high, low])

    return dpkit.Query(
        name="variance",
        columns=(column,),
        rows=rows,
        block_sum=block_sum,
        shape=(3,) if with_count else (2,),
        grid=GRID,
        bound=1.0,
        sensitivity=norms(one=(1.0, 1.0), replaced=(2.0, 2.0)),
        because=BECAUSE,
    )


def replaced_moments(size: int) -> tuple[float, float]:
    """L1 and squared L2 distance by which (u, uu') can move when u in [-1, 1]^size is replaced: both exact.

    docs/proofs/covariance.md, theorems 1 and 2: d(d+2)^2 / (2(d+1)), and the largest 4k(d+1-k) over whole k.
    """
    half = (size + 1) // 2
    return round_up(Fraction(size * (size + 2) ** 2, 2 * (size + 1))), 4.0 * half * (size + 1 - half)


def covariance_query(columns: Sequence[str], bounds: Sequence[Interval]) -> dpkit.Query:
    """The upper triangle of the sum of z z', z = (1, u): the count, the centred sums, and the sums of products."""
    size = len(columns)
    if size < 1 or len(bounds) != size:
        allowed = "at least one column, each with its bounds"
        raise dpkit.InvalidValueError(field="columns", found=tuple(columns), allowed=allowed, where="covariance")
    above, beside = np.triu_indices(size + 1)

    def factors(block: Array) -> Array:
        units = [interval.unit(block[:, place]) for place, interval in enumerate(bounds)]
        return np.stack([np.ones(block.shape[0]), *(np.trunc(unit / FACTOR) * FACTOR for unit in units)], axis=1)

    def rows(block: Array) -> Array:
        z = factors(block)
        return z[:, above] * z[:, beside] + 0.0

    def block_sum(block: Array) -> Array:
        z = factors(block)
        return (z.T @ z)[above, beside] + 0.0

    entries = (size + 1) * (size + 2) / 2
    return dpkit.Query(
        name="covariance",
        columns=tuple(columns),
        rows=rows,
        block_sum=block_sum,
        shape=(len(above),),
        grid=GRID,
        bound=1.0,
        sensitivity=norms(one=(entries, entries), replaced=replaced_moments(size)),
        because=REPLACED_MOMENTS,
    )
