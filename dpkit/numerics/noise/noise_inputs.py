"""What a noise sampler accepts: checked before any randomness is drawn, without ever showing a data value."""

from __future__ import annotations

import math
import sys
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpkit.errors import InvalidValueError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LARGEST_MAGNITUDE = 2.0**450
"""Scales lie between the inverse of this and this; values are at most this large."""

_LARGEST_EXACT_INTEGER = 2**53
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
    given = given_array(value, where=where)
    if given.dtype.kind == "O":
        given = _without_large_integers(given, saturate=saturate is not None, where=where)
    if given.dtype.kind not in "fiu" or given.dtype.itemsize > 8:
        _refuse(f"an array of {given.dtype}", "a rectangular array of float64", where)
    if given.dtype.kind != "f":
        limit = min(limit, float(_LARGEST_EXACT_INTEGER))
    with np.errstate(all="ignore"):  # nothing may be signalled that depends on a value
        if saturate is not None:
            clamped = np.clip(given.astype(np.float64), -limit, limit)
            return np.where(np.isnan(clamped), 0.0, clamped)
        if given.size and not (given.min().item() >= -limit and given.max().item() <= limit):
            allowed = f"finite and at most 2**{math.frexp(limit)[1] - 1}"
            _refuse("a NaN, an infinity or a larger magnitude", allowed, where)
        return np.asarray(given, dtype=np.float64)


def checked_integers(value: ArrayLike, *, largest: int, saturate: float | None, where: str) -> IntArray:
    """Return integers of at most `largest` as int64; with `saturate`, larger ones are clamped to the smaller of the two.

    Floats are refused, whole ones too: rounding what is not whole could double a distance.
    """
    limit = largest
    if saturate is not None:
        if not 1 <= as_float(saturate) <= LARGEST_MAGNITUDE:
            raise InvalidValueError(field="saturate", found=saturate, allowed="a number from 1 to 2**450", where=where)
        limit = min(limit, math.floor(saturate))
    given = given_array(value, where=where)
    listed = given.dtype.kind == "O" or not isinstance(value, np.ndarray)
    if given.dtype.kind not in "iu" and not (listed and all(map(_is_integer, given.flat))):
        _refuse(f"an array of {given.dtype}", "integers", where)
    if saturate is None:
        if given.size and not (int(given.min()) >= -limit and int(given.max()) <= limit):
            _refuse("a larger magnitude", f"integers of at most {limit}", where)
        return given.astype(np.int64, copy=False)
    if given.dtype.kind == "i":
        given = given.astype(np.int64, copy=False)  # the limit may not fit into a narrower type
    elif given.dtype.kind == "u":
        return np.minimum(given.astype(np.uint64), np.uint64(limit)).astype(np.int64)
    return np.asarray(np.clip(given, -limit, limit), dtype=np.int64)


def is_masked_array(value: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Whether this is a masked array. Where numpy's module of them is not loaded, nobody can have made one."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def given_array(value: ArrayLike, *, where: str) -> NDArray[Any]:
    """Return the value as a rectangular array of what it holds.

    Lists with integers that numpy would have to round (to mix them with floats, or with a sign) come back as Python's own
    numbers, so that nothing is changed before it is checked.
    """
    if is_masked_array(value):
        fix = "Fill in what is masked first, by a rule that is the same for every dataset."
        raise InvalidValueError(field="value", found="a masked array", allowed="an array without a mask", where=where, fix=fix)
    try:
        array: NDArray[Any] | None = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        array = None
    if array is None:  # here the first error, which may quote the value, is gone
        _refuse("a ragged array", "a rectangular array of numbers", where)
    if array.dtype.kind == "f" and not isinstance(value, np.ndarray | np.generic | float) and _has_large_entries(array):
        numbers: NDArray[Any] = np.asarray(value, dtype=object)
        if any(_is_integer(number) and abs(int(number)) > _LARGEST_EXACT_INTEGER for number in numbers.flat):
            return numbers
    return array


def as_float(number: float) -> float:
    """Return a number as float64, or NaN for what is not a number at all."""
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
        return math.nan
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _without_large_integers(numbers: NDArray[Any], *, saturate: bool, where: str) -> NDArray[Any]:
    """Python's numbers as float64, with the integers that it cannot hold exactly refused, or clamped to those it can."""
    if not all(_is_integer(number) or isinstance(number, float | np.floating | bool | np.bool_) for number in numbers.flat):
        return numbers
    most = _LARGEST_EXACT_INTEGER
    if not saturate and any(_is_integer(number) and abs(number) > most for number in numbers.flat):
        _refuse("a larger magnitude", f"integers of at most 2**{most.bit_length() - 1}", where)
    kept = [min(max(number, -most), most) if _is_integer(number) else number for number in numbers.flat]
    return np.array(kept, dtype=np.float64).reshape(numbers.shape)


def _has_large_entries(array: NDArray[Any]) -> bool:
    with np.errstate(all="ignore"):
        return bool((np.abs(array) >= _LARGEST_EXACT_INTEGER).any())


def _is_integer(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _refuse(found: str, allowed: str, where: str) -> NoReturn:
    raise InvalidValueError(field="value", found=found, allowed=allowed, where=where)
