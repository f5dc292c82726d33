"""Elementary functions without cancellation, for scalars and arrays: the differences that privacy losses are made of."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

Scalar = TypeVar("Scalar", bound=np.generic)

_SERIES_BELOW = 0.5
_SERIES_TERMS = 18  # 0.5**18 / 20! is below 1e-23: the series is exact to rounding


def distinct(values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The different values in order, as `np.unique` gives them. None may be NaN."""
    ordered = np.sort(values, axis=None)
    first = np.ones(ordered.size, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    found: npt.NDArray[Scalar] = ordered[first]
    return found


def asfloat(values: npt.ArrayLike) -> Array:
    """The values as a float64 array, for the type checker as much as for numpy."""
    return np.asarray(values, dtype=np.float64)


def expm1_minus(z: npt.ArrayLike) -> Array:
    """exp(z) - 1 - z, accurate for small z, where the plain difference loses every digit.

    Relative error below 8 units of rounding for every z (checked against arbitrary precision).
    """
    z = np.asarray(z, dtype=np.float64)
    small = np.abs(z) < _SERIES_BELOW
    near = np.where(small, z, 0.0)
    series = np.zeros_like(near)
    for n in range(_SERIES_TERMS, 1, -1):
        series = (series * near + 1.0 / math.factorial(n)) if n > 2 else series * near + 0.5
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.expm1(z) - z
    return asfloat(np.where(small, near * near * series, plain))


def log_sum_exp(terms: Array, *, axis: int = -1) -> Array:
    """ln sum exp(terms) along an axis, without overflow; all terms -inf gives -inf."""
    top = np.max(terms, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return asfloat(np.squeeze(top, axis=axis) + np.log(np.sum(np.exp(terms - top), axis=axis)))


def log1p_minus(x: npt.ArrayLike) -> Array:
    """ln(1 + x) - x for x > -1, accurate for small x.

    With t = x/(2+x), ln(1+x) = 2 atanh(t) and x - 2t = x^2/(2+x): both remainders are computed without cancellation.
    """
    x = np.asarray(x, dtype=np.float64)
    small = np.abs(x) < 0.3
    near = np.where(small, x, 0.0)
    t = near / (2.0 + near)
    square = t * t
    series = np.zeros_like(t)
    for n in range(12, 0, -1):
        series = series * square + 1.0 / (2 * n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.log1p(x) - x
    return asfloat(np.where(small, 2.0 * t * square * series - near * near / (2.0 + near), plain))


def expm1_minus_near(z: Complex) -> Complex:
    """exp(z) - 1 - z for complex |z| < 1.5, by its series; elsewhere plainly, where Re z <= 0 and |Im z| < 1.

    The relative error is a few units of rounding: the plain difference is at least a third of |z| there.
    """
    inner = np.abs(z) < 1.5
    small = np.where(inner, z, 0.0)
    series = np.full(z.shape, 1.0 / math.factorial(_SERIES_TERMS + 4), dtype=np.complex128)
    for n in range(_SERIES_TERMS + 3, 1, -1):
        series = series * small + 1.0 / math.factorial(n)
    found = small * small * series
    return np.asarray(found if np.all(inner) else np.where(inner, found, np.exp(z) - 1.0 - z), dtype=np.complex128)


def log1p_near(w: Complex) -> Complex:
    """ln(1 + w) for complex |w| < 0.6, with an error of at most 32 units of |w|; numpy's own is off by units of 1."""
    real = 0.5 * np.log1p(w.real * (2.0 + w.real) + w.imag * w.imag)
    return np.asarray(real + 1j * np.arctan2(w.imag, 1.0 + w.real), dtype=np.complex128)
