"""One step of `irls` as one query: the gradient and a matrix together, at the sensitivity of the gradient alone.

With w = g z/|z| (0 <= g <= 1), s = clip(r/k, -1, 1) and n = sqrt(1 - s^2) a row contributes (s w, a matrix, n). The matrix is
one of four: the scatter w w', the curvature n p p' of the score equation, s^2 w w', the middle of the sandwich, or the expected
curvature of a family with a link. Rows whose gradients are far apart are close in the rest, so under replace-one it costs
nothing, or 7% of the gradient (docs/proofs/irls.md, Theorems 3 to 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from fractions import Fraction
from functools import cache

import numpy as np

from dpkit import Distance, InvalidValueError, Neighbours, Query, l2
from dpkit.authoring import Steps, dataclass, sqrt_up, whole_steps
from dpkit_irls.bounded.influence_query import SOURCE
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.loss import HUBER, LinkScore, RobustScore
from dpkit_irls.rows import kernels
from dpkit_irls.rows.fixed_point import (
    GRID,
    LARGEST_STEP,
    RUN,
    STEP,
    Array,
    above_diagonal,
    products_by_run,
    squares_by_run,
    sums_by_run,
)
from dpkit_irls.rows.prepared_query import prepared_query

PARTS = 512  # coefficients are multiples of 1/512: a run's sum of products, times one of them, stays within 63 bits
STEP_GRID = GRID / PARTS
_CHEAP = Fraction(9, 8)  # the squared price of a cheap mix, to the bit: which one is asked may depend on what was released
_CUT = Fraction(1, 4096)  # what cutting a direction to the grid may turn it by, in theorem 6
WITHIN = 1.0 - 2.0**-30  # of a factor that must not exceed a root, however it is rounded


class Carried(IntEnum):
    """What a step carries beside its gradient, by the number that the compiled pass knows it by."""

    SCATTER = 0
    """w w'."""
    CURVATURE = 1
    """n p p', with p = (z/|z|) sqrt(g |z| / far): far p p' = w z'."""
    MIDDLE = 2
    """s^2 w w'."""
    WEIGHTED = 3
    """t p p', with t from 0 to 1 by the predictor alone, and no n."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Coefficients of the matrix off its diagonal (i < j) and on it, of n, and of the gradient: multiples of 1/512, so that
    sums are exact.
    """

    carried: Carried
    off_diagonal: float
    diagonal: float
    near: float
    gradient: float = 1.0

    def __post_init__(self) -> None:
        every = (self.off_diagonal, self.diagonal, self.near, self.gradient)
        if not (min(every) > 0 and self._free) or any(coefficient * PARTS % 1 for coefficient in every):
            raise InvalidValueError(
                field="mix",
                found=self,
                allowed="positive multiples of 1/512 within the bounds of theorems 3 to 6",
                where="irls step",
            )

    @property
    def _matrix(self) -> Fraction:
        """The square of the matrix's coefficient, in the Frobenius norm."""
        return max(Fraction(self.off_diagonal) ** 2 / 2, Fraction(self.diagonal) ** 2)

    @property
    def _free(self) -> bool:
        """Whether the distance under replace-one is at most 2: Theorems 3 to 6."""
        near, gradient = Fraction(self.near) ** 2, Fraction(self.gradient) ** 2
        if self.carried is Carried.WEIGHTED:
            return gradient + self._matrix / 4 <= 1 - _CUT and self._matrix <= Fraction(1, 2)
        if gradient > 1:
            return False
        if self.carried is Carried.CURVATURE:
            return self._matrix + near <= 2
        return self._matrix <= Fraction(1, 2) and near <= (2 if self.carried is Carried.SCATTER else 1)

    def sensitivity(self, neighbours: Neighbours) -> Sequence[Distance]:
        """2 under replace-one; the longest contribution under add-remove."""
        if neighbours is Neighbours.REPLACE_ONE:
            return (l2(2.0),)
        return (l2(_longest(self)),)


@cache
def _longest(mix: Mix) -> float:
    """The norm of the longest contribution."""
    near, matrix = Fraction(mix.near) ** 2, mix._matrix
    squares = {
        Carried.SCATTER: max(Fraction(1), near) + matrix,
        Carried.CURVATURE: max(Fraction(1), near + matrix),
        Carried.MIDDLE: max(1 + matrix, near),
        Carried.WEIGHTED: max(Fraction(mix.gradient) ** 2 + matrix, _CHEAP),
    }
    return sqrt_up(squares[mix.carried])


FREE = {
    Carried.SCATTER: Mix(carried=Carried.SCATTER, off_diagonal=1.0, diagonal=181 / 256, near=181 / 128),
    Carried.CURVATURE: Mix(carried=Carried.CURVATURE, off_diagonal=181 / 128, diagonal=1.0, near=1.0),
    Carried.MIDDLE: Mix(carried=Carried.MIDDLE, off_diagonal=1.0, diagonal=181 / 256, near=1.0),
    Carried.WEIGHTED: Mix(carried=Carried.WEIGHTED, off_diagonal=1.0, diagonal=181 / 256, near=1.0, gradient=239 / 256),
}
"""For replace-one: as large as costs nothing, cut to 8 bits."""
CHEAP = {
    Carried.SCATTER: Mix(carried=Carried.SCATTER, off_diagonal=0.5, diagonal=181 / 512, near=1.0),
    Carried.CURVATURE: Mix(carried=Carried.CURVATURE, off_diagonal=543 / 512, diagonal=0.75, near=0.75),
    Carried.MIDDLE: Mix(carried=Carried.MIDDLE, off_diagonal=0.5, diagonal=181 / 512, near=1.0),
    Carried.WEIGHTED: Mix(carried=Carried.WEIGHTED, off_diagonal=181 / 256, diagonal=0.5, near=1.0, gradient=239 / 256),
}
"""For add-remove: the rest costs an eighth of the gradient's mu^2, whichever matrix it is."""


