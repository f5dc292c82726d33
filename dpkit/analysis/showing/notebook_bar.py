"""Progress in a notebook: a bar under the cell while a plan is made or carried out, and nothing anywhere else.

It shows what a terminal would: steps and iterations of the plan, which are public.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from markupsafe import Markup

PATIENCE, PAUSE = 1.0, 0.25
"""Seconds of work before anything is shown, and between two pictures of it."""

_BAR = Markup('<div role="status"><progress value="{}" max="{}"></progress> {}</div>')
_ENDLESS = Markup('<div role="status"><progress></progress> {}</div>')


@contextmanager
def notebook_bar() -> Iterator[NotebookBar | None]:
    """A bar while the block runs, in a notebook; None elsewhere."""
    display = _display_of_kernel()
    if display is None:
        yield None
        return
    bar = NotebookBar(display)
    try:
        yield bar
    finally:
        bar.end()


class NotebookBar:
    """One output of a cell, drawn again in place from the first second on, and removed at the end."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._shown: Any = None
        self._next = time.monotonic() + PATIENCE

    def tell(self, words: str, done: float, total: float | None = None) -> None:
        """What is done now, how much of it, and of how much where that is known."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PAUSE
        picture = self._display.HTML(str(_BAR.format(done, total, words) if total else _ENDLESS.format(words)))
        if self._shown is None:
            self._shown = self._display.display(picture, display_id=True)
        else:
            self._shown.update(picture)

    def end(self) -> None:
        """Take it away."""
        if self._shown is not None:
            self._shown.update(self._display.HTML(""))


def _display_of_kernel() -> Any:
    """`IPython.display`, if a kernel runs this process; IPython is not imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    return import_module("IPython.display")
