"""The driver owns the loop; the ledger survives cancelling, crashing and resuming; the noise is solved to meet the budget."""

import os
import signal
import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit.data.setting import DeclaredSetting
from dpkit.release.driver import drive, is_finite
from dpkit.release.run_algorithms import run_algorithms
from dpkit.release.schedules import combined_plan, schedule_weights, share_weights, solve_noise

sys.path.insert(0, str(Path(__file__).parent))
from algorithms import Averaging

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))
SETTING = DeclaredSetting(schema=SCHEMA)
BUDGET = dpkit.ApproxDP(epsilon=1.0, delta=1e-6)


def engine():
    return dpkit.BlockEngine(dpkit.open_source({"x": [0.5] * 100}, SCHEMA))


@pytest.fixture
def ledger(tmp_path):
    with dpkit.Ledger.create(tmp_path / "a.ledger", budget=dpkit.ZCDP(rho=10.0), dataset="tests") as made:
        yield made


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


@pytest.fixture
def interruptible():
    """A test run in the background is started with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


def test_a_cancelled_run_leaves_a_consistent_ledger(ledger):
    class Stopping(Averaging):
        def finished(self, state):
            return len(state.values) >= 1  # an early stop, which the plan did not count on

    result = run_algorithms(
        {"mean": (Stopping(SETTING, passes=5), 2.0)}, engine=engine(), setting=SETTING, ledger=ledger, run="r"
    )
    assert not ledger.run("r").is_open
    assert ledger.spent() == dpkit.ZCDP(rho=0.125)  # one release, not five: the rest was never charged
    assert len(dpkit.privacy.events.flatten(result.plan)) == 1


def test_a_resumed_run_does_not_pay_again_and_gets_the_same_values(ledger):
    class Crashing(Averaging):
        def step(self, state, curator):
            if len(state.values) == 2 and crash:
                raise MemoryError
            return super().step(state, curator)

    crash = True
    algorithms = {"mean": (Crashing(SETTING), 2.0)}
    with pytest.raises(MemoryError):
        run_algorithms(algorithms, engine=engine(), setting=SETTING, ledger=ledger, run="r")
    before = ledger.spent()
    first = [entry.value for entry in ledger.entries("r") if entry.kind == "release"]
    crash = False
    result = run_algorithms(algorithms, engine=engine(), setting=SETTING, ledger=ledger, run="r")
    assert result.outcomes["mean"].ending == "finished"
    after = [entry.value for entry in ledger.entries("r") if entry.kind == "release"]
    assert after[:2] == first
    assert ledger.spent().rho == pytest.approx(before.rho * 1.5)


@pytest.mark.usefixtures("interruptible")
def test_a_run_that_ctrl_c_stopped_goes_on_and_pays_for_the_rest_alone(ledger):
    class Pressing(Averaging):
        def step(self, state, curator):
            if press:
                os.kill(os.getpid(), signal.SIGINT)
            return super().step(state, curator)

    press = True
    algorithms = {"mean": (Pressing(SETTING, passes=3), 2.0)}
    stopped = run_algorithms(algorithms, engine=engine(), setting=SETTING, ledger=ledger, run="r")
    assert (stopped.outcomes["mean"].ending, stopped.outcomes["mean"].steps) == ("cancelled", 1)
    assert ledger.spent() == dpkit.ZCDP(rho=0.125)
    assert ledger.run("r").is_open  # its plan stays reserved
    press = False
    resumed = run_algorithms(algorithms, engine=engine(), setting=SETTING, ledger=ledger, run="r")
    assert resumed.outcomes["mean"].ending == "finished"
    assert resumed.releases[0].values == stopped.releases[0].values
    assert ledger.spent() == dpkit.ZCDP(rho=0.375)
    assert not ledger.run("r").is_open


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_in_the_last_step_of_an_algorithm_keeps_the_next_from_beginning(ledger):
    class Pressing(Averaging):
        def step(self, state, curator):
            os.kill(os.getpid(), signal.SIGINT)
            return super().step(state, curator)

    algorithms = {name: (Pressing(SETTING, passes=1), 2.0) for name in ("one", "two", "three")}
    for reached in (["one"], ["one", "two"]):
        algorithms[reached[-1]] = (Pressing(SETTING, passes=1), 2.0)
        found = run_algorithms(algorithms, engine=engine(), setting=SETTING, ledger=ledger, run="r")
        assert list(found.outcomes) == reached
        assert ledger.run("r").is_open
        algorithms[reached[-1]] = (Averaging(SETTING, passes=1), 2.0)
    found = run_algorithms(algorithms, engine=engine(), setting=SETTING, ledger=ledger, run="r")
    assert [outcome.ending for outcome in found.outcomes.values()] == ["finished"] * 3  # it had nothing left to stop
    assert not ledger.run("r").is_open
    assert ledger.spent() == dpkit.ZCDP(rho=0.375)


def test_a_plan_that_does_not_fit_the_ledger_is_refused_before_any_data(ledger):
    with pytest.raises(dpkit.BudgetExceededError):
        run_algorithms({"mean": (Averaging(SETTING), 0.01)}, engine=None, setting=SETTING, ledger=ledger)
    assert ledger.spent() == dpkit.ZCDP(rho=0.0)


@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "pld", "best"])
def test_the_noise_meets_the_budget_under_each_accountant(accountant):
    algorithms = [Averaging(SETTING, passes=3), Averaging(SETTING, passes=1)]
    noises, guarantee = solve_noise(algorithms, BUDGET, accountant=accountant, shares=(3.0, 1.0))
    assert guarantee.epsilon(delta=1e-6) <= 1.0
    assert guarantee.epsilon(delta=1e-6) > 1.0 - 1e-6
    assert noises[1] / noises[0] == pytest.approx(3.0**0.5)


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=6))
def test_shares_are_shares_of_rho(shares):
    weights = share_weights(shares)
    costs = [1.0 / weight**2 for weight in weights]
    assert costs == pytest.approx([share * len(shares) / sum(shares) for share in shares])


def test_schedules():
    assert schedule_weights("equal", 3) == (1.0, 1.0, 1.0)
    falling = schedule_weights("geometric", 4, ratio=1.5)
    assert [one / other for one, other in pairwise(falling)] == pytest.approx([1.5] * 3)
    assert schedule_weights([1.0, 4.0], 2)[0] == pytest.approx(2.0 * schedule_weights([1.0, 4.0], 2)[1])
    for wrong in ("linear", [1.0], [1.0, -1.0]):
        with pytest.raises(dpkit.InvalidValueError):
            schedule_weights(wrong, 2)


def test_more_noise_never_costs_more():
    plans = [combined_plan([Averaging(SETTING)], (1.0,), noise) for noise in (0.5, 1.0, 2.0, 4.0)]
    prices = [dpkit.account(plan).epsilon(delta=1e-6) for plan in plans]
    assert prices == sorted(prices, reverse=True)
    assert replace(SETTING, rows=7).size == 7
