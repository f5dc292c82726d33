"""Drawing Wishart noise (Bartlett's decomposition, floating point) and its density."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dpkit import InvalidValueError, authoring

Matrix = npt.NDArray[np.float64]


def noisy_matrices(
    value: npt.ArrayLike, *, extra: int, scale: float, grid: float, rng: np.random.Generator | None, where: str
) -> Matrix:
    """value + scale * W(d + extra), rounded to the grid. Only public facts (shape, kind) and non-finite values are refused."""
    from dpkit.authoring import checked_value, stamped

    authoring.checked_generator(rng)
    matrices = checked_value(value, saturate=None, where=f"{where}.release")
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2]:
        raise InvalidValueError(field="value", found=f"shape {matrices.shape}", allowed="square matrices", where=where)
    size = matrices.shape[-1]
    if not np.array_equal(matrices, np.swapaxes(matrices, -1, -2)):
        raise InvalidValueError(
            field="value", found="a matrix that is not symmetric", allowed="symmetric matrices", where=where
        )
    source = authoring.generator(rng)
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
    size = answers.shape[-1]
    k = size + extra
    # entries first: each entry of all matrices is then one contiguous piece
    entries = np.ascontiguousarray(np.moveaxis(answers, (-2, -1), (0, 1)))
    gap = np.ascontiguousarray(np.moveaxis((answers - center) / scale, (-2, -1), (0, 1)))
    possible = np.all(entries == np.swapaxes(entries, 0, 1), axis=(0, 1)) & np.isfinite(gap).all(axis=(0, 1))
    if not possible.all():
        gap = np.where(possible, gap, np.eye(size).reshape(size, size, *[1] * possible.ndim))
    trace = np.trace(gap)
    log_determinant = np.zeros(possible.shape)
    for pivot in _pivots(gap):
        possible = possible & (pivot > 0.0)
        log_determinant += np.log(np.where(possible, pivot, 1.0))
    constant = 0.5 * k * size * math.log(2.0) + float(multigammaln(0.5 * k, size))
    volume = 0.5 * size * (size + 1) * math.log(scale)
    terms = 0.5 * (k - size - 1) * log_determinant - 0.5 * trace - constant - volume
    return authoring.summed_over_value(np.where(possible, terms, -math.inf), center.ndim - 2)


def _pivots(rest: Matrix) -> Iterator[Matrix]:
    """The pivots of symmetric elimination, of all matrices at once (their entries are the first two axes): a matrix is positive
    definite if and only if all of its pivots are positive, and its determinant is their product. After one that is not, a
    matrix stays as it is.

    Elimination of a positive definite matrix needs no exchange of rows to be stable (Higham 2002, theorem 10.3), and goes over
    many small matrices together, of which LAPACK's eigenvalues take one at a time.
    """
    while len(rest):
        pivot, column = rest[0, 0], rest[1:, 0]
        yield pivot
        share = column / np.where(pivot > 0.0, pivot, math.inf)
        rest = rest[1:, 1:] - share[:, None] * column[None, :]
