"""The released view of a row, and what the queries of bounded influence prepare of it: a direction, a length and a target.

Rows lie side by side in memory here (an array of columns), since every step is elementwise along them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpkit.core.query import Preparation
from dpkit_irls.dummies import Levels, widened
from dpkit_irls.rows import LARGEST_STEP, STEP, Array, fixed_point, power_of_two_above

CLAMP = 1e100
"""The public clamp: magnitudes above it count as this."""
TINY = 2.0**-1000
"""Rows whose largest entry is far below this count as zeros, so that no quotient overflows."""


@dataclass(frozen=True, kw_only=True, eq=False)  # without slots: `preparation` is made once a frame, and is no field
class Frame:
    """The columns of a block (the target last), what each is divided by (powers of two), and the preconditioner P, of 20 bits.

    All are public or released. A row x becomes z = P'x, of which u = z/||z|| and ||z|| are used. `levels` says which features
    are categories; empty where all are numbers.
    """

    columns: tuple[str, ...]
    units: tuple[float, ...]
    intercept: bool
    preconditioner: Array = field(repr=False)
    levels: Levels = ()

    @cached_property
    def preparation(self) -> Preparation:
        """What the queries of this frame share: the same object for all of them."""
        return Preparation(rows=self.prepared, width=self.width + 2)

    @property
    def width(self) -> int:
        """Entries of z."""
        return len(self.units) + self.intercept

    def entries(self, block: Array) -> Array:
        """x in the units of the frame, without the intercept; each column contiguous."""
        x = np.array(widened(block[:, :-1], self.levels).T, order="C")
        clamp_in_place(x)
        x *= self._inverse_units
        return x.T

    @property
    def _inverse_units(self) -> Array:
        """Powers of two, so a product is the quotient."""
        return 1.0 / np.array(self.units)[:, None]

    def prepared(self, block: Array) -> Array:
        """Of each row u on the grid, then ||z||, then y."""
        x, scales = self._fixed_steps(block)
        matrix, scale = fixed_point(self.preconditioner)
        found = np.empty((self.width + 2, block.shape[0]))
        z = np.matmul(matrix.T, x, out=found[:-2])  # exact, in any order
        length = np.zeros(block.shape[0])
        square = np.empty(block.shape[0])
        for column in z:
            length += np.multiply(column, column, out=square)
        np.sqrt(length, out=length)
        np.multiply(length, scales * (scale * STEP), out=found[-2])
        length[length == 0.0] = 1.0
        length *= STEP
        z /= length  # in steps of the grid: a power of two more, so it rounds as z/||z|| does
        np.trunc(z, out=z)
        z *= STEP
        found[-1] = block[:, -1]
        clamp_in_place(found[-1])
        return found.T

    def _fixed_steps(self, block: Array) -> tuple[Array, Array]:
        """x in fixed point, at most 1, in whole steps; and the power of two that each row is to be scaled by."""
        x = self.entries(block).T
        largest = np.zeros(block.shape[0])
        size = np.empty(block.shape[0])
        for column in x:
            np.maximum(largest, np.abs(column, out=size), out=largest)
        if self.intercept:
            x = np.vstack([x, np.ones(block.shape[0])])
            np.maximum(largest, 1.0, out=largest)
        scales = np.maximum(power_of_two_above(largest), TINY)
        x *= LARGEST_STEP / scales
        np.trunc(x, out=x)
        return x, scales


def clamp_in_place(values: Array) -> None:
    """Cut to the clamp, with 0 for NaN. Looks first: values seldom need it."""
    least, most = np.min(values, initial=0.0), np.max(values, initial=0.0)
    if least >= -CLAMP and most <= CLAMP:  # False for NaN
        return
    np.clip(values, -CLAMP, CLAMP, out=values)
    np.copyto(values, 0.0, where=np.isnan(values))


def residuals_at(position: Array) -> Callable[[Array], Array]:
    """y - z'position of prepared rows, for a position of z cut to 20 bits; the product u'position is exact."""
    direction, scale = fixed_point(position)

    def residuals(prepared: Array) -> Array:
        found = prepared[:, :-2] @ direction
        found *= prepared[:, -2]
        found *= scale
        return np.asarray(np.subtract(prepared[:, -1], found, out=found))

    return residuals
