"""One step of a regression of classes as one query: gradients of all classes and a matrix, at the sensitivity of the gradient.

With w of a row and its score s, a vector with an entry a class, |w| <= 1 and |s| <= 1, a row contributes U = s w' (of norm
|s||w|) and a matrix: the scatter w w', the curvature V V' with V along U, or the middle U U'. Theorems 3, 6 and 5 hold with the
norm of U in place of |s| (docs/proofs/irls.md, Several classes).
"""

from __future__ import annotations

import numpy as np

from dpkit import Query
from dpkit.authoring import Steps, dataclass
from dpkit_irls.bounded.influence_query import SOURCE
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.step_query import PARTS, STEP_GRID, WITHIN, Carried, Mix
from dpkit_irls.rows.class_scores import ClassScores
from dpkit_irls.rows.fixed_point import (
    LARGEST_STEP,
    STEP,
    Array,
    above_diagonal,
    products_by_run,
    squares_by_run,
    sums_by_run,
)
from dpkit_irls.rows.prepared_query import prepared_query

MOST_CURVED = 256
"""With more coefficients of classes a step carries the scatter alone: larger matrices would hold hardly anything but noise."""
ROOT2 = 2.0**0.5
"""No c is larger."""


def class_step(frame: Frame, position: Array, mix: Mix) -> Query:
    """The sum; the position has a row a class. Gradients class by class, then the matrix: off its diagonal, and on it."""
    scores, classes, width = ClassScores.at(position), len(position), frame.width
    size = width if mix.carried is Carried.SCATTER else classes * width
    upper = above_diagonal(size)
    off_diagonal, diagonal, whole = (round(each * PARTS) for each in (mix.off_diagonal, mix.diagonal, mix.gradient))
    inverse_far = WITHIN / (frame.far * ROOT2)

    def factors(prepared: Array) -> tuple[Array, Array]:
        """Of each row the scores, and what the matrix is made of, in whole steps; rows along the last axis."""
        w, (score, largest) = prepared.T[:-2], scores(prepared)
        if mix.carried is Carried.SCATTER:
            return score, w
        found = (score * STEP)[:, None] * w[None]
        if mix.carried is Carried.WEIGHTED:
            found *= np.sqrt(largest * (prepared[:, -2] * inverse_far))
        found = found.reshape(size, -1)
        return score, np.trunc(found, out=found)

    def rows(prepared: Array) -> Array:
        score, v = factors(prepared)
        if mix.carried is Carried.MIDDLE:
            gradient = v * LARGEST_STEP
        else:
            gradient = (score[:, None] * prepared.T[:-2][None]).reshape(classes * width, -1)
        return np.concatenate([gradient * whole, v[upper[0]] * v[upper[1]] * off_diagonal, v * v * diagonal]).T * STEP_GRID

    def summed(prepared: Array) -> Steps:
        score, v = factors(prepared)
        products = squares_by_run(v)
        if mix.carried is Carried.MIDDLE:
            gradient = sums_by_run(v) * int(LARGEST_STEP)
        else:
            gradient = products_by_run(score, prepared.T[:-2]).reshape(len(products), -1)
        squares = np.diagonal(products, axis1=1, axis2=2)
        return np.concatenate([gradient * whole, products[:, *upper] * off_diagonal, squares * diagonal], axis=1)

    return prepared_query(
        name="step",
        columns=frame.columns,
        preparation=frame.preparation,
        rows=rows,
        summed=summed,
        shape=(classes * width + size + len(upper[0]),),
        sensitivity=mix.sensitivity,
        because=SOURCE,
        grid=STEP_GRID,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassSums:
    """A released step taken apart, with noise as of `StepSums`; `gradient` has a row a contrast, as the matrix has if it is not
    the scatter.
    """

    gradient: Array
    matrix: Array


def classes_apart(released: Array, contrasts: Array, width: int, mix: Mix) -> ClassSums:
    """Post-processing. Contrasts are orthonormal, so the noise stays what it is."""
    classes = len(contrasts)
    size = width if mix.carried is Carried.SCATTER else classes * width
    first, upper = classes * width, above_diagonal(size)
    last = first + len(upper[0])
    matrix = np.zeros((size, size))
    matrix[upper] = released[first:last] / mix.off_diagonal
    matrix = matrix + matrix.T + np.diag(released[last:] / mix.diagonal)
    if mix.carried is not Carried.SCATTER:
        whole = np.kron(contrasts, np.eye(width))
        matrix = whole.T @ matrix @ whole
    gradient = contrasts.T @ released[:first].reshape(classes, width) / mix.gradient
    return ClassSums(gradient=gradient.ravel(), matrix=matrix)


def contrasts_of(classes: int) -> Array:
    """An orthonormal basis of what adds up to 0 over the classes, a column each."""
    found = np.zeros((classes, classes - 1))
    for place in range(1, classes):
        found[:place, place - 1] = -1.0
        found[place, place - 1] = place
        found[:, place - 1] /= np.sqrt(place * (place + 1.0))
    return found
