"""The driver: it owns the loop over an algorithm's steps, with progress, cancellation, non-finite states and the outcome."""

from __future__ import annotations

import dataclasses
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

import numpy as np

from dpkit.contracts.algorithm import AnyAlgorithm, Curator
from dpkit.values import dataclass

Ending = Literal["finished", "cancelled", "non-finite"]
MOST_STEPS = 1_000_000
"""A loop that never ends releases nothing new; it is cut here rather than hang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run came to: the result from released values, how it ended, and after how many steps."""

    result: object
    ending: Ending
    steps: int


def drive(
    algorithm: AnyAlgorithm,
    curator: Curator,
    *,
    noise: float,
    progress: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Outcome:
    """Run an algorithm to its end. Cancelling (or Ctrl-C) takes effect between steps, so that every charge is accounted for.

    Stopping early is post-processing of what was released: the result is that of the state reached, and the price stays the
    plan's. A state that is not finite ends the run with the state before it.
    """
    ending: Ending = "finished"
    with interrupts() as interrupted:

        def is_stopped() -> bool:
            nonlocal ending
            if interrupted() or (cancelled is not None and cancelled()):
                ending = "cancelled"
            return ending == "cancelled"

        state: object = None
        steps = 0
        for steps, following in enumerate(states_of(algorithm, curator, noise=noise, until=is_stopped)):
            if steps and not is_finite(following):
                ending = "non-finite"
                break
            state = following
            if steps and progress is not None:
                progress(steps)
        return Outcome(result=algorithm.result(state), ending=ending, steps=steps)


def states_of(
    algorithm: AnyAlgorithm,
    curator: Curator,
    *,
    noise: float,
    until: Callable[[], bool] = lambda: False,
    most: int = MOST_STEPS,
) -> Iterator[Any]:
    """The only loop over an algorithm's steps: every state from the first to the last, through any curator.

    It ends where the algorithm is finished, where `until` says so before a step, or after `most` steps.
    """
    state = algorithm.init(noise)
    yield state
    steps = 0
    while not algorithm.finished(state) and steps < most and not until():
        state = algorithm.step(state, curator)
        steps += 1
        yield state


def is_finite(state: object) -> bool:
    """Whether every number in a state is finite, however it is nested."""
    if isinstance(state, np.ndarray):
        return state.dtype.kind not in "fc" or bool(np.isfinite(state).all())
    if isinstance(state, float | np.floating):
        return bool(np.isfinite(state))
    if isinstance(state, Mapping):
        return all(map(is_finite, state.values()))
    if isinstance(state, list | tuple):
        return all(map(is_finite, state))
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        return all(is_finite(getattr(state, field.name)) for field in dataclasses.fields(state))
    return True


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C sets a flag that is looked at between steps; a second one interrupts at once."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def handler(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    if before is not signal.default_int_handler:  # somebody else's handler stays in charge
        yield pressed.is_set
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
