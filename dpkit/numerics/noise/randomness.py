"""Random bits: a cryptographic numpy generator for releases, and the one door through which samplers draw words.

A secure generator is an ordinary `numpy.random.Generator` whose bit generator is ChaCha20 (RFC 8439's block function)
under a 256-bit key from the operating system. Promised, as long as ChaCha20 is a pseudorandom function and the
operating system's source is sound: its words are computationally indistinguishable from independent uniform words, and
no two processes, copies or pickles of it ever share a stream.
"""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from randomgen import ChaCha  # type: ignore[import-untyped]

WORD_BITS = 64
_KEY_BITS = 256
_NONCE_BITS = 60
# randomgen counts 32-bit words, 16 a block, in a 128-bit counter; the low 64 bits of the block number count blocks
# and the nonce fills the rest, so a stream is 2**64 blocks long and a nonce never collides with a block number.
_NONCE_SHIFT = 64 + 4
_LARGEST_WORD = 2**WORD_BITS - 1


def secure_generator() -> np.random.Generator:
    """Return a new generator on its own ChaCha20 stream, keyed with 256 bits from the operating system.

    After a fork the child's copy is rekeyed before the child draws. A pickle or a deep copy of the generator is a
    new generator with a fresh key, never the same stream again: a secure generator has no state worth repeating.
    """
    return np.random.Generator(_SecureChaCha())


def is_secure(rng: np.random.Generator) -> bool:
    """Tell whether a generator's bits come from `secure_generator`; any other generator means a simulation."""
    return type(rng) is np.random.Generator and type(rng.bit_generator) is _SecureChaCha


def random_words(rng: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Draw independent uniform 64-bit words, whatever the native word of the bit generator is.

    A secure generator that finds itself in another process than the one it was keyed in (a fork that bypassed
    Python) is rekeyed first.
    """
    bits = rng.bit_generator
    if type(bits) is _SecureChaCha:
        bits.rekey_in_new_process()
    return rng.integers(0, _LARGEST_WORD, size=count, dtype=np.uint64, endpoint=True)


class _SecureChaCha(ChaCha):  # type: ignore[misc]
    """ChaCha20 whose key nobody can set, read, save or copy."""

    def __init__(self) -> None:
        self._process: int | None = None
        super().__init__(key=secrets.randbits(_KEY_BITS), counter=_fresh_counter(), rounds=20)
        self._process = os.getpid()
        with _REGISTRY_LOCK:
            _LIVE.add(self)

    def rekey(self) -> None:
        """Start a new stream under a new key; the caller holds the lock, or is alone."""
        super().seed(key=secrets.randbits(_KEY_BITS), counter=_fresh_counter())
        self._process = os.getpid()

    def rekey_in_new_process(self) -> None:
        if self._process != os.getpid():
            with self.lock:
                self.rekey()

    def __reduce__(self) -> tuple[type[_SecureChaCha], tuple[()]]:
        return _SecureChaCha, ()

    def spawn(self, n_children: int) -> list[_SecureChaCha]:
        return [_SecureChaCha() for _ in range(n_children)]

    def seed(self, *arguments: object, **keywords: object) -> None:
        if self._process is None:  # the base class calls this once, with our key, while it is being built
            super().seed(*arguments, **keywords)
            return
        raise TypeError("a secure generator cannot be seeded; pass numpy.random.default_rng(seed) for a simulation")

    @property
    def state(self) -> NoReturn:
        raise TypeError("the state of a secure generator is its key and cannot be read")

    @state.setter
    def state(self, value: object) -> NoReturn:
        raise TypeError("the state of a secure generator cannot be set")


def _fresh_counter() -> int:
    return secrets.randbits(_NONCE_BITS) << _NONCE_SHIFT


_LIVE: weakref.WeakSet[_SecureChaCha] = weakref.WeakSet()
_REGISTRY_LOCK = threading.RLock()
_HELD: list[_SecureChaCha] = []


def _before_fork() -> None:
    """Hold every stream still, so that the child inherits neither a half-written state nor a lock that nobody frees."""
    _REGISTRY_LOCK.acquire()
    _HELD.extend(_LIVE)
    for bits in _HELD:
        bits.lock.acquire()


def _after_fork_in_parent() -> None:
    for bits in _HELD:
        bits.lock.release()
    _HELD.clear()
    _REGISTRY_LOCK.release()


def _after_fork_in_child() -> None:
    for bits in _HELD:
        bits.rekey()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


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
