"""The algebra of a matrix Kalman filter whose model is not exact: finite whatever was released."""

from __future__ import annotations

import numpy as np

from dpkit_irls.bounded.shapes import eigen, of_eigen
from dpkit_irls.fit import Array


def innovation(variance: Array, curvature: Array, noise: float, unsure: Array | None = None) -> Array:
    """The variance of a gradient; `unsure` are standard deviations of the entries of the curvature, a symmetric matrix: where
    they are large, a step that trusts the curvature would overshoot.
    """
    found = symmetric(curvature @ variance @ curvature) + noise * noise * np.eye(len(variance))
    if unsure is None:
        return np.asarray(found)
    apart = unsure * unsure * variance
    return np.asarray(found + apart + np.diag(unsure**2 @ np.diag(variance) - np.diag(apart)))


def surprise_of(variance: Array, curvature: Array, gradient: Array, noise: float, unsure: Array | None = None) -> float:
    """How much larger a gradient is than expected, in variances."""
    return float(gradient @ solve_positive(innovation(variance, curvature, noise, unsure), gradient)) / gradient.size


def inflated(after: Array, before: Array, inflation: float) -> Array:
    """The variance after a step, plus a part of that before it, and nowhere more than before: what a step said nothing of must
    not become more uncertain step by step.
    """
    values, vectors = eigen(before)
    roots = np.sqrt(np.maximum(values, 1e-14 * max(float(np.max(values)), 1e-300)))
    root, inverse = of_eigen(roots, vectors), of_eigen(1.0 / roots, vectors)
    parts, turned = eigen(inverse @ after @ inverse)
    half = root @ turned
    return np.asarray((half * np.clip(parts + inflation, 0.0, 1.0)) @ half.T)


def solve_positive(matrix: Array, right: Array) -> Array:
    """matrix^-1 right for a positive matrix, however close to singular it is."""
    try:
        found = np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
    if np.isfinite(found).all():
        return found
    values, vectors = eigen(matrix)
    least = 1e-14 * max(float(np.max(np.abs(values))), 1e-300)
    return np.asarray(vectors @ ((vectors.T @ right).T / np.maximum(values, least)).T)


def symmetric(matrix: Array) -> Array:
    """Its symmetric part."""
    return np.asarray((matrix + matrix.T) / 2.0)


def tame(values: Array) -> Array:
    """Of moderate size, whatever was released."""
    found = np.clip(values, -1e60, 1e60)
    np.copyto(found, 0.0, where=np.isnan(found))
    return found
