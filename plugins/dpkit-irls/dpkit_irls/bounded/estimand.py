"""What a fit estimates, computed from the rows themselves: not private, for checks on data that may be seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit import InvalidValueError
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.fit import Array, Fit
from dpkit_irls.rows.fixed_point import STEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimand:
    """Coefficients and intercept without noise, with standard errors of sampling alone (a sandwich)."""

    coefficients: tuple[float, ...]
    intercept: float
    standard_errors: tuple[float, ...]
    intercept_error: float | None


def estimand_of(fit: Fit, features: npt.ArrayLike, target: npt.ArrayLike) -> Estimand:
    """The root of sum g(x)/|z| clip((y - x'b)/k, -1, 1) x = 0 over these rows, for the weights and threshold of the fit.

    NOT private. `features` has a column a feature, in the order of the fit's columns; a category holds codes, in the order of
    its declared levels. On the rows of the fit it is what the fit would be without noise.
    """
    if fit.frame is None or fit.threshold is None:
        raise InvalidValueError(
            field="fit", found="a fit without a frame", allowed="a fit of `irls` that made its steps", where="estimand_of"
        )
    frame, threshold = fit.frame, fit.threshold
    block = np.column_stack([np.asarray(features, dtype=np.float64), np.asarray(target, dtype=np.float64)])
    prepared = frame.prepared(block)
    w, y = prepared[:, :-2] * STEP, prepared[:, -1]
    z = w * prepared[:, -2:-1]
    position = _root(w, z, y, threshold)
    layout = Layout(levels=frame.levels, intercept=frame.intercept)
    to_columns = layout.to_columns(frame)
    found, errors = to_columns @ position, np.sqrt(np.diag(to_columns @ _sandwich(w, z, y, position, threshold) @ to_columns.T))
    slopes = found[: layout.entries] + np.array(frame.start or 0.0)
    return Estimand(
        coefficients=tuple(map(float, slopes)),
        intercept=float(found[-1]) + frame.origin if frame.intercept else 0.0,
        standard_errors=tuple(map(float, errors[: layout.entries])),
        intercept_error=float(errors[-1]) if frame.intercept else None,
    )


def _root(w: Array, z: Array, y: Array, threshold: float) -> Array:
    """By reweighted least squares, which falls to the one root."""
    position: Array = np.zeros(z.shape[1])
    for _ in range(500):
        residuals = np.maximum(np.abs(y - z @ position), 1e-300)
        weighted = w * np.minimum(1.0, threshold / residuals)[:, None]
        following = np.asarray(np.linalg.lstsq(weighted.T @ z, weighted.T @ y, rcond=None)[0], dtype=np.float64)
        still = float(np.max(np.abs(following - position))) <= 1e-10 * (1.0 + float(np.max(np.abs(following))))
        position = following
        if still:
            break
    return np.asarray(position)


def _sandwich(w: Array, z: Array, y: Array, position: Array, threshold: float) -> Array:
    residuals = y - z @ position
    scores, inside = np.clip(residuals / threshold, -1.0, 1.0), np.abs(residuals) < threshold
    bread = np.linalg.pinv((w * (inside / threshold)[:, None]).T @ z)
    scored = w * scores[:, None]
    return np.asarray(bread @ (scored.T @ scored) @ bread.T)
