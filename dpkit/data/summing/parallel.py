"""Blocks on several threads: numpy leaves the interpreter free while it computes, so one process uses every core.

BLAS is held to one thread meanwhile: threads that wait for each other inside every small product cost more than they give, and
many times more on a busy machine.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from threadpoolctl import ThreadpoolController  # here, not in a pass: what is missing must show before anything is charged

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_THREADS = 16
_INLINE = 3
"""How many blocks are done before threads are started: small data never pays for them."""


def usable_threads() -> int:
    """How many cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_THREADS))


def map_on_threads(function: Callable[[Item], Result], items: Iterable[Item], *, threads: int) -> Iterator[Result]:
    """`function` of each item, in order. At most two items a thread are under way, so memory does not grow."""
    with _controller().limit(limits=1, user_api="blas"):
        rest = iter(items)
        yield from map(function, islice(rest, _INLINE))
        if threads <= 1:
            yield from map(function, rest)
            return
        first = list(islice(rest, 1))
        if first:
            yield from _pooled(function, first[0], rest, threads)


def _pooled(function: Callable[[Item], Result], first: Item, rest: Iterator[Item], threads: int) -> Iterator[Result]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=threads, thread_name_prefix="dpkit-pass") as pool:
        waiting: deque[Future[Result]] = deque([pool.submit(copy_context().run, function, first)])
        try:
            for item in rest:
                if len(waiting) >= 2 * threads:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(copy_context().run, function, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
