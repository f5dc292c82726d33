"""The released view of a row, and what the queries of bounded influence prepare of it: a direction, a length and a target.

Rows lie side by side in memory here (an array of columns), since every step is elementwise along them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dpkit.core.query import Preparation
from dpkit_irls.dummies import Levels, widened
from dpkit_irls.rows import Array, cut_in_place, fixed_point, power_of_two_above

CLAMP = 1e100
"""The public clamp: magnitudes above it count as this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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
    preparation: Preparation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "preparation", Preparation(rows=self.prepared, width=self.width + 2))

    @property
    def width(self) -> int:
        """Entries of z."""
        return len(self.units) + self.intercept

    def entries(self, block: Array) -> Array:
        """x in the units of the frame, without the intercept; each column contiguous."""
        x = clamped(np.ascontiguousarray(widened(block[:, :-1], self.levels).T))
        x /= np.array(self.units)[:, None]
        return x.T

    def prepared(self, block: Array) -> Array:
        """Of each row u on the grid, then ||z||, then y."""
        x, scales = self._fixed(block)
        matrix, scale = fixed_point(self.preconditioner)
        found = np.empty((self.width + 2, block.shape[0]))
        u = np.matmul(matrix.T, x, out=found[:-2])  # exact, in any order
        length = np.zeros(block.shape[0])
        for column in u:
            length += column * column
        np.sqrt(length, out=length)
        np.multiply(length, scales * scale, out=found[-2])
        length[length == 0.0] = 1.0
        u /= length
        cut_in_place(u)
        found[-1] = clamped(block[:, -1])
        return found.T

    def _fixed(self, block: Array) -> tuple[Array, Array]:
        """x in fixed point, at most 1, and the power of two that each row is to be scaled by."""
        x = np.ones((self.width, block.shape[0]))
        x[: len(self.units)] = self.entries(block).T
        largest = np.zeros(block.shape[0])
        for column in x:
            np.maximum(largest, np.abs(column), out=largest)
        scales = power_of_two_above(largest)
        x /= scales
        return cut_in_place(x), scales


def clamped(values: Array) -> Array:
    """Between the clamps; NaN becomes 0."""
    found = np.clip(values, -CLAMP, CLAMP)
    if np.isnan(np.sum(found)):
        np.copyto(found, 0.0, where=np.isnan(found))
    return np.asarray(found)


def residuals_at(position: Array) -> Callable[[Array], Array]:
    """y - z'position of prepared rows, for a position of z cut to 20 bits; the product u'position is exact."""
    direction, scale = fixed_point(position)

    def residuals(prepared: Array) -> Array:
        found = prepared[:, :-2] @ direction
        found *= prepared[:, -2]
        found *= scale
        return np.asarray(np.subtract(prepared[:, -1], found, out=found))

    return residuals
