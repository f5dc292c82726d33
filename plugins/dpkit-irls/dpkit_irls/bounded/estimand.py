"""What a fit estimates, computed from the rows themselves: not private, for checks on data that may be seen."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpkit import InvalidValueError
from dpkit.authoring import dataclass
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.ridge import pull_of
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.fit import Array, Fit
from dpkit_irls.loss import HUBER, BisquareScore, LinkScore, RobustScore
from dpkit_irls.rows.fixed_point import STEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimand:
    """Coefficients and intercept without noise, with standard errors of sampling alone (a sandwich)."""

    coefficients: tuple[float, ...]
    intercept: float
    standard_errors: tuple[float, ...]
    intercept_error: float | None


class Fitted(Protocol):
    """An estimator that was fitted."""

    @property
    def fit_(self) -> Any:
        """Its fit."""
        ...


def estimand_of(fit: Fit | Fitted, features: npt.ArrayLike, target: npt.ArrayLike) -> Estimand:
    """The root of sum g(x)/|z| s x = 0 over these rows, for the weights and the score s of the fit.

    NOT private. `features` has a column a feature, in the order of the fit's columns; a category holds codes, in the order of
    its declared levels. Rows with a missing cell are left out. On the rows of the fit it is what the fit would be without
    noise. An estimator that was fitted stands for its fit.
    """
    fitted: Fit = fit if isinstance(fit, Fit) else fit.fit_
    if fitted.frame is None or (fitted.threshold is None and fitted.link is None):
        raise InvalidValueError(
            field="fit", found="a fit without a frame", allowed="a fit of `irls` that made its steps", where="estimand_of"
        )
    frame, threshold = fitted.frame, fitted.threshold or 1.0
    prepared = frame.prepared(rows_that_may_be_seen(frame, features, target))
    w, y = prepared[:, :-2] * STEP, prepared[:, -1]
    z = w * prepared[:, -2:-1]
    link = fitted.link
    pull = pull_of(frame, fitted.ridge, float(len(z)), fitted.ridge_slope)
    if link is None:
        position = _root(w, z, y, threshold, fitted.score, pull)
        covariance = _sandwich(w, z, y, position, threshold, fitted.score, pull)
    else:
        position = _link_root(w, z, y, link, pull)
        covariance = _link_sandwich(w, z, y, position, link, pull)
    layout = Layout(levels=frame.levels, intercept=frame.intercept)
    to_columns = layout.to_columns(frame)
    found, errors = to_columns @ position, np.sqrt(np.diag(to_columns @ covariance @ to_columns.T))
    slopes = found[: layout.entries] + np.array(frame.start or 0.0)
    return Estimand(
        coefficients=tuple(map(float, slopes)),
        intercept=float(found[-1]) + frame.origin if frame.intercept else 0.0,
        standard_errors=tuple(map(float, errors[: layout.entries])),
        intercept_error=float(errors[-1]) if frame.intercept else None,
    )


def rows_that_may_be_seen(frame: Frame, features: npt.ArrayLike, target: npt.ArrayLike) -> Array:
    """The columns of a fit side by side, without the rows that have a missing cell."""
    names, where = frame.columns[:-1], "estimand_of"
    try:
        x, y = np.asarray(features, dtype=np.float64), np.asarray(target, dtype=np.float64)
    except (TypeError, ValueError):
        allowed = "numbers; a category by its codes, in the order of the declared levels: 0, 1, ..."
        raise InvalidValueError(field="features", found="cells that are no numbers", allowed=allowed, where=where) from None
    if x.ndim != 2 or x.shape[1] != len(names) or y.shape != x.shape[:1]:
        found = f"features of shape {x.shape} and a target of shape {y.shape}"
        allowed = f"as many rows of both, and a column each for {', '.join(names)}"
        raise InvalidValueError(field="features", found=found, allowed=allowed, where=where)
    block = np.column_stack([x, y])
    return np.asarray(block[~np.isnan(block).any(axis=1)])


def _root(w: Array, z: Array, y: Array, threshold: float, score: RobustScore, pull: Array) -> Array:
    """By reweighted least squares, which falls to the one root; Tukey's from Huber's, as steps do."""
    position: Array = np.zeros(z.shape[1])
    if isinstance(score, BisquareScore):
        position, moved = _root(w, z, y, threshold * 1.345 / 4.685, HUBER, pull * 4.685 / 1.345), 0.0
    else:
        moved = score.shift * threshold
    for _ in range(2_000):
        residuals = y - z @ position + moved
        residuals = np.where(np.abs(residuals) < 1e-300, 1e-300, residuals)
        weighted = w * (score.of(residuals - moved, threshold) * threshold / residuals)[:, None]
        matrix = weighted.T @ z + threshold * pull
        following = np.asarray(np.linalg.lstsq(matrix, weighted.T @ (y + moved), rcond=None)[0], dtype=np.float64)
        still = float(np.max(np.abs(following - position))) <= 1e-10 * (1.0 + float(np.max(np.abs(following))))
        position = following
        if still:
            break
    return np.asarray(position)


def _sandwich(w: Array, z: Array, y: Array, position: Array, threshold: float, score: RobustScore, pull: Array) -> Array:
    residuals = y - z @ position
    scores = score.of(residuals, threshold)
    bread = np.linalg.pinv((w * score.slopes_of(residuals, threshold)[:, None]).T @ z + pull)
    scored = w * scores[:, None]
    return np.asarray(bread @ (scored.T @ scored) @ bread.T)


def _link_root(w: Array, z: Array, y: Array, link: LinkScore, pull: Array) -> Array:
    """By Newton's steps on the mean slopes, which are halved while the sum of scores does not fall."""
    position: Array = np.zeros(z.shape[1])
    left = np.inf
    move: Array = position
    for _ in range(500):
        scores, slopes = _link_scores(z @ position, y, link)
        gradient = w.T @ scores - pull @ position
        size = float(np.linalg.norm(gradient))
        if size > left:
            move = move / 2.0
            position = position - move
            if float(np.max(np.abs(move))) <= 1e-12:
                break
            continue
        left = size
        move = np.asarray(np.linalg.lstsq((w * slopes[:, None]).T @ z + pull, gradient, rcond=None)[0], dtype=np.float64)
        position = position + move
        if float(np.max(np.abs(move))) <= 1e-10 * (1.0 + float(np.max(np.abs(position)))):
            break
    return position


def _link_sandwich(w: Array, z: Array, y: Array, position: Array, link: LinkScore, pull: Array) -> Array:
    scores, slopes = _link_scores(z @ position, y, link)
    bread = np.linalg.pinv((w * slopes[:, None]).T @ z + pull)
    scored = w * scores[:, None]
    return np.asarray(bread @ (scored.T @ scored) @ bread.T)


def _link_scores(predictors: Array, y: Array, link: LinkScore) -> tuple[Array, Array]:
    middles, widths, slopes = (link.looked_up(values, predictors) for values in (link.middles, link.widths, link.slopes))
    return np.clip((y - middles) / widths, -1.0, 1.0), slopes
