"""What a law is: a function of a case that raises AssertionError where it is broken; and how laws are run and reported."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, Literal, NamedTuple

from dpkit.debugging import made_up, show_of_no_data
from dpkit.hooks.discovery import attempted, words_of

Outcome = Literal["passed", "failed", "skipped", "unchecked"]
LAW_SECONDS = 120.0
"""What one law may take."""


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
        _, error = attempted(partial(run_within, check.run, seconds=seconds))
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
        start = time.perf_counter()
        result = run_check(check, seconds=seconds)
        if result.outcome == "failed" and time.perf_counter() - start >= seconds:
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


def run_within(run: Callable[[], None], *, seconds: float) -> None:
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
