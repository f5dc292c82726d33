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
from dpkit.core.query import Query, Steps
from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_sums import whole_steps
from dpkit.numerics.rounding import sqrt_up
from dpkit_irls import kernels
from dpkit_irls.frame import Frame, Scores, scores_at
from dpkit_irls.influence_query import SOURCE
from dpkit_irls.prepared_query import prepared_query
from dpkit_irls.rows import GRID, LARGEST_STEP, Array, products_by_run, sums_by_run

_PARTS = 512  # coefficients are so many parts of 1: a run's sum of products, times one of them, stays within 63 bits
_GRID = GRID / _PARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Coefficients of u_i u_j (i < j), of u_i^2 and of n: multiples of 1/512, so that sums are exact."""

    off_diagonal: float
    diagonal: float
    near: float

    def __post_init__(self) -> None:
        every = (self.off_diagonal, self.diagonal, self.near)
        sound = min(every) > 0 and self.off_diagonal <= 1 and 2 * self.diagonal**2 <= self.off_diagonal**2 and self.near**2 <= 2
        if not sound or any(coefficient * _PARTS % 1 for coefficient in every):
            raise InvalidValueError(
                field="mix",
                found=self,
                allowed="multiples of 1/512: off_diagonal up to 1, diagonal up to that over sqrt(2), near up to sqrt(2)",
                where="irls step",
            )

    def sensitivity(self, neighbours: Neighbours) -> Sequence[Distance]:
        """2 under replace-one; sqrt(max(1, near^2) + off_diagonal^2 / 2) under add-remove; Theorem 3."""
        if neighbours is Neighbours.REPLACE_ONE:
            return (l2(2.0),)
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
    scores = scores_at(position, threshold)
    off_diagonal, diagonal, near = (round(each * _PARTS) for each in (mix.off_diagonal, mix.diagonal, mix.near))

    def rows(prepared: Array) -> Array:
        u, score = prepared[:, :-2], scores(prepared)
        gradient, products, squares = u * score[:, None], u[:, upper[0]] * u[:, upper[1]], u * u
        nearness = _nearness(score) * LARGEST_STEP
        every = [gradient * _PARTS, products * off_diagonal, squares * diagonal, nearness * near]
        return np.column_stack(every) * _GRID

    def summed(prepared: Array) -> Steps:
        gradient, products, nearness = _run_sums(prepared, scores)
        squares = np.diagonal(products, axis1=1, axis2=2)
        every = [gradient * _PARTS, products[:, *upper] * off_diagonal, squares * diagonal]
        every.append(nearness[:, None] * (int(LARGEST_STEP) * near))
        return np.concatenate(every, axis=1)

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


def _run_sums(prepared: Array, scores: Scores) -> tuple[Steps, Steps, Steps]:
    """Of each run of rows the sums of s u, u u' and n, in steps."""
    fast = kernels.step(prepared.T, scores.residuals.direction, scores.residuals.scale, scores.step)
    if fast is not None:
        return whole_steps(fast[0]), whole_steps(fast[1]), whole_steps(fast[2])
    u, score = prepared.T[:-2], scores(prepared)
    return products_by_run(score[None], u)[:, 0], products_by_run(u, u), sums_by_run(_nearness(score))


def _nearness(score: Array) -> Array:
    """sqrt(1 - s^2) in whole steps, cut towards zero, for scores in whole steps: the difference below the root is exact."""
    found = score * score
    np.subtract(LARGEST_STEP * LARGEST_STEP, found, out=found)
    np.sqrt(found, out=found)
    return np.asarray(np.trunc(found, out=found))


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
