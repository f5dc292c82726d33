"""Exact sums at the speed of BLAS: fixed-point terms, float64 sums that cannot round, and integers across blocks.

Terms are multiples of a public power of two, the grid, and at most `bound` in magnitude. A sum of n such terms stays exact
in float64, in every order and through every BLAS kernel, while n * bound / grid <= 2**53 (docs/proofs/exact-sums.md, lemma 1).
Block sums become integers and are added as integers, so a total has the same bits under every order, block size and partition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.values import dataclass

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BigIntArray = npt.NDArray[np.object_]

CONTRIBUTION_BITS = 40
"""How finely a contribution is cut when its author declares no grid: 2**-40 of its bound, so 4096 rows make an exact sum."""

LARGEST_BOUND = 2.0**400
"""Bounds lie between the inverse of this and this: no grid is subnormal and no total of 2**95 steps overflows."""

FEW_ROWS = 512
"""Where float64 adds up no more rows than this, integers do it faster."""

_EXACT_STEPS = 2**53
_LIMB = 32
_LOW_MASK = (1 << _LIMB) - 1
_ROOM = 2**61


def is_power_of_two(value: float) -> bool:
    """Whether a float is 2**k for a whole number k."""
    return math.isfinite(value) and math.frexp(value)[0] == 0.5


def grid_below(bound: float, *, bits: int = CONTRIBUTION_BITS) -> float:
    """The power of two that cuts [0, bound] into at most 2**bits steps, and into more than half as many."""
    fraction, exponent = math.frexp(bound)
    return math.ldexp(1.0, exponent - (1 if fraction == 0.5 else 0) - bits)


def truncated(values: npt.ArrayLike, *, grid: float) -> FloatArray:
    """Each value cut to a multiple of the grid, towards zero: no magnitude grows, and equal values stay equal.

    Exact for finite values whose quotient by the grid does not overflow.
    """
    steps = np.trunc(np.asarray(values, dtype=np.float64) / grid)
    return np.asarray(steps * grid + 0.0, dtype=np.float64)


def rows_per_exact_sum(bound: float, grid: float) -> int:
    """How many terms of this bound float64 adds up without any rounding; the grid must leave room for one."""
    if not (1.0 / LARGEST_BOUND <= bound <= LARGEST_BOUND):
        raise InvalidValueError(field="bound", found=bound, allowed="between 2**-400 and 2**400", where="exact sums")
    if not is_power_of_two(grid) or not bound * 2.0**-52 <= grid:
        raise InvalidValueError(
            field="grid", found=grid, allowed="a power of two, at least 2**-52 of the bound", where="exact sums"
        )
    steps = max(1, math.floor(Fraction(bound) / Fraction(grid)))
    return _EXACT_STEPS // steps


def guarded_steps(contributions: FloatArray, *, bound: float, grid: float) -> FloatArray:
    """Contributions in whole grid steps: NaN counts as 0, magnitudes are clamped to the bound, the rest is cut towards zero.

    Elementwise, so a row's steps are its own. Each coordinate is moved by a map that fixes 0 and is 1-Lipschitz up to a step.
    """
    steps = np.clip(contributions, -bound, bound)
    np.copyto(steps, 0.0, where=np.isnan(steps))
    steps /= grid
    return np.trunc(steps, out=steps)


def whole_steps(sums: FloatArray) -> IntArray:
    """Sums in grid steps as integers; refused where one is not whole, not finite or larger than float64 adds up exactly."""
    if not ((np.abs(sums) <= _EXACT_STEPS) & (sums == np.rint(sums))).all():  # False for NaN
        raise InvalidValueError(
            field="sums", found="others", allowed="whole numbers of at most 2**53 in magnitude", where="exact sums"
        )
    return np.asarray(sums, dtype=np.int64)


def runs_of(columns: FloatArray, rows: int) -> tuple[FloatArray, ...]:
    """Values that lie along the last axis, in runs of one length: views with the run as the first axis, the last run apart."""
    length = columns.shape[-1]
    whole = length // rows * rows
    parts = []
    if whole:
        parts.append(np.moveaxis(columns[..., :whole].reshape(*columns.shape[:-1], -1, rows), -2, 0))
    if whole < length or not parts:
        parts.append(columns[None, ..., whole:])
    return tuple(parts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactSum:
    """An array of integers times a grid, as high * 2**32 + low. Adding is exact, commutative and associative, to the bit."""

    grid: float
    high: IntArray | BigIntArray = field(repr=False)
    low: IntArray = field(repr=False)

    @classmethod
    def zero(cls, shape: tuple[int, ...], *, grid: float) -> ExactSum:
        """Nothing added yet."""
        return cls(grid=grid, high=np.zeros(shape, dtype=np.int64), low=np.zeros(shape, dtype=np.int64))

    @classmethod
    def of_steps(cls, steps: npt.ArrayLike, *, grid: float) -> ExactSum:
        """A block's sum, given in whole grid steps of magnitude at most 2**53."""
        whole = np.asarray(steps).astype(np.int64)
        return cls(grid=grid, high=whole >> _LIMB, low=whole & _LOW_MASK)

    @classmethod
    def of_rows(cls, steps: FloatArray, *, grid: float) -> ExactSum:
        """The sum over the first axis of whole grid steps of magnitude at most 2**53 each, by integers: at most 2**30 rows.

        For grids so fine that float64 has no room to add up more than a few rows.
        """
        return cls.of_integers(steps.astype(np.int64), grid=grid)

    @classmethod
    def of_integers(cls, steps: IntArray, *, grid: float) -> ExactSum:
        """The sum over the first axis of any 64-bit integers, as grid steps: at most 2**30 of them."""
        low = np.asarray(np.sum(steps & _LOW_MASK, axis=0))
        return cls(grid=grid, high=np.asarray(np.sum(steps >> _LIMB, axis=0)) + (low >> _LIMB), low=low & _LOW_MASK)

    def plus(self, other: ExactSum) -> ExactSum:
        """The sum of both. Python's integers take over where 64 bits could overflow, so it never wraps and never saturates."""
        if self.grid != other.grid:
            raise InvalidValueError(
                field="grid", found=other.grid, allowed=f"the same grid, {self.grid}", where="ExactSum.plus"
            )
        low = self.low + other.low
        high = _roomy(self.high) + _roomy(other.high) + (low >> _LIMB)
        return ExactSum(grid=self.grid, high=np.asarray(high), low=low & _LOW_MASK)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the total."""
        return self.low.shape

    def steps(self) -> BigIntArray:
        """The total in grid steps, as Python's integers."""
        shifted = self.high.astype(object) * (1 << _LIMB) + self.low.astype(object)
        return np.asarray(shifted, dtype=object).reshape(self.shape)

    def nearest(self) -> FloatArray:
        """The total as float64, rounded once, to nearest; what is beyond the largest float saturates there."""
        return floats_of(self.steps(), grid=self.grid)

    def split(self, unit: float) -> tuple[BigIntArray, FloatArray]:
        """The nearest whole multiple of `unit`, a power of two, and what remains: exactly, and at most unit/2.

        `unit` may be at most 2**53 grid steps, so that what remains is a float.
        """
        ratio = Fraction(unit) / Fraction(self.grid) if is_power_of_two(unit) else Fraction(0)
        if not 0 < ratio <= _EXACT_STEPS:
            allowed = "a power of two, at most 2**53 times the grid of the sum"
            raise InvalidValueError(field="unit", found=unit, allowed=allowed, where="ExactSum.split")
        totals = self.steps().ravel().tolist()
        if ratio <= 1:  # every total is a multiple
            return _objects([total * ratio.denominator for total in totals]).reshape(self.shape), np.zeros(self.shape)
        shift = ratio.numerator.bit_length() - 1
        whole = [(total + (1 << shift - 1)) >> shift for total in totals]
        rest = [float(total - (multiple << shift)) for total, multiple in zip(totals, whole, strict=True)]
        return _objects(whole).reshape(self.shape), np.array(rest).reshape(self.shape) * self.grid


def floats_of(steps: BigIntArray, *, grid: float) -> FloatArray:
    """Integers times a power of two, each rounded once to the nearest float64, saturating."""
    step = Fraction(grid)
    flat = [_nearest(Fraction(int(count)) * step) for count in steps.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(steps.shape)


def _roomy(high: IntArray | BigIntArray) -> IntArray | BigIntArray:
    """The same integers, as Python's where one more addition could leave 64 bits."""
    if high.dtype == object or not high.size:
        return high
    return high if int(high.min()) > -_ROOM and int(high.max()) < _ROOM else high.astype(object)


def _nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        largest = float(np.finfo(np.float64).max)
        return largest if exact > 0 else -largest


def _objects(items: Sequence[int]) -> BigIntArray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
