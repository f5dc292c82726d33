"""What a noise sampler accepts: checked before any randomness is drawn, without ever showing a data value."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpkit.errors import InvalidValueError

FloatArray = NDArray[np.float64]

LARGEST_MAGNITUDE = 2.0**450
"""Scales lie between the inverse of this and this; values are at most this large."""

_LARGEST_EXACT_INTEGER = 2.0**53
_FINEST, _COARSEST = 2.0**-40, 2.0**40


def checked_scale(scale: float, *, where: str) -> float:
    """Return a scale for which no step of exact rounding can overflow or become subnormal."""
    number = as_float(scale)
    if not 1 / LARGEST_MAGNITUDE <= number <= LARGEST_MAGNITUDE:
        raise InvalidValueError(field="scale", found=scale, allowed="a number between 2**-450 and 2**450", where=where)
    return number


def checked_grid(grid: float, *, scale: float, where: str) -> float:
    """Return a grid that is a power of two within sight of the scale; it must not depend on the data."""
    number = as_float(grid)
    power_of_two = math.isfinite(number) and math.frexp(number)[0] == 0.5
    if not (power_of_two and _FINEST <= number / scale <= _COARSEST):
        raise InvalidValueError(
            field="grid", found=grid, allowed="a power of two between 2**-40 and 2**40 of the scale", where=where
        )
    return number


def checked_value(value: ArrayLike, *, saturate: float | None, where: str) -> FloatArray:
    """Return the value as float64 of the same shape, exactly; with `saturate`, clamped to it and with NaN as zero.

    Integers beyond 2**53 are refused (or clamped): float64 would merge some that differ and part others by two.
    """
    limit = LARGEST_MAGNITUDE if saturate is None else as_float(saturate)
    if not 0 < limit <= LARGEST_MAGNITUDE:
        raise InvalidValueError(field="saturate", found=saturate, allowed="a number above 0 and at most 2**450", where=where)
    given = _rectangular(value)
    if given is None or given.dtype.kind not in "fiu" or given.dtype.itemsize > 8:
        found = "a ragged array" if given is None else f"an array of {given.dtype}"
        raise InvalidValueError(field="value", found=found, allowed="a rectangular array of float64", where=where)
    if given.dtype.kind != "f":
        limit = min(limit, _LARGEST_EXACT_INTEGER)
    if saturate is not None:
        clamped = np.clip(given.astype(np.float64), -limit, limit)
        return np.where(np.isnan(clamped), 0.0, clamped)
    if given.size and not (given.min().item() >= -limit and given.max().item() <= limit):
        raise InvalidValueError(
            field="value",
            found="a NaN, an infinity or a larger magnitude",
            allowed=f"finite and at most 2**{math.frexp(limit)[1] - 1}",
            where=where,
        )
    return np.asarray(given, dtype=np.float64)


def as_float(number: float) -> float:
    """Return a number as float64, or NaN for what is not a number at all."""
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
        return math.nan
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _rectangular(value: ArrayLike) -> NDArray[np.generic] | None:
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        return None
