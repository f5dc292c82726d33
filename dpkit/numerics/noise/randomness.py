"""Random bits: a cryptographic numpy generator for releases, and the one door through which samplers draw words.

A secure generator is an ordinary `numpy.random.Generator` whose bit generator is ChaCha20 (RFC 8439's block function)
under a 256-bit key from the operating system. Promised, as long as ChaCha20 is a pseudorandom function and the
operating system's source is sound: its words are computationally indistinguishable from independent uniform words, and
no two processes, copies or pickles of it ever share a stream.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpkit.numerics.noise.secure_bits import SecureChaCha

WORD_BITS = 64
_LARGEST_WORD = 2**WORD_BITS - 1


def secure_generator() -> np.random.Generator:
    """Return a new generator on its own ChaCha20 stream, keyed with 256 bits from the operating system.

    After a fork the child's copy is rekeyed before the child draws. A pickle or a deep copy of the generator is a
    new generator with a fresh key, never the same stream again: a secure generator has no state worth repeating.
    """
    from dpkit.numerics.noise.secure_bits import SecureChaCha

    return np.random.Generator(SecureChaCha())


def is_secure(rng: np.random.Generator) -> bool:
    """Tell whether a generator's bits come from `secure_generator`; any other generator means a simulation."""
    return type(rng) is np.random.Generator and _secure(rng.bit_generator) is not None


def random_words(rng: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Draw independent uniform 64-bit words, whatever the native word of the bit generator is.

    A secure generator that finds itself in another process than the one it was keyed in (a fork that bypassed
    Python) is rekeyed first.
    """
    secure = _secure(rng.bit_generator)
    if secure is not None:
        secure.rekey_in_new_process()
    return rng.integers(0, _LARGEST_WORD, size=count, dtype=np.uint64, endpoint=True)


def _secure(bits: object) -> SecureChaCha | None:
    """The bits, where they are those of a secure generator: there is none before the module of their class is loaded."""
    loaded = sys.modules.get("dpkit.numerics.noise.secure_bits")
    return cast("SecureChaCha", bits) if loaded is not None and type(bits) is loaded.SecureChaCha else None


def _stamping(name: str) -> Any:
    """The method of this name of numpy's arrays, its answer stamped."""

    def method(self: np.ndarray[Any, np.dtype[Any]], *arguments: Any, **options: Any) -> Any:
        return _passed_on(getattr(super(Simulated, self), name)(*arguments, **options))

    return method


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

    argmax = _stamping("argmax")
    argmin = _stamping("argmin")
    dot = _stamping("dot")
    nonzero = _stamping("nonzero")
    round = _stamping("round")
    searchsorted = _stamping("searchsorted")
    take = _stamping("take")
    trace = _stamping("trace")


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
