"""Slow targets: the outputs of one batch are drawn by several processes, each from a stream of its own."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np

from dpkit.auditing.call_timer import TimeUp
from dpkit.errors import InvalidValueError

_PARTS = 16
"""Into how many parts a batch is cut, however many processes there are: another number of processes draws the same outputs."""
_held: dict[int, Callable[..., Any]] = {}
"""Functions that cannot be sent: processes that are forked have them already."""


class ProcessEnded(Exception):  # noqa: N818 - an outcome, not a fault
    """A call ended the process that it ran in."""


class ManyProcesses:
    """A target whose batches are drawn by `jobs` processes; what it draws is fixed by the generator, not by `jobs`.

    A function that cannot be pickled (a lambda, a function of a notebook) is inherited by forked processes, where a system has
    them. The processes live as long as this object; a call that ends its process has that as its outcome, and calls that time
    leaves behind are ended with their processes.
    """

    def __init__(self, fn: Callable[..., Any], jobs: int) -> None:
        self.audited = getattr(fn, "audited", fn)
        self.__module__, self.__qualname__ = getattr(fn, "__module__", __name__), getattr(fn, "__qualname__", type(fn).__name__)
        self.independent = bool(getattr(fn, "independent", False))
        self._fn, self._jobs = fn, jobs
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> Any:
        """n outputs, the parts in order."""
        streams = rng.spawn(_PARTS)
        sizes = [len(part) for part in np.array_split(np.arange(n), _PARTS)]
        pool, held = self._opened()
        try:
            work = [
                pool.submit(_draw, held, dataset, size, stream) for size, stream in zip(sizes, streams, strict=True) if size
            ]
            parts = [one.result() for one in work]
        except BrokenProcessPool:
            self._pool = None
            raise ProcessEnded from None
        except (KeyboardInterrupt, TimeUp):
            self._abandon()
            raise
        if all(isinstance(part, list) for part in parts):
            return [item for part in parts for item in part]
        return np.concatenate([np.asarray(part) for part in parts])

    def _abandon(self) -> None:
        """End the processes with the calls that they are in."""
        pool, self._pool = self._pool, None
        if pool is not None:
            processes = list((getattr(pool, "_processes", None) or {}).values())
            for process in processes:
                process.kill()
            for process in processes:
                process.join()
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        _held.pop(id(self), None)

    def _opened(self) -> tuple[ProcessPoolExecutor, Callable[..., Any] | int]:
        try:
            pickle.dumps(self._fn)
            sent: Callable[..., Any] | int = self._fn
            context = None
        except Exception:  # noqa: BLE001 - pickle raises whatever an object raises
            if "fork" not in multiprocessing.get_all_start_methods():
                raise InvalidValueError(
                    field="jobs", found="a function that cannot be sent to other processes", where="audit",
                    allowed="a function of a module, on a system without fork",
                ) from None  # fmt: skip
            _held[id(self)], sent = self._fn, id(self)
            context = multiprocessing.get_context("fork")
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=context)
        return self._pool, sent


def _draw(held: Callable[..., Any] | int, dataset: object, n: int, rng: np.random.Generator) -> Any:
    fn = _held[held] if isinstance(held, int) else held
    return fn(dataset, n, rng)
