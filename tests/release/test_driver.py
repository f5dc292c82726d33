"""The driver owns the loop: it ends at the end, between steps, or with the last finite state."""

import os
import signal
from dataclasses import dataclass

import numpy as np
import pytest
from release.algorithms import Averaging

import dpkit
from dpkit.data.setting import DeclaredSetting
from dpkit.release.driver import drive, is_finite

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))
SETTING = DeclaredSetting(schema=SCHEMA)


class Door:
    """A curator that hands out numbers and counts."""

    def __init__(self, values):
        self.values = iter(values)

    def release(self, query, mechanism):
        return np.float64(next(self.values))


def test_a_run_goes_to_its_end_and_reports_progress():
    seen = []
    outcome = drive(Averaging(SETTING, passes=4), Door([1.0, 2.0, 3.0, 4.0]), noise=2.0, progress=seen.append)
    assert (outcome.result, outcome.ending, outcome.steps) == (2.5, "finished", 4)
    assert seen == [1, 2, 3, 4]


def test_cancelling_takes_effect_between_steps():
    calls = iter([False, False, True])
    outcome = drive(Averaging(SETTING), Door([1.0, 3.0, 9.0]), noise=2.0, cancelled=lambda: next(calls))
    assert (outcome.result, outcome.ending, outcome.steps) == (2.0, "cancelled", 2)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_lets_the_step_finish():
    class Pressing(Door):
        def release(self, query, mechanism):
            os.kill(os.getpid(), signal.SIGINT)
            return super().release(query, mechanism)

    outcome = drive(Averaging(SETTING), Pressing([1.0, 3.0, 9.0]), noise=2.0)
    assert (outcome.ending, outcome.steps) == ("cancelled", 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_state_that_is_not_finite_ends_the_run_with_the_one_before():
    outcome = drive(Averaging(SETTING), Door([1.0, np.nan, 9.0]), noise=2.0)
    assert (outcome.result, outcome.ending, outcome.steps) == (1.0, "non-finite", 2)


def test_finiteness_looks_into_nested_states():
    @dataclass
    class Box:
        inside: object

    assert is_finite({"a": [1.0, (np.arange(3), Box(None))], "b": "text"})
    assert not is_finite(Box({"a": [np.array([1.0, np.inf])]}))
