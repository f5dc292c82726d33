"""Progress on a terminal: how much is done of how much, and the time left. Nothing in a pipe, and nothing beside JSON.

What it shows is public, or the curator's own: steps and iterations of the plan, samples of an audit, rows where their number is
declared and public. How long a pass takes may depend on the data: do not publish a recording of the terminal.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from dpkit.cli.terminal import VisibleStream
from dpkit.errors import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpkit.analysis.plan import Plan
    from dpkit.analysis.reading.spec import Spec
    from dpkit.data.tables.source import DataSource

PATIENCE = 1.0
"""Seconds of work before anything is shown: what is quick loads no library and shows nothing."""


@contextmanager
def progress_bar(words: str, *, quiet: bool = False, ticking: bool = True) -> Iterator[Bar | None]:
    """A bar while the block runs, where somebody looks; None where nobody does."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = Bar(words, ticking=ticking)
    try:
        yield bar
    finally:
        bar.end()


def price_plan(spec: Spec, *, quiet: bool, like: str | None = None) -> Plan:
    """The plan of an analysis; a long one shows how far it is. `like` stands in for the data."""
    with progress_bar("planning", quiet=quiet) as bar:
        return spec.plan(progress=None if bar is None else bar.tell, like=like)


class Bar:
    """One line that is drawn over itself, from the first second on.

    It moves by itself four times a second, on a thread of its own; with `ticking=False` only when something is told, so that
    whatever is measured in between has the machine for itself.
    """

    def __init__(self, words: str, *, ticking: bool) -> None:
        self._said: tuple[str, float, float | None] = words, 0.0, None
        self._ticking = ticking
        self._lock = threading.RLock()
        self._is_over = False
        self._bar_width = 0
        self._drawn: tuple[Progress, TaskID] | None = None
        self._began = time.monotonic()
        self._timer = threading.Timer(PATIENCE, self._draw)
        self._timer.daemon = True
        if ticking:
            self._timer.start()

    def end(self) -> None:
        """Take the line away."""
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._drawn is not None:
                self._drawn[0].stop()

    def tell(self, words: str, done: float, total: float | None = None) -> None:
        """What is done now, how much of it, and of how much where that is known."""
        with self._lock:
            self._said = words, done, total
            if self._drawn is not None:
                self._update(refresh=not self._ticking)
            elif not self._ticking and time.monotonic() - self._began > PATIENCE:
                self._draw()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the line away while something is printed."""
        with self._lock:
            if self._drawn is not None:
                self._drawn[0].stop()
            try:
                yield
            finally:
                sys.stdout.flush()
                if self._drawn is not None:
                    self._drawn[0].start()

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        with self._lock:
            if self._is_over:
                return
            console = Console(file=_terminal(), force_terminal=True)
            self._bar_width = 24 if console.width >= 100 else 8
            progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=self._bar_width),
                TaskProgressColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[left]}"),
                console=console,
                auto_refresh=self._ticking,
                refresh_per_second=4,
                speed_estimate_period=600.0,  # of all that was done: steps take different times
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._drawn = progress, progress.add_task("", total=None, left="")
            self._update(refresh=False)
            progress.start()

    def _update(self, *, refresh: bool) -> None:
        assert self._drawn is not None
        (progress, task), (words, done, total) = self._drawn, self._said
        room = max(10, progress.console.width - self._bar_width - 30)
        shown = visible(words).replace("\n", " ")
        shown = shown if len(shown) <= room else f"{shown[: room - 1]}…"
        left = "" if total is None else "left"
        progress.update(task, description=shown, completed=done, total=total, left=left, refresh=refresh)


def _terminal() -> TextIO:
    """The terminal itself: what `Bar` writes is its own, or made visible before."""
    return sys.stderr.stream if isinstance(sys.stderr, VisibleStream) else sys.stderr


def audit_watch(
    bar: Bar | None, name: str, place: int, count: int, *, samples: int, seconds: float | None = None
) -> Callable[[int, float], None] | None:
    """What an audit tells how far it is: which of how many, and samples or seconds of the most that it may take."""
    if bar is None:
        return None
    began = time.monotonic()

    def watch(drawn: int, log_e: float) -> None:
        which = f"audit {place + 1} of {count}: {name}" if count > 1 else name
        words = f"ln e-value {log_e:.2f}, {drawn:,} of {samples:,} samples: {which}"  # a narrow terminal cuts the end
        waited = 0.0 if seconds is None else (time.monotonic() - began) / seconds
        bar.tell(words, place + min(1.0, max(drawn / samples, waited)), count)

    return watch


class RunProgress:
    """How far a run is: which step of how many, which iteration of how many, and rows where their number is public."""

    def __init__(self, plan: Plan, source: DataSource, bar: Bar) -> None:
        self._bar = bar
        self._names = [step.id for step in plan.steps]
        self._planned = [max(1, step.iterations) for step in plan.steps]
        data = plan.spec.data
        self._all_rows = data.rows if data.rows and data.unit.knows_size(data.neighbours) else None
        self._step, self._count, self._rows = 0, 0, 0
        if self._all_rows is not None:
            source.watch = self._read
        self._tell()

    def __call__(self, step: str, count: int) -> None:
        """An iteration of a step is over."""
        self._step, self._count, self._rows = self._names.index(step), count, 0
        if count >= self._planned[self._step] and self._step + 1 < len(self._names):
            self._step, self._count = self._step + 1, 0
        self._tell()

    def _read(self, rows: int) -> None:
        self._rows = min(self._rows + rows, self._all_rows or 0)
        self._tell()

    def _tell(self) -> None:
        step, planned = self._step, self._planned[self._step]
        words = [f"step {step + 1} of {len(self._names)}: {self._names[step]}"]
        if planned > 1:
            words.append(f"iteration {min(self._count + 1, planned)} of {planned}")
        part = 0.0
        if self._all_rows is not None and self._rows:
            words.append(f"{self._rows:,} of {self._all_rows:,} rows")
            part = self._rows / self._all_rows
        done = sum(self._planned[:step]) + min(self._count + part, planned)
        self._bar.tell(", ".join(words), done, sum(self._planned))
