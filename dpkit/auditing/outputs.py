"""Outputs of a mechanism as arrays that can be scored: numbers, vectors, matrices, and categories as integers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array

Sampler = Callable[[object, int, np.random.Generator], npt.ArrayLike]
"""fn(dataset, n, rng): n outputs along the first axis."""

_HUGE = 1e300


class Source:
    """Both sides of a pair, each from its own stream of random numbers, and how many outputs were drawn."""

    def __init__(self, fn: Sampler, pair: tuple[object, object], seed: np.random.SeedSequence) -> None:
        self._fn, self._pair = fn, pair
        one, two = seed.spawn(2)
        self._streams = np.random.default_rng(one), np.random.default_rng(two)
        self.drawn = 0

    def draw(self, n: int) -> tuple[Array, Array]:
        """n outputs of each side."""
        one, two = (_outputs(self._fn, dataset, n, rng) for dataset, rng in zip(self._pair, self._streams, strict=True))
        if one.shape != two.shape:
            raise InvalidValueError(
                field="target",
                found=f"outputs of shapes {one.shape[1:]} and {two.shape[1:]}",
                allowed="outputs of one shape for both datasets",
                where="audit",
            )
        self.drawn += 2 * n
        return one, two


def _outputs(fn: Sampler, dataset: object, n: int, rng: np.random.Generator) -> Array:
    """n outputs as floats, one a row of the first axis; NaN and infinities become numbers that stand apart from all others."""
    outputs = np.asarray(fn(dataset, n, rng))
    if outputs.ndim == 0 or outputs.shape[0] != n:
        raise InvalidValueError(
            field="target",
            found=f"an array of shape {outputs.shape}",
            allowed=f"a function fn(dataset, n, rng) whose output has n = {n} entries along its first axis",
            where="audit",
        )
    if outputs.dtype.kind not in "biuf":
        raise InvalidValueError(
            field="target",
            found=f"outputs of type {outputs.dtype}",
            allowed="numbers, or categories as integers",
            where="audit",
        )
    numbers = outputs.astype(np.float64)
    numbers = numbers.reshape(n, 1) if numbers.ndim == 1 else numbers
    if np.isfinite(numbers).all():
        return numbers
    # each kind of exception is an outcome like any other, and an event may single it out
    return np.nan_to_num(numbers, nan=-2.0 * _HUGE, posinf=_HUGE, neginf=-_HUGE)


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
