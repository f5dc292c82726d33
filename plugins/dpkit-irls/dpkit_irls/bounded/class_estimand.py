"""What a regression of classes estimates, from the rows themselves: not private, for checks on data that may be seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit import InvalidValueError
from dpkit.authoring import dataclass
from dpkit_irls.bounded.class_fit import ClassFit, Table
from dpkit_irls.bounded.class_step import contrasts_of
from dpkit_irls.bounded.estimand import Fitted, rows_that_may_be_seen
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.ridge import pull_of
from dpkit_irls.bounded.shapes import by_block
from dpkit_irls.fit import Array
from dpkit_irls.rows.class_scores import slope_of_classes, softmax
from dpkit_irls.rows.fixed_point import STEP


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassEstimand:
    """Coefficients and intercepts without noise, a row a class but the first, with errors of sampling alone (a sandwich)."""

    coefficients: Table
    intercepts: tuple[float, ...]
    standard_errors: Table
    intercept_errors: tuple[float, ...]


def class_estimand_of(fit: ClassFit | Fitted, features: npt.ArrayLike, target: npt.ArrayLike) -> ClassEstimand:
    """The root of sum g(x)/|z| (e_y - p)/c z' = 0 over these rows, less the pull of a ridge. NOT private.

    `target` holds codes of classes, in the declared order; features are as for `estimand_of`.
    """
    fitted: ClassFit = fit if isinstance(fit, ClassFit) else fit.fit_
    if fitted.frame is None:
        raise InvalidValueError(
            field="fit",
            found="a fit without a frame",
            allowed="a fit of `multinomial` that made its steps",
            where="estimand_of",
        )
    frame, classes, contrasts = fitted.frame, len(fitted.classes), contrasts_of(len(fitted.classes))
    prepared = frame.prepared(rows_that_may_be_seen(frame, features, target))
    w = prepared[:, :-2] * STEP
    z, answers = w * prepared[:, -2:-1], prepared[:, -1][:, None] == np.arange(classes)
    size, others = z.shape[1], classes - 1
    pull = by_block(pull_of(frame, fitted.ridge, float(len(z)), slope_of_classes(classes)), others)
    position, move, left = np.zeros(others * size), np.zeros(others * size), np.inf
    for _ in range(200):
        scored, bread = _scored(w, z, answers, position, contrasts)
        gradient = np.sum(scored, axis=0) - pull @ position
        length = float(np.linalg.norm(gradient))
        if length > left and float(np.max(np.abs(move))) > 1e-12:
            move = move / 2.0
            position = position - move
            continue
        left, move = length, np.linalg.lstsq(bread + pull, gradient, rcond=None)[0]
        position = position + move
        if float(np.max(np.abs(move))) <= 1e-10 * (1.0 + float(np.max(np.abs(position)))):
            break
    scored, bread = _scored(w, z, answers, position, contrasts)
    inverse = np.linalg.pinv(bread + pull)
    to_columns = np.kron(contrasts[1:] - contrasts[0], Layout(levels=frame.levels, intercept=frame.intercept).to_columns(frame))
    found = (to_columns @ position).reshape(others, size)
    turned = to_columns @ inverse
    errors = np.sqrt(np.einsum("ij,jk,ik->i", turned, scored.T @ scored, turned)).reshape(others, size)
    entries = len(frame.units)
    return ClassEstimand(
        coefficients=tuple(tuple(map(float, row[:entries])) for row in found),
        intercepts=tuple(map(float, found[:, -1])) if frame.intercept else (0.0,) * others,
        standard_errors=tuple(tuple(map(float, row[:entries])) for row in errors),
        intercept_errors=tuple(map(float, errors[:, -1])) if frame.intercept else (),
    )


def _scored(w: Array, z: Array, answers: npt.NDArray[np.bool_], position: Array, contrasts: Array) -> tuple[Array, Array]:
    """Contributions of rows to the gradient, contrast by contrast, and its derivative."""
    size = z.shape[1]
    shares = softmax(contrasts @ position.reshape(-1, size) @ z.T)
    largest = np.sqrt(np.sum(shares * shares, axis=0) + 1.0 - 2.0 * np.min(shares, axis=0))
    scores = contrasts.T @ ((answers.T - shares) / largest)
    means = contrasts.T @ shares
    bread = np.empty((len(means), size, len(means), size))
    for one in range(len(means)):
        for other in range(len(means)):
            both = (contrasts[:, one] * contrasts[:, other]) @ shares - means[one] * means[other]
            bread[one, :, other, :] = (w * (both / largest)[:, None]).T @ z
    scored = np.einsum("an,ni->nai", scores, w).reshape(len(z), -1)
    return scored, bread.reshape(scored.shape[1], -1)
