"""Calls end when time is up, whatever they catch; alarms within alarms, and none is left behind."""

import signal
import threading
import time

import pytest

from dpkit.auditing.call_timer import TimeUp, alarm_after, call_until, seconds_each, seconds_left


def soon(seconds=0.05):
    return time.monotonic() + seconds


@pytest.fixture(autouse=True)
def _nothing_is_left():
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_call_ends_when_time_is_up():
    with pytest.raises(TimeUp), call_until(soon()):
        time.sleep(60.0)
    with call_until(soon(60.0)):
        pass
    with call_until(None):
        pass


def test_a_call_that_catches_everything_ends_too():
    def stubborn():
        try:
            time.sleep(60.0)
        except BaseException:  # noqa: BLE001 - as some targets do
            time.sleep(60.0)

    with pytest.raises(TimeUp), call_until(soon()):
        stubborn()


def test_no_call_begins_when_time_is_up():
    begun = []
    with pytest.raises(TimeUp), call_until(soon(-1.0)):
        begun.append(1)
    assert not begun


class LateError(Exception):
    pass


def test_of_two_alarms_the_first_rings_and_the_other_goes_on():
    with pytest.raises(TimeUp), call_until(soon(0.1)), alarm_after(60.0, LateError):
        time.sleep(60.0)

    def rings_inside():
        with pytest.raises(LateError), alarm_after(0.05, LateError):
            time.sleep(60.0)
        time.sleep(60.0)

    with pytest.raises(TimeUp), call_until(soon(0.2)):
        rings_inside()


def test_another_thread_has_no_alarm_and_waits_a_little_longer_at_most():
    left = []
    with call_until(soon(5.0)):
        thread = threading.Thread(target=lambda: left.append(seconds_left(600.0)))
        thread.start()
        thread.join()
    assert 0.0 < left[0] <= 6.0
    assert seconds_left(600.0) == 600.0


def test_seconds_are_shared_out():
    assert seconds_each(None, 3) is None
    assert 2.0 < seconds_each(soon(9.0), 3) <= 3.0
    assert seconds_each(soon(-1.0), 3) == 0.0
