"""Outputs of a mechanism as arrays that can be scored: numbers, vectors, matrices, and categories as integers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array

Sampler = Callable[[object, int, np.random.Generator], npt.ArrayLike]
"""fn(dataset, n, rng): n outputs along the first axis."""

_HUGE = 1e300


class PairOutputs:
    """Both sides of a pair, each from its own stream of random numbers, and how many outputs were drawn.

    Each call gets a copy of its dataset: a function that changes what it is given would otherwise be audited at another pair.
    """

    def __init__(self, fn: Sampler, pair: tuple[object, object], seed: np.random.SeedSequence) -> None:
        self._fn, self._pair = fn, pair
        one, two = seed.spawn(2)
        self._streams = np.random.default_rng(one), np.random.default_rng(two)
        self._shape: tuple[int, ...] | None = None
        self._wide = False
        self.drawn = 0

    def draw(self, n: int) -> tuple[Array, Array]:
        """n outputs of each side."""
        raw = [_asked(self._fn, dataset, n, rng) for dataset, rng in zip(self._pair, self._streams, strict=True)]
        if self._shape is None:
            self._wide = any(_beyond_floats(outputs) for outputs in raw)
        one, two = (_halves(outputs) if self._wide else _numbers(outputs) for outputs in raw)
        expected = one.shape[1:] if self._shape is None else self._shape
        for found in (one.shape[1:], two.shape[1:]):
            if found != expected:
                allowed = "outputs of one shape, in every call and for both datasets"
                raise _refusal(f"outputs of shapes {expected} and {found}", allowed)
        self._shape = expected
        self.drawn += 2 * n
        return one, two


def _asked(fn: Sampler, dataset: object, n: int, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    """What the function returns, as an array of numbers with n entries along its first axis."""
    returned = fn(_copied(dataset), n, rng)
    try:
        outputs = np.asarray(returned)
    except ValueError:
        raise _refusal("outputs of different lengths", "outputs of one shape") from None
    if outputs.ndim == 0 or outputs.shape[0] != n or outputs.size == 0:
        allowed = f"a function fn(dataset, n, rng) whose output has n = {n} entries along its first axis"
        raise _refusal(f"an array of shape {outputs.shape}", allowed)
    if outputs.dtype.kind not in "biuf":
        raise _refusal(f"outputs of type {outputs.dtype}", "numbers, or categories as integers")
    return outputs


def _refusal(found: str, allowed: str, *, fix: str = "") -> InvalidValueError:
    return InvalidValueError(field="target", found=found, allowed=allowed, where="audit", fix=fix)


def _copied(dataset: object) -> object:
    try:
        return copy.deepcopy(dataset)
    except Exception:  # noqa: BLE001 - a handle that cannot be copied is passed as it is, as it was before
        return dataset


def _numbers(outputs: npt.NDArray[np.generic]) -> Array:
    """As floats; NaN and infinities become numbers that stand apart from all others, and that an event may single out."""
    if _beyond_floats(outputs):
        found = "whole numbers beyond 2**53 after a first batch without any"
        raise _refusal(found, "categories that float64 tells apart", fix="Number the categories from 0.")
    numbers = outputs.astype(np.float64)
    numbers = numbers.reshape(len(numbers), 1) if numbers.ndim == 1 else numbers
    return numbers if np.isfinite(numbers).all() else np.nan_to_num(numbers, nan=-2.0 * _HUGE, posinf=_HUGE, neginf=-_HUGE)


def _beyond_floats(outputs: npt.NDArray[np.generic]) -> bool:
    """Whether two of these whole numbers may be one float64: hashes as categories are."""
    whole = outputs if outputs.dtype.kind in "iu" and outputs.dtype.itemsize == 8 else None
    return whole is not None and (int(whole.max()) > 2**53 or int(whole.min()) < -(2**53))


def _halves(outputs: npt.NDArray[np.generic]) -> Array:
    """Large whole numbers by their upper and lower 32 bits, along a new last axis: nothing is lost."""
    if outputs.dtype.kind not in "iu":
        return _numbers(outputs)
    wide = outputs.astype(np.uint64) if outputs.dtype.kind == "u" else outputs.astype(np.int64)
    base = wide.dtype.type(2**32)
    return np.stack(np.divmod(wide, base), axis=-1).astype(np.float64)


class Rounder:
    """Rounds outputs to a grid that is fixed by the first batch: 2**-30 of its spread, a power of two, at most 1.

    Rounding is post-processing, so it cannot break a claim that holds. It takes away the events that only floating-point
    arithmetic decides, which are a verdict of their own; whole numbers stay as they are.
    """

    def __init__(self) -> None:
        self._grid: float | None = None

    def __call__(self, outputs: Array) -> Array:
        """The outputs on the grid."""
        if self._grid is None:
            self._grid = _grid(outputs)
        if self._grid == 0.0:
            return outputs
        with np.errstate(over="ignore"):
            scaled = outputs / self._grid
        return np.where(np.abs(scaled) < 2.0**62, np.round(scaled) * self._grid, outputs)


def _grid(outputs: Array) -> float:
    spread = float(np.median(np.abs(outputs - np.median(outputs, axis=0))))
    if not 0.0 < spread < 1e200:
        spread = float(np.mean(np.abs(np.clip(outputs - np.median(outputs, axis=0), -1e6, 1e6))))
    return min(1.0, 2.0 ** (math.floor(math.log2(spread)) - 30)) if spread > 0.0 else 0.0


def flat(outputs: Array) -> Array:
    """Every output as one row of numbers."""
    return outputs.reshape(outputs.shape[0], -1)


def as_value(dataset: object, shape: tuple[int, ...]) -> Array | None:
    """The dataset as a value of the shape of an output, where it is one: then outputs can be compared with it."""
    try:
        value = np.asarray(dataset, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if value.shape == () and shape == (1,):
        return value.reshape(1)
    if value.shape != shape or not np.isfinite(value).all():
        return None
    return value
