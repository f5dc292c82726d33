"""For authors of plugins, on made-up data only: what a plugin's code raised is shown where it is otherwise kept back.

An error may quote a row, so a run on data passes on its kind at most. Where no data can be reached (loading, a rehearsal, a
simulation, the laws of the kit) the code says so by `made_up`, and there `show` prints the whole error to stderr if somebody
asked for it: by `dpkit --debug`, or by the environment variable `DPKIT_DEBUG`. In a run on data `show` does nothing.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

VARIABLE = "DPKIT_DEBUG"
MOST_SHOWN = 20
"""How many different errors are shown: a query may fail on every row."""

_PLACES: ContextVar[set[str] | None] = ContextVar("dpkit_made_up", default=None)
"""The places of errors that were shown; None where data may be reached."""


def is_asked() -> bool:
    """Whether errors shall be shown."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


@contextmanager
def made_up() -> Iterator[None]:
    """What runs here reaches no data."""
    token = _PLACES.set(set() if _PLACES.get() is None else _PLACES.get())
    try:
        yield
    finally:
        _PLACES.reset(token)


def show(error: BaseException, *, of: str) -> None:
    """The error with its frames, once for each place that it came from; `of` says whose it is."""
    places = _PLACES.get()
    if places is None or not is_asked() or len(places) >= MOST_SHOWN:
        return
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}" if frames else type(error).__name__
    if place in places:
        return
    places.add(place)
    try:
        words = "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - a third party's error may fail even at being shown
        words = f"{type(error).__name__}, which cannot be shown\n"
    print(f"debug: {of} raised, on made-up data:\n{words}", end="", file=sys.stderr)


def show_of_no_data(error: BaseException, *, of: str) -> None:
    """`show`, for an error of code that was given no data."""
    with made_up():
        show(error, of=of)
