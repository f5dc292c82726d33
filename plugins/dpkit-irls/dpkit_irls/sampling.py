"""Drawing Wishart noise (Bartlett's decomposition, floating point) and its density."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import releasing

Matrix = npt.NDArray[np.float64]


def noisy_matrices(
    value: npt.ArrayLike, *, extra: int, scale: float, grid: float, rng: np.random.Generator | None, where: str
) -> Matrix:
    """value + scale * W(d + extra), rounded to the grid. Only public facts (shape, kind) and non-finite values are refused."""
    from dpkit.numerics.noise_inputs import checked_value
    from dpkit.numerics.simulated import stamped

    releasing.checked_generator(rng)
    matrices = checked_value(value, saturate=None, where=f"{where}.release")
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2]:
        raise InvalidValueError(field="value", found=f"shape {matrices.shape}", allowed="square matrices", where=where)
    size = matrices.shape[-1]
    if not np.array_equal(matrices, np.swapaxes(matrices, -1, -2)):
        raise InvalidValueError(
            field="value", found="a matrix that is not symmetric", allowed="symmetric matrices", where=where
        )
    source = releasing.generator(rng)
    noise = standard_wishart(matrices.shape[:-2], size=size, k=size + extra, rng=source) * scale
    rounded = np.rint(matrices / grid + noise / grid) * grid + 0.0
    return np.asarray(stamped(rounded, source, value=value))


def standard_wishart(lead: tuple[int, ...], *, size: int, k: int, rng: np.random.Generator) -> Matrix:
    """Wishart matrices with identity scale: L L' with independent normals below and chi variables on the diagonal of L."""
    factor = np.tril(rng.standard_normal((*lead, size, size)), k=-1)
    places = np.arange(size)
    factor[..., places, places] = np.sqrt(2.0 * rng.standard_gamma((k - places) / 2.0, size=(*lead, size)))
    product = factor @ np.swapaxes(factor, -1, -2)
    return np.asarray(np.tril(product) + np.swapaxes(np.tril(product, k=-1), -1, -2))


def wishart_log_density(output: npt.ArrayLike, value: npt.ArrayLike, *, extra: int, scale: float) -> Matrix:
    """ln density of output - value under scale * W(d + extra), on the upper triangle."""
    from scipy.special import multigammaln

    center, answers = np.asarray(value, dtype=np.float64), np.asarray(output, dtype=np.float64)
    gap = (answers - center) / scale
    size = gap.shape[-1]
    k = size + extra
    possible = np.all(answers == np.swapaxes(answers, -1, -2), axis=(-2, -1)) & np.isfinite(gap).all(axis=(-2, -1))
    eigenvalues = np.linalg.eigvalsh(np.where(possible[..., None, None], gap, 0.0))
    possible &= eigenvalues[..., 0] > 0.0
    log_determinant = np.sum(np.log(np.where(possible[..., None], eigenvalues, 1.0)), axis=-1)
    constant = 0.5 * k * size * math.log(2.0) + float(multigammaln(0.5 * k, size))
    volume = 0.5 * size * (size + 1) * math.log(scale)
    terms = 0.5 * (k - size - 1) * log_determinant - 0.5 * np.sum(eigenvalues, axis=-1) - constant - volume
    return releasing.summed_over_value(np.where(possible, terms, -math.inf), center.ndim - 2)
