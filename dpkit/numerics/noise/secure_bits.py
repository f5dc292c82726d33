"""The bits of releases: ChaCha20 whose keys nobody can set, read, save or copy. Loaded with the first secure generator."""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from typing import NoReturn

from randomgen import ChaCha  # type: ignore[import-untyped]

_KEY_BITS = 256
_NONCE_BITS = 60
# randomgen counts 32-bit words, 16 a block, in a 128-bit counter; the low 64 bits of the block number count blocks
# and the nonce fills the rest, so a stream is 2**64 blocks long and a nonce never collides with a block number.
NONCE_SHIFT = 64 + 4


class SecureChaCha(ChaCha):  # type: ignore[misc]
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

    def __reduce__(self) -> tuple[type[SecureChaCha], tuple[()]]:
        return SecureChaCha, ()

    def spawn(self, n_children: int) -> list[SecureChaCha]:
        return [SecureChaCha() for _ in range(n_children)]

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
    return secrets.randbits(_NONCE_BITS) << NONCE_SHIFT


_LIVE: weakref.WeakSet[SecureChaCha] = weakref.WeakSet()
_REGISTRY_LOCK = threading.RLock()
_HELD: list[SecureChaCha] = []


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
