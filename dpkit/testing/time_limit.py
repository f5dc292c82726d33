"""A time limit for laws: a plugin that loops must not hang the kit."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

LAW_SECONDS = 120.0
"""What one law may take."""


class TookTooLong(BaseException):
    """The time is over."""


def limited(run: Callable[[], None], *, seconds: float) -> None:
    """Run a law; `TookTooLong` where it does not end in time.

    On the main thread an alarm interrupts it. Elsewhere, and on systems without alarms, it is left behind on a thread that
    ends with the process.
    """
    message = f"it took longer than {seconds:g} s"
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        _by_alarm(run, seconds, message)
    else:
        _on_a_thread(run, seconds, message)


def _by_alarm(run: Callable[[], None], seconds: float, message: str) -> None:
    running = True

    def alarm(number: int, frame: FrameType | None) -> None:
        if running:
            raise TookTooLong(message)

    handler = signal.signal(signal.SIGALRM, alarm)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # and every second again, where somebody swallows it
    try:
        run()
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def _on_a_thread(run: Callable[[], None], seconds: float, message: str) -> None:
    raised: list[BaseException] = []

    def caught() -> None:
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - raised again below, on the thread that asked
            raised.append(error)

    thread = threading.Thread(target=caught, daemon=True, name="dpkit-law")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TookTooLong(message)
    if raised:
        raise raised[0]
