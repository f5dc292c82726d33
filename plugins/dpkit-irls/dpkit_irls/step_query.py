"""One step of `bounded` as one query: gradient, scatter and nearness together, at the sensitivity of the gradient alone.

With u = z/||z||, s = clip(r/k, -1, 1) and n = sqrt(1 - s^2) a row contributes (s u, the triangle of u u', n), the latter two
with the coefficients of a `Mix`. Rows whose gradients are far apart are close in the other two, so under replace-one these
cost nothing (docs/proofs/irls.md, Theorem 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpkit.core.distances import Distance, l2
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Query
from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_sums import truncated
from dpkit.numerics.rounding import sqrt_up
from dpkit_irls.frame import Frame, residuals_at
from dpkit_irls.influence_query import SOURCE
from dpkit_irls.prepared_query import prepared_query
from dpkit_irls.rows import GRID, Array, cut_in_place

_GRID = GRID / 2.0  # an off-diagonal is a product of two factors, or half of one
_CUTTING = 2.0**-35  # squares are cut to the grid, which moves a difference of so many by 2**-41 sqrt(4096) at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Coefficients of u_i u_j (i < j), of u_i^2 and of n. Off-diagonals are whole or half, so that their sums stay exact."""

    off_diagonal: float
    diagonal: float
    near: float

    def __post_init__(self) -> None:
        if self.off_diagonal not in (0.5, 1.0) or 2 * self.diagonal**2 > self.off_diagonal**2 or self.near**2 > 2:
            raise InvalidValueError(
                field="mix",
                found=self,
                allowed="off_diagonal of 0.5 or 1, diagonal at most that over sqrt(2), near at most sqrt(2)",
                where="irls step",
            )

    def sensitivity(self, neighbours: Neighbours) -> Sequence[Distance]:
        """2 under replace-one, and what cutting adds; sqrt(max(1, near^2) + off_diagonal^2 / 2) under add-remove; Theorem 3."""
        if neighbours is Neighbours.REPLACE_ONE:
            return (l2(2.0 + _CUTTING),)
        return (l2(sqrt_up(max(Fraction(1), Fraction(self.near) ** 2) + Fraction(self.off_diagonal) ** 2 / 2)),)


FREE = Mix(off_diagonal=1.0, diagonal=181 / 256, near=181 / 128)
"""For replace-one: as large as costs nothing, cut to 8 bits."""
CHEAP = Mix(off_diagonal=0.5, diagonal=181 / 512, near=1.0)
"""For add-remove: nearness is free, the scatter costs an eighth of the gradient's mu^2."""


def mix_for(neighbours: Neighbours) -> Mix:
    """The coefficients that suit the relation; each is sound under both."""
    return FREE if neighbours is Neighbours.REPLACE_ONE else CHEAP


def step(frame: Frame, position: Array, threshold: float, mix: Mix) -> Query:
    """The sum; the position (of z) and the threshold k are released values."""
    width = frame.width
    upper = np.triu_indices(width, k=1)
    residuals = residuals_at(position)

    def scored(prepared: Array) -> tuple[Array, Array]:
        score = residuals(prepared)
        score /= threshold
        cut_in_place(np.clip(score, -1.0, 1.0, out=score))
        return score, mix.near * cut_in_place(np.sqrt(1.0 - score * score))

    def squares(u: Array) -> Array:
        return truncated(mix.diagonal * (u * u), grid=_GRID)

    def rows(prepared: Array) -> Array:
        u = prepared[:, :-2]
        score, near = scored(prepared)
        products = mix.off_diagonal * (u[:, upper[0]] * u[:, upper[1]])
        return np.column_stack([u * score[:, None], products, squares(u), near])

    def summed(prepared: Array) -> Array:
        u = prepared[:, :-2]
        score, near = scored(prepared)
        products = mix.off_diagonal * (u.T @ u)[upper]
        steps = np.square(u.T)  # `squares`, in whole steps of the grid: no rounding before the cut, none after it
        steps *= mix.diagonal / _GRID
        diagonal = np.sum(np.trunc(steps, out=steps), axis=1) * _GRID
        return np.concatenate([score @ u, products, diagonal, [np.sum(near)]])

    return prepared_query(
        name="step",
        columns=frame.columns,
        preparation=frame.preparation,
        rows=rows,
        summed=summed,
        shape=(2 * width + len(upper[0]) + 1,),
        sensitivity=mix.sensitivity,
        because=SOURCE,
        grid=_GRID,
        bound=max(1.0, mix.near),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepSums:
    """A released step taken apart. With noise of sd sigma on every entry of the release, `gradient` has that;

    `scatter` has symmetric noise of sd sigma / mix.diagonal on its diagonal (less by sqrt(2) off it), `near` sigma / mix.near.
    """

    gradient: Array
    scatter: Array
    near: float


def taken_apart(released: Array, width: int, mix: Mix) -> StepSums:
    """Post-processing."""
    upper = np.triu_indices(width, k=1)
    scatter = np.zeros((width, width))
    scatter[upper] = released[width : width + len(upper[0])] / mix.off_diagonal
    scatter = scatter + scatter.T + np.diag(released[width + len(upper[0]) : -1] / mix.diagonal)
    return StepSums(gradient=released[:width], scatter=scatter, near=float(released[-1]) / mix.near)
