"""A whole run: the ledger survives cancelling and resuming, and what does not fit is refused before any data."""

import os
import signal

import pytest
from release.algorithms import Averaging

import dpkit
from dpkit import Neighbours
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import LedgerDisagreementError
from dpkit.release.run_algorithms import run_algorithms

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))
SETTING = DeclaredSetting(schema=SCHEMA)


def engine():
    return dpkit.BlockEngine(dpkit.open_source({"x": [0.5] * 100}, SCHEMA))


@pytest.fixture
def ledger(tmp_path):
    with dpkit.Ledger.create(tmp_path / "a.ledger", budget=dpkit.ZCDP(rho=10.0), dataset="tests") as made:
        yield made


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


def test_a_ledger_of_another_relation_or_unit_is_refused(tmp_path):
    setting = DeclaredSetting(schema=SCHEMA)
    for index, terms in enumerate(({"neighbours": Neighbours.REPLACE_ONE}, {"unit": {"column": "id", "at_most": 2}})):
        path = tmp_path / f"{index}.ledger"
        with (
            dpkit.Ledger.create(path, budget=dpkit.ZCDP(rho=1.0), dataset="tests", **terms) as ledger,
            pytest.raises(LedgerDisagreementError),
        ):
            run_algorithms({}, engine=None, setting=setting, ledger=ledger)