def mix_for(carried: Carried, neighbours: Neighbours) -> Mix:
    """The coefficients that suit the relation; each is sound under both."""
    return (FREE if neighbours is Neighbours.REPLACE_ONE else CHEAP)[carried]


_AT_ONCE = 2 * RUN
"""Rows whose factors are made at once: what is made of them stays in a core's cache until it is summed."""


def step(frame: Frame, position: Array, threshold: float, mix: Mix, score: RobustScore | LinkScore = HUBER) -> Query:
    """The sum; the position (of z), the threshold k and the score are released values. A curvature needs a frame with `far`.

    What is weighted has a score with a link.
    """
    if mix.carried is Carried.WEIGHTED and not isinstance(score, LinkScore):
        allowed = "a score with a link, whose slope depends on the predictor alone"
        raise InvalidValueError(field="score", found=score.name, allowed=allowed, where="irls step")
    width = frame.width
    upper = above_diagonal(width)
    scores = score.at(position, threshold)
    off_diagonal, diagonal, near = (round(each * PARTS) for each in (mix.off_diagonal, mix.diagonal, mix.near))
    whole = round(mix.gradient * PARTS)
    inverse_far = WITHIN / frame.far

    def factors(prepared: Array) -> tuple[Array, Array, Array]:
        """Of each row the score, what the matrix is made of, and nearness, in whole steps; rows along the last axis."""
        w, score = prepared.T[:-2], scores(prepared)
        if mix.carried is Carried.WEIGHTED:
            shrunk = w * np.sqrt(scores.slopes(prepared) * (prepared[:, -2] * inverse_far))
            return score, np.trunc(shrunk, out=shrunk), np.zeros_like(score)
        nearness = scores.nearness(score, prepared)
        if mix.carried is Carried.SCATTER:
            return score, w, nearness
        if mix.carried is Carried.CURVATURE:
            turned = w * np.sqrt((nearness * STEP) * (prepared[:, -2] * inverse_far))
        else:
            turned = w * (score * STEP)
        return score, np.trunc(turned, out=turned), nearness

    def rows(prepared: Array) -> Array:
        score, v, nearness = factors(prepared)
        gradient = v * LARGEST_STEP if mix.carried is Carried.MIDDLE else prepared.T[:-2] * score
        every = [gradient * whole, v[upper[0]] * v[upper[1]] * off_diagonal, v * v * diagonal]
        every.append(nearness[None] * (LARGEST_STEP * near))
        return np.concatenate(every).T * STEP_GRID

    def summed(prepared: Array) -> Steps:
        gradient, products, nearness = run_sums(prepared)
        squares = np.diagonal(products, axis1=1, axis2=2)
        every = [gradient * whole, products[:, *upper] * off_diagonal, squares * diagonal]
        every.append(nearness[:, None] * (int(LARGEST_STEP) * near))
        return np.concatenate(every, axis=1)

    def run_sums(prepared: Array) -> tuple[Steps, Steps, Steps]:
        """Of each run of rows the sums of the gradient, the matrix and n, in steps."""
        one = int(LARGEST_STEP) if mix.carried is Carried.MIDDLE else 1
        fast = kernels.step(prepared.T, scores, carried=int(mix.carried), inverse_far=inverse_far)
        if fast is not None:
            return whole_steps(fast[0]) * one, whole_steps(fast[1]), whole_steps(fast[2])
        parts = [sums_of(prepared[start : start + _AT_ONCE]) for start in range(0, len(prepared), _AT_ONCE)]
        gradient, carried, nearness = map(np.concatenate, zip(*parts or [sums_of(prepared)], strict=True))
        return gradient * one, carried, nearness

    def sums_of(prepared: Array) -> tuple[Steps, Steps, Steps]:
        score, v, nearness = factors(prepared)
        gradient = sums_by_run(v) if mix.carried is Carried.MIDDLE else products_by_run(score[None], prepared.T[:-2])[:, 0]
        return gradient, squares_by_run(v), sums_by_run(nearness)

    return prepared_query(
        name="step",
        columns=frame.columns,
        preparation=frame.preparation,
        rows=rows,
        summed=summed,
        shape=(2 * width + len(upper[0]) + 1,),
        sensitivity=mix.sensitivity,
        because=SOURCE,
        grid=STEP_GRID,
        bound=max(1.0, mix.near),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepSums:
    """A released step taken apart. With noise of sd sigma on every entry of the release, `gradient` has sigma / mix.gradient;

    `matrix` has symmetric noise of sd sigma / mix.diagonal on its diagonal (less by sqrt(2) off it), `near` sigma / mix.near.
    """

    gradient: Array
    matrix: Array
    near: float


def taken_apart(released: Array, width: int, mix: Mix) -> StepSums:
    """Post-processing."""
    upper = above_diagonal(width)
    matrix = np.zeros((width, width))
    matrix[upper] = released[width : width + len(upper[0])] / mix.off_diagonal
    matrix = matrix + matrix.T + np.diag(released[width + len(upper[0]) : -1] / mix.diagonal)
    return StepSums(gradient=released[:width] / mix.gradient, matrix=matrix, near=float(released[-1]) / mix.near)
