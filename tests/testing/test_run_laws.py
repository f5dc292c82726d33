"""A law that does not end is ended, wherever it runs, and says so."""

import threading
import time

import pytest

from dpkit.testing import run_laws
from dpkit.testing.run_laws import Check, TookTooLong, run_check, run_checks, run_within


def endless():
    while True:
        time.sleep(0.001)


def stubborn():
    """Swallows everything that is thrown at it, once."""
    try:
        endless()
    except BaseException:  # noqa: BLE001 - that is the point
        endless()


def check(run, subject="mechanism mine", law="law"):
    return Check(subject=subject, law=law, run=run)


@pytest.mark.parametrize("law", [endless, stubborn])
def test_a_law_that_loops_is_ended(law):
    found = run_check(check(law), seconds=0.02)
    assert (found.outcome, found.detail) == ("failed", "it took longer than 0.02 s")


def test_it_is_ended_on_other_threads_too():
    found = []
    thread = threading.Thread(target=lambda: found.append(run_check(check(lambda: time.sleep(5.0)), seconds=0.02)))
    thread.start()
    thread.join()
    assert found[0].detail == "it took longer than 0.02 s"


def test_what_ends_in_time_is_as_without_a_limit():
    run_within(lambda: None, seconds=60.0)
    with pytest.raises(ZeroDivisionError):
        run_within(lambda: 1 / 0, seconds=60.0)


def test_an_alarm_of_somebody_else_is_kept():
    import signal

    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 30.0)
        with pytest.raises(TookTooLong):
            run_within(endless, seconds=0.02)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 1.0
        assert rung == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_of_a_subject_that_loops_no_more_is_asked():
    checks = [check(endless, law="first"), check(endless, law="second"), check(lambda: None, subject="query other")]
    found = list(run_checks(checks, seconds=0.02))
    assert [result.outcome for result in found] == ["failed", "unchecked", "passed"]
    assert "first took longer" in found[1].detail


def test_an_interrupt_that_a_plugin_raises_is_a_failure_of_the_law():
    def raises():
        raise KeyboardInterrupt

    assert run_check(check(raises)).detail == "raised KeyboardInterrupt: "


def resting():
    """As on a machine that somebody else keeps busy: by the clock it is late, of its own time it took nothing."""
    time.sleep(0.1)


def test_the_time_of_a_law_is_its_own_work(monkeypatch):
    over = threading.Event()

    def busy():
        """Without an end, for the law; what is left behind on a thread must not take the time of all tests to come."""
        while not over.is_set():
            pass

    monkeypatch.setattr(run_laws, "_WAITING", 1e9)
    assert run_check(check(resting), seconds=0.05).outcome == "passed"
    assert run_check(check(busy), seconds=0.05).outcome == "failed"
    found = []
    thread = threading.Thread(target=lambda: found.extend(run_check(check(law), seconds=0.05) for law in (resting, busy)))
    thread.start()
    thread.join()
    over.set()
    assert [result.outcome for result in found] == ["passed", "failed"]
