"""The released view of a row, and what the queries of bounded influence prepare of it: a weighted direction and a target.

Rows lie side by side in memory here (an array of columns), since every step is elementwise along them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from dpkit import Preparation
from dpkit.authoring import dataclass
from dpkit_irls.rows import kernels
from dpkit_irls.rows.dummies import Levels, predicted, widen_into
from dpkit_irls.rows.fixed_point import LARGEST_STEP, STEP, Array, exponents_of, fixed_point, power_of_two_above

CLAMP = 1e100
"""The public clamp: magnitudes above it count as this."""
TINY = 2.0**-1000
"""Rows whose largest entry is far below this count as zeros, so that no quotient overflows."""
FAR = 1e300
"""Farther than any row: no row is weighted down."""
LEAST_WEIGHT = 2.0**-21
"""Rows of a smaller weight are zero on the grid."""


@dataclass(frozen=True, kw_only=True, eq=False)  # without slots: `preparation` is made once a frame, and is no field
class Frame:
    """How rows of a block (the target last) are seen; all of it is public or released.

    An entry of x becomes (x - centre) / unit, categories as dummies against `references`; a constant may follow. Then z = P'x
    for the preconditioner P, of 20 bits. A row has the weight g = min(1, |z| / near) min(1, far / |z|); by
    default that is 1. The target is y - `origin`, less what the public coefficients `start` predict (one an entry as declared,
    against first levels).
    """

    columns: tuple[str, ...]
    units: tuple[float, ...]
    intercept: bool
    preconditioner: Array = field(repr=False)
    levels: Levels = ()
    centres: tuple[float, ...] = ()
    references: tuple[int, ...] = ()
    origin: float = 0.0
    start: tuple[float, ...] = ()
    near: float = 0.0
    far: float = FAR

    @cached_property
    def preparation(self) -> Preparation:
        """What the queries of this frame share: the same object for all of them. Only steps, whose rows have weights, come back
        to a frame.
        """
        return Preparation(rows=self.prepared, width=self.width + 2, keep=self.near > 0.0)

    @cached_property
    def kept_preparation(self) -> Preparation:
        """The same for gradients, which are asked for again at other positions, with weights or without."""
        return self.preparation if self.preparation.keep else replace(self.preparation, keep=True)

    @property
    def width(self) -> int:
        """Entries of z."""
        return len(self.units) + self.intercept

    def entries(self, block: Array) -> Array:
        """x centred and in the units of the frame, without the constant; each column contiguous."""
        found = np.empty((len(self.units), block.shape[0]))
        for part in _parts(block.shape[0]):
            self._columns(block[part], out=found[:, part])
        return found.T

    def targets(self, block: Array) -> Array:
        """y as the frame sees it, within the clamp."""
        found = np.array(block[:, -1])
        clamp_in_place(found)
        if self.start:
            with np.errstate(over="ignore", invalid="ignore"):
                found -= predicted(clamped(block[:, :-1]), self.levels, self.start)
        found -= self.origin
        clamp_in_place(found)
        return found

    @cached_property
    def _inverse_units(self) -> Array:
        """Of moderate size, so that no product overflows."""
        return np.asarray(1.0 / np.clip(np.array(self.units), 1e-60, 1e160)[:, None])

    @cached_property
    def _centres(self) -> Array:
        """Well within the clamp."""
        given = np.array(self.centres) if self.centres else np.zeros(len(self.units))
        return np.asarray(np.clip(given, -1e99, 1e99)[:, None])

    @cached_property
    def _turned(self) -> tuple[Array, float]:
        """P' in fixed point, and what it is to be scaled by."""
        matrix, scale = fixed_point(np.clip(self.preconditioner, -1e100, 1e100))
        return np.ascontiguousarray(matrix.T), scale

    @cached_property
    def _tame(self) -> float:
        """Entries in the units of the frame up to this were surely not beyond the clamp."""
        return float(0.5 * CLAMP * np.min(self._inverse_units, initial=1.0))

    @property
    def _compilable(self) -> bool:
        return not any(self.levels) and not self.start and abs(self.origin) <= 1e99

    def exponent_counts(self, block: Array) -> tuple[kernels.Counts, kernels.Counts]:
        """How often each column of x, in the units of the frame, has each stored exponent, and how often it is zero."""
        if self._compilable:
            fast = kernels.exponent_counts(block, self._centres[:, 0], self._inverse_units[:, 0], self._tame)
            if fast is not None:
                return fast
        columns = self.entries(block).T
        counts = np.array([np.bincount(exponents_of(column), minlength=2048) for column in columns])
        return counts, np.array([columns.shape[1] - np.count_nonzero(column) for column in columns])

    def bin_counts(self, block: Array, lows: Array, inverse_widths: Array, bins: int) -> kernels.Counts | None:
        """How many entries of each column, and of the target where there is one more `low`, are in each of equal bins; None
        where numpy is to do it.
        """
        if not self._compilable:
            return None
        seen = (self._centres[:, 0], self._inverse_units[:, 0], self.origin, self._tame)
        return kernels.bin_counts(block, *seen, lows, inverse_widths, bins)

    def length_counts(self, block: Array) -> kernels.Counts:
        """How many rows have lengths of each stored exponent, in a frame without weights."""
        turned, scale = self._turned
        if self._compilable and self.near == 0.0 and self.far == FAR:
            seen = (self._centres[:, 0], self._inverse_units[:, 0], turned, scale, self._tame)
            fast = kernels.length_counts(block, *seen, intercept=self.intercept)
            if fast is not None:
                return fast
        return np.bincount(exponents_of(self.prepared(block)[:, -2]), minlength=2048)

    def _columns(self, block: Array, *, out: Array) -> Array:
        """The largest magnitude of each row of x in the units of the frame, which is put into `out`, a row a column of x.

        Values seldom need the clamp: it looks first.
        """
        for tame in (True, False):
            widen_into(out, block[:, :-1], self.levels, self.references)
            if not tame:
                clamp_in_place(out)
            out -= self._centres
            out *= self._inverse_units
            largest = _largest(out)
            if np.max(largest, initial=0.0) <= self._tame:  # False for NaN
                break
        return largest

    def prepared(self, block: Array) -> Array:
        """Of each row w = g z/|z| in whole steps of the grid, then the reach |z|/g (z is w times that), then the target."""
        turned, scale = self._turned
        if self._compilable:
            geometry = (self._centres[:, 0], self._inverse_units[:, 0], turned, scale, self.origin, self.near, self.far)
            fast = kernels.prepared(block, *geometry, self._tame, intercept=self.intercept, kept=self.near > 0.0)
            if fast is not None:
                return fast.T
        found = np.empty((self.width + 2, block.shape[0]))
        for part in _parts(block.shape[0]):
            x, scales = self._fixed_steps(block[part])
            z = np.matmul(turned, x, out=found[:-2, part])  # exact, in any order
            length = np.sqrt(_squares(z))
            weight = self._weights(np.multiply(length, scales * (scale * STEP), out=found[-2, part]))
            length[length == 0.0] = 1.0
            z *= weight * np.divide(LARGEST_STEP, length, out=length)  # in steps of the grid, to within three roundings
            np.trunc(z, out=z)
            found[-2, part] /= np.where(weight < LEAST_WEIGHT, np.inf, weight)
        found[-1] = self.targets(block)
        return found.T

    def _weights(self, length: Array) -> Array:
        """g, of rows of these lengths."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            far = np.fmin(self.far / length, 1.0)  # 1 for NaN
            return np.asarray(np.fmin(length / self.near, 1.0) * far)

    def _fixed_steps(self, block: Array) -> tuple[Array, Array]:
        """x in fixed point, at most 1, in whole steps; and the power of two that each row is to be scaled by."""
        x = np.empty((self.width, block.shape[0]))
        largest = self._columns(block, out=x[: len(self.units)])
        if self.intercept:
            x[-1] = 1.0
            np.maximum(largest, 1.0, out=largest)
        scales = np.maximum(power_of_two_above(largest), TINY)
        x *= LARGEST_STEP / scales
        np.trunc(x, out=x)
        return x, scales


def _parts(rows: int) -> Iterator[slice]:
    """Some rows at a time, whose columns fit into a core's cache."""
    return (slice(start, start + 8192) for start in range(0, rows, 8192))


def _squares(columns: Array) -> Array:
    """Squared norms of rows, which lie along the last axis, added up column by column."""
    found = np.zeros(columns.shape[1])
    square = np.empty(columns.shape[1])
    for column in columns:
        found += np.multiply(column, column, out=square)
    return found


def _largest(columns: Array) -> Array:
    """The largest magnitude of each row, or NaN; rows lie along the last axis."""
    found = np.zeros(columns.shape[1])
    size = np.empty(columns.shape[1])
    for column in columns:
        np.maximum(found, np.abs(column, out=size), out=found)
    return found


def clamp_in_place(values: Array) -> None:
    """Cut to the clamp, with 0 for NaN. Looks first: values seldom need it."""
    least, most = np.min(values, initial=0.0), np.max(values, initial=0.0)
    if least >= -CLAMP and most <= CLAMP:  # False for NaN
        return
    np.clip(values, -CLAMP, CLAMP, out=values)
    np.copyto(values, 0.0, where=np.isnan(values))


def clamped(values: Array) -> Array:
    """The same within the clamp, with 0 for NaN."""
    found = np.array(values)
    clamp_in_place(found)
    return found
