"""The stamp of a simulation: an array type that says its randomness came from outside dpkit, and that numpy passes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.numerics.noise.randomness import is_secure


class Simulated(np.ndarray[Any, np.dtype[Any]]):
    """An output whose randomness came from outside dpkit: for tests and simulations, never a private release.

    Whatever numpy computes from it is stamped too: arithmetic, reductions, indexing, functions such as `np.stack` and
    `np.where`. A single number is an array without axes, because numpy's scalars cannot carry a stamp. It is lost where numpy
    asks nobody: in `np.asarray` and `np.array`, in Python's own numbers (`float`, `.item()`, `.tolist()`), in `.flat`, in an
    older array that is written into, and in other libraries.
    """

    simulation = True
    __array_priority__ = 100.0  # beside a plain array, this type decides what the answer is

    def __getitem__(self, key: Any) -> Any:
        return _passed_on(super().__getitem__(key))

    def __array_wrap__(self, array: npt.NDArray[Any], context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array).view(Simulated)

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Iterable[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        return _passed_on(super().__array_function__(func, types, args, kwargs))

    def __hash__(self) -> int:  # type: ignore[override]
        """A single number can be counted and looked up, as numpy's scalars can."""
        if self.ndim:
            raise TypeError("unhashable: an array with axes")
        return hash(self.item())

    def __round__(self, digits: int | None = None) -> Any:
        return np.round(self, digits or 0)

    def argmax(self, *arguments: Any, **options: Any) -> Any:
        return _passed_on(super().argmax(*arguments, **options))

    def argmin(self, *arguments: Any, **options: Any) -> Any:
        return _passed_on(super().argmin(*arguments, **options))

    def dot(self, *arguments: Any, **options: Any) -> Any:
        return _passed_on(super().dot(*arguments, **options))

    def nonzero(self) -> Any:
        return _passed_on(super().nonzero())

    def round(self, *arguments: Any, **options: Any) -> Any:
        return _passed_on(super().round(*arguments, **options))

    def searchsorted(self, *arguments: Any, **options: Any) -> Any:
        return _passed_on(super().searchsorted(*arguments, **options))

    def take(self, *arguments: Any, **options: Any) -> Any:
        return _passed_on(super().take(*arguments, **options))

    def trace(self, *arguments: Any, **options: Any) -> Any:
        return _passed_on(super().trace(*arguments, **options))


def is_simulated(value: object) -> bool:
    """Tell whether a value is stamped, or a list of values of which one is."""
    if isinstance(value, list | tuple):
        return any(map(is_simulated, value))
    return isinstance(value, Simulated)


def stamped(output: npt.NDArray[Any], rng: np.random.Generator | None, *, value: object = None) -> npt.NDArray[Any]:
    """The output as it is when its bits are secure (None stands for a new secure generator) and its value was no simulation;
    marked as simulated otherwise.
    """
    array = np.asarray(output)
    secure = (rng is None or is_secure(rng)) and not is_simulated(value)
    return array if secure else array.view(Simulated)


def _passed_on(result: Any) -> Any:
    """The result with the stamp on every array and numpy scalar in it; what is neither stays as it is."""
    if isinstance(result, np.ndarray | np.generic):
        return np.asarray(result).view(Simulated)
    if isinstance(result, tuple) and hasattr(result, "_fields"):  # the named tuples of np.linalg
        return type(result)(*map(_passed_on, result))
    if type(result) in (tuple, list):
        return type(result)(map(_passed_on, result))
    return result
