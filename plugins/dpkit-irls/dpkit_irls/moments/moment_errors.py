"""Standard errors of the moment form, from released values: noise and sampling, through the curvature of the loss.

IRLS solves B theta = A, but B is not the slope of the equations: rows beyond the weights' cap count in B and hardly bend the
loss. With normal residuals both are known from one number, their scale, which the released y'Sy gives.
"""

from __future__ import annotations

import math

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.fit import Array

_GRID = np.linspace(0.0005, 7.9995, 8000)
_MASS = 2.0 * 0.001 * np.exp(-0.5 * _GRID * _GRID) / math.sqrt(2.0 * math.pi)


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentScores:
    """Means over normal residuals: of the weight (at most 1), the squared score, the score's slope, and weight times r^2."""

    weight: float
    squared_score: float
    slope: float
    weighted_square: float


def scores(scale: float, *, cap: float, p: float) -> MomentScores:
    """For residuals of this standard deviation, with weights min(cap, r^(p-2)) / cap."""
    r = scale * _GRID
    weights = _weights(r, cap=cap, p=p)
    slopes = weights if p == 2.0 else np.where(weights >= 1.0, 1.0, (p - 1.0) * weights)
    return MomentScores(
        weight=float(weights @ _MASS),
        squared_score=float((weights * r) ** 2 @ _MASS),
        slope=float(slopes @ _MASS),
        weighted_square=float(weights * r * r @ _MASS),
    )


def _weights(r: Array, *, cap: float, p: float) -> Array:
    if p == 2.0:
        return np.full_like(r, min(1.0, 1.0 / cap))
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray(np.minimum(np.power(np.maximum(r, 1e-300), p - 2.0) / cap, 1.0))


def residual_scale(weighted_square: float, *, cap: float, p: float) -> float:
    """The standard deviation at which the mean of weight times r^2 is this; targets are at most 1, so it is below 4."""
    low, high = 1e-9, 4.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        r = middle * _GRID
        is_below = float(_weights(r, cap=cap, p=p) * r * r @ _MASS) < weighted_square
        low, high = (middle, high) if is_below else (low, middle)
    return math.sqrt(low * high)


def standard_errors(matrix: Array, residual: float, noise: Array, *, rows: int, cap: float, p: float) -> Array:
    """Of theta = B^-1 A. `matrix` is B, `residual` the sum of weight times r^2, `noise` the variances of B theta - A."""
    found = scores(residual_scale(max(residual, 0.0) / rows, cap=cap, p=p), cap=cap, p=p)
    inverse = np.linalg.inv(matrix) * (found.weight / max(found.slope, 1e-3))
    sampling = found.squared_score / max(found.weight, 1e-3) * np.einsum("ij,jk,ki->i", inverse, matrix, inverse)
    variances = (inverse * inverse) @ noise + sampling
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)))
