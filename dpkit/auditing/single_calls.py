"""One call for one output: what it returns, what it raises, or that it took too long, as a canonical outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from dpkit.auditing.call_timer import TimeUp, alarm_after, can_interrupt
from dpkit.auditing.outcomes import CanonicalOutcome, NoOutput, TimedOut, canonical


def call_once(call: Callable[[], object], timeout: float | None) -> object:
    """What `call` returns for one output (one entry along the first axis), or NoOutput.

    A call that takes longer than `timeout` seconds timed out, whether or not it could be interrupted.
    """
    began = time.monotonic()
    try:
        with nullcontext() if timeout is None or not can_interrupt() else alarm_after(timeout, TimedOut):
            returned = call()
    except (KeyboardInterrupt, TimeUp):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever is raised is the outcome: SystemExit and panics of libraries, too
        late = timeout is not None and time.monotonic() - began > timeout
        return NoOutput(canonical(TimedOut() if late else error))
    if timeout is not None and time.monotonic() - began > timeout:
        return NoOutput(canonical(TimedOut()))
    try:
        alone = not isinstance(returned, str | bytes | dict) and len(returned) == 1  # type: ignore[arg-type]
        item = (
            (returned if isinstance(returned, list | tuple | np.ma.MaskedArray) else np.asarray(returned))[0] if alone else None
        )
    except Exception:  # noqa: BLE001 - it has no length or no first entry: it is no list of outputs
        alone = False
    if not alone:
        return NoOutput(CanonicalOutcome(f"not one output but {canonical(returned).kind}"))
    return item
