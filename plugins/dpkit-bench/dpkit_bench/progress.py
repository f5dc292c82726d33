"""How far benchmarks are, on a terminal. The line is drawn between measurements and never during one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from dpkit.cli.progress import Bar, progress_bar

_SHOWN: ContextVar[tuple[Bar, str, int, int] | None] = ContextVar("shown", default=None)


def showing(*, quiet: bool) -> AbstractContextManager[Bar | None]:
    """A bar for some benchmarks, where somebody looks."""
    return progress_bar("measuring", quiet=quiet, ticking=False)


@contextmanager
def benchmark(bar: Bar | None, name: str, place: int, count: int) -> Iterator[None]:
    """While this runs, `measured` speaks of this benchmark, which is one of `count`."""
    before = _SHOWN.set(None if bar is None else (bar, name, place, count))
    try:
        yield
    finally:
        _SHOWN.reset(before)


def measured(what: str, done: int = 0, of: int = 0) -> None:
    """Something was measured; `done` of `of` things where their number is known."""
    shown = _SHOWN.get()
    if shown is None:
        return
    bar, name, place, count = shown
    which = f"benchmark {place + 1} of {count}: {name}" if count > 1 else name
    known = f" ({done} of {of})" if of else ""
    bar.tell(f"{which}, {what}{known}", place + (done / of if of else 0.0), count if of or count > 1 else None)
