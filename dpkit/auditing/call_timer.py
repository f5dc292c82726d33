"""Calls of somebody else's code that are ended when time is up: in pure Python, in system calls, and in other processes.

Compiled code that runs in this process cannot be ended: it is waited for. The alarm of the system is used, so that nothing of a
target has to work together; it is there in the main thread of a system that has timers, and nowhere else.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN = 0.5
"""Seconds after which the alarm rings again, where a target caught it."""
_GRACE = 1.0
_until: list[float] = []
"""The moments at which the calls under way are to end, the outermost first."""


class TimeUp(BaseException):
    """The time of an audit is up in the middle of a call. It is no outcome of the target, and an audit catches it."""


@contextmanager
def call_until(moment: float | None) -> Iterator[None]:
    """Raise TimeUp in the block at this moment (of time.monotonic); nothing where it is None."""
    if moment is None or not can_interrupt():
        yield
        return
    _until.append(moment)
    try:
        with alarm_after(moment - time.monotonic(), TimeUp, again=_AGAIN):
            yield
    finally:
        _until.pop()


def seconds_left(patience: float) -> float:
    """How long something may wait that no alarm reaches, such as a thread: until a little after time is up."""
    return min([patience, *(max(0.0, moment - time.monotonic()) + _GRACE for moment in _until)])


def can_interrupt() -> bool:
    """Whether there is an alarm here."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def alarm_after(seconds: float, error: type[BaseException], *, again: float = 0.0) -> Iterator[None]:
    """Raise the error in the block after so many seconds, unless an alarm around it rings before; that goes on afterwards."""
    began = time.monotonic()
    outer, outer_again = signal.getitimer(signal.ITIMER_REAL)
    if 0.0 < outer <= seconds:
        yield
        return
    if seconds <= 0.0:
        raise error

    def ring(number: int, frame: object) -> None:
        raise error

    def disarm() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, again)
        yield
    finally:
        try:
            disarm()
        except error:  # it rang while it was taken away; the next one is far
            disarm()
        if outer > 0.0:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - began), 1e-6), outer_again)


def seconds_each(deadline: float | None, parts: int) -> float | None:
    """The seconds that one of so many parts may take, the next of them; None without a deadline."""
    return None if deadline is None else max(0.0, deadline - time.monotonic()) / parts
