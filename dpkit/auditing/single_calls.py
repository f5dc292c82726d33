"""One call for one output: what it returns, what it raises, or that it took too long, as a canonical outcome."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from dpkit.auditing.outcomes import CanonicalOutcome, NoOutput, TimedOut, canonical


def call_once(call: Callable[[], object], timeout: float | None) -> object:
    """What `call` returns for one output (one entry along the first axis), or NoOutput.

    A call that takes longer than `timeout` seconds timed out, whether or not it could be interrupted.
    """
    began = time.monotonic()
    try:
        with _interrupted_after(timeout):
            returned = call()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever is raised is the outcome
        late = timeout is not None and time.monotonic() - began > timeout
        return NoOutput(canonical(TimedOut() if late else error))
    if timeout is not None and time.monotonic() - began > timeout:
        return NoOutput(canonical(TimedOut()))
    try:
        alone = not isinstance(returned, str | bytes | dict) and len(returned) == 1  # type: ignore[arg-type]
        item = (returned if isinstance(returned, list | tuple) else np.asarray(returned))[0] if alone else None
    except Exception:  # noqa: BLE001 - it has no length or no first entry: it is no list of outputs
        alone = False
    if not alone:
        return NoOutput(CanonicalOutcome(f"not one output but {canonical(returned).kind}"))
    return item


@contextmanager
def _interrupted_after(timeout: float | None) -> Iterator[None]:
    """Interrupts pure Python after `timeout` seconds, in the main thread of a system that has timers."""
    if timeout is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise TimedOut

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
