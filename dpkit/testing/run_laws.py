"""What a law is: a function of a case that raises AssertionError where it is broken; and how laws are run and reported."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FrameType
from typing import Any, Literal, NamedTuple

from dpkit.debugging import made_up, show_of_no_data
from dpkit.hooks.discovery import attempt, words_of
from dpkit.values import dataclass

Outcome = Literal["passed", "failed", "skipped", "unchecked"]
LAW_SECONDS = 120.0
"""What one law may take, of the CPU time of its thread: on a busy machine it is slow, and not wrong."""
_WAITING = 5.0
"""A law that waits has this many times as long by the clock."""


class LawNotApplicable(Exception):  # noqa: N818 - not an error: the law has nothing to say of this case
    """The law does not speak of this case; the reason is the message."""


class LawUnchecked(Exception):  # noqa: N818 - not an error: nobody knows
    """The law speaks of this case and the kit has no means to try it, so it may be wrong; the reason is the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One law on one subject."""

    subject: str
    law: str
    run: Callable[[], None]

    @property
    def id(self) -> str:
        """How a test report names it."""
        return f"{self.subject}-{self.law}"


class CheckResult(NamedTuple):
    """What came out of one check. `detail` is the reason where it did not pass; laws never put data into it.

    'skipped' says that the law does not speak of this subject; 'unchecked' that it does, and that the kit could not try it.
    """

    subject: str
    law: str
    outcome: Outcome
    detail: str


def run_check(check: Check, *, seconds: float = LAW_SECONDS) -> CheckResult:
    """Run one law, within its time limit. Whatever a third party's code raises counts as a failure of the law that met it."""
    outcome: Outcome = "passed"
    detail = ""
    with made_up():
        _, error = attempt(partial(run_within, check.run, seconds=seconds))
    if isinstance(error, LawNotApplicable):
        outcome, detail = "skipped", str(error)
    elif isinstance(error, LawUnchecked):
        outcome, detail = "unchecked", str(error)
    elif isinstance(error, AssertionError | TookTooLong):
        outcome, detail = "failed", words_of(error)
    elif error is not None:  # SystemExit, too, must not pass for success
        show_of_no_data(error, of=f"{check.subject}, {check.law},")
        outcome, detail = "failed", f"raised {type(error).__name__}: {words_of(error)}"
    return CheckResult(subject=check.subject, law=check.law, outcome=outcome, detail=detail)


def run_checks(checks: Iterable[Check], *, seconds: float = LAW_SECONDS) -> Iterator[CheckResult]:
    """Run laws one after the other. Once one took too long, the other laws of its subject are unchecked, and say so."""
    endless: dict[str, str] = {}
    for check in checks:
        if check.subject in endless:
            reason = f"not run: {endless[check.subject]} took longer than {seconds:g} s"
            yield CheckResult(subject=check.subject, law=check.law, outcome="unchecked", detail=reason)
            continue
        result = run_check(check, seconds=seconds)
        if result.detail == _too_long(seconds):
            endless[check.subject] = check.law
        yield result


def parametrize_with_laws(checks: Iterable[Check]) -> Any:
    """A pytest decorator: `@parametrize_with_laws(laws_of_plugin(my_plugin))` over `def test_laws(check): check()`."""
    import pytest

    def runner(check: Check) -> Callable[[], None]:
        def run() -> None:
            try:
                run_within(check.run, seconds=LAW_SECONDS)
            except LawNotApplicable as reason:
                pytest.skip(str(reason))
            except TookTooLong as reason:
                raise AssertionError(str(reason)) from reason
            except LawUnchecked as reason:
                pytest.skip(f"UNCHECKED: {reason}")

        return run

    listed = list(checks)
    return pytest.mark.parametrize("check", [pytest.param(runner(check), id=check.id) for check in listed])


class TookTooLong(BaseException):
    """The time is over."""


def _too_long(seconds: float) -> str:
    return f"it took longer than {seconds:g} s"


def run_within(run: Callable[[], None], *, seconds: float) -> None:
    """Run a law; `TookTooLong` where its thread takes more CPU time, or much more by the clock.

    On the main thread an alarm looks and interrupts it. Elsewhere, and on systems without alarms, it is left behind on a thread
    that ends with the process.
    """
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        _by_alarm(run, seconds)
    else:
        _on_a_thread(run, seconds)


def _by_alarm(run: Callable[[], None], seconds: float) -> None:
    running, worked, began = True, time.thread_time(), time.monotonic()

    def alarm(number: int, frame: FrameType | None) -> None:
        over = time.thread_time() - worked >= seconds or time.monotonic() - began >= _WAITING * seconds
        if running and over:
            raise TookTooLong(_too_long(seconds))

    handler = signal.signal(signal.SIGALRM, alarm)
    every = min(1.0, seconds)  # again and again, also where somebody swallows it
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, every)
    try:
        run()
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def _on_a_thread(run: Callable[[], None], seconds: float) -> None:
    raised: list[BaseException] = []

    def caught() -> None:
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - raised again below, on the thread that asked
            raised.append(error)

    thread = threading.Thread(target=caught, daemon=True, name="dpkit-law")
    thread.start()
    began = time.monotonic()
    while thread.is_alive():
        thread.join(min(1.0, seconds))
        if thread.is_alive() and (_worked(thread) >= seconds or time.monotonic() - began >= _WAITING * seconds):
            raise TookTooLong(_too_long(seconds))
    if raised:
        raise raised[0]


def _worked(thread: threading.Thread) -> float:
    """The CPU time of another thread, where the system tells; it ends with the thread."""
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))
    except (AttributeError, OSError):
        return 0.0
