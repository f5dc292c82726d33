"""The ledger keeps its laws, its terms and its protocol; what it refuses costs nothing."""

import os
import threading

import pytest
from laws.ledger_laws import LEDGER_LAWS, UNIT, new_ledger, times

import dpkit
from dpkit import GDP, ZCDP, ApproxDP, ApproxEvent, Compose, GaussianEvent, LaplaceEvent, PureDP, Repeat
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import verify

UNIT_PRICE = 1 / 1024


@pytest.mark.parametrize("law", LEDGER_LAWS, ids=lambda law: law.__name__)
def test_the_ledger_obeys(law, tmp_path):
    law(Ledger, tmp_path)


@pytest.mark.parametrize(
    ("budget", "accountant", "event", "fits", "slack"),
    [
        (PureDP(epsilon=1.0), "pure", LaplaceEvent(ratio=0.125), 8, 0.0),
        (ZCDP(rho=0.5), "zcdp", GaussianEvent(ratio=0.25), 16, 0.0),
        (GDP(mu=1.0), "gdp", GaussianEvent(ratio=0.25), 16, 0.0),
        (ApproxDP(epsilon=1.0, delta=1e-6), "zcdp", GaussianEvent(ratio=0.05), None, 0.0),
        (ApproxDP(epsilon=1.0, delta=1e-6), "zcdp", ApproxEvent(epsilon=0.001, delta=1e-9), 9, 1e-8),
        (ApproxDP(epsilon=1.0, delta=1e-6), "rdp", GaussianEvent(ratio=0.05), None, 0.0),
        (ApproxDP(epsilon=1.0, delta=1e-6), "advanced", LaplaceEvent(ratio=0.05), None, 0.0),
    ],
)
def test_each_filter_grants_what_it_would_grant_without_a_ledger(tmp_path, budget, accountant, event, fits, slack):
    filter_, granted = dpkit.privacy_filter(budget, accountant, slack=slack), 0
    while filter_.admits(event):
        filter_, granted = filter_.charge(event), granted + 1
    assert fits is None or granted == fits
    with Ledger.create(tmp_path / "l", budget=budget, accountant=accountant, slack=slack, dataset="d") as ledger:
        with pytest.raises(dpkit.BudgetExceededError):
            ledger.reserve("too much", Repeat(event=event, times=granted + 1))
        ledger.reserve("run", Repeat(event=event, times=granted))
        for step in range(granted):  # a plan costs exactly what its releases cost one by one
            ledger.charge("run", event, key=str(step))
        with pytest.raises(dpkit.PlanExceededError):
            ledger.charge("run", event, key="more")
        ledger.close_run("run")
        ledger.reserve("other")
        with pytest.raises(dpkit.BudgetExceededError) as caught:
            ledger.charge("other", event, key="0")
        assert caught.value.budget == budget
        assert verify(ledger).ok


@pytest.mark.parametrize("accountant", ["best", "pld", "cdp"])
def test_what_has_no_filter_theorem_serves_no_ledger(tmp_path, accountant):
    with pytest.raises(dpkit.NoFilterTheoremError):
        Ledger.create(tmp_path / "l", budget=ApproxDP(epsilon=1.0, delta=1e-6), accountant=accountant, dataset="d")
    assert list(tmp_path.iterdir()) == []


def test_an_accountant_with_a_filter_and_no_gauge_serves_no_ledger(tmp_path):
    from dpkit.accountants.zcdp import ZCDPAccountant

    class NoGauge(ZCDPAccountant):
        def gauge(self, limit):
            return None

    with pytest.raises(dpkit.NoFilterTheoremError, match="no gauge"):
        Ledger.create(tmp_path / "l", budget=ZCDP(rho=1.0), accountant=NoGauge(), dataset="d")


def test_a_resumed_run_brings_the_same_plan_analysis_and_events(ledger):
    ledger.reserve("run", times(2), analysis="a")
    ledger.charge("run", UNIT, key="0")
    with pytest.raises(dpkit.LedgerDisagreementError, match=r"plan.*another version.*--again"):
        ledger.reserve("run", times(3), analysis="a")
    with pytest.raises(dpkit.LedgerDisagreementError, match="analysis"):
        ledger.reserve("run", times(2), analysis="b")
    with pytest.raises(dpkit.LedgerDisagreementError, match="event of 0"):
        ledger.charge("run", GaussianEvent(ratio=0.001), key="0")
    assert ledger.reserve("run", times(2), analysis="a").resumed
    assert ledger.spent() == ZCDP(rho=UNIT_PRICE)


def test_a_plan_may_be_charged_part_by_part(ledger):
    parts = (GaussianEvent(ratio=0.01), UNIT)
    ledger.reserve("run", Compose(events=(*parts, Repeat(event=UNIT, times=2))))
    ledger.charge("run", [UNIT, UNIT], key="both")
    for place, part in enumerate(parts):
        ledger.charge("run", part, key=str(place))
    assert ledger.balance().spent == ledger.balance().held


def test_a_failed_charge_stays_spent_and_may_be_retried_from_the_total(ledger):
    ledger.reserve("run", times(1))
    ledger.failed(ledger.charge("run", UNIT, key="0"), "Cancelled")
    assert ledger.spent() == ZCDP(rho=UNIT_PRICE)
    retried = ledger.charge("run", UNIT, key="0")
    assert ledger.spent() == ZCDP(rho=2 * UNIT_PRICE)
    ledger.released(retried, 1.0)
    with pytest.raises(dpkit.PlanExceededError):
        ledger.charge("run", UNIT, key="1")
    assert verify(ledger).ok


def test_a_retry_that_does_not_fit_is_refused_and_changes_nothing(tmp_path):
    with Ledger.open(new_ledger(Ledger, tmp_path, releases=1)) as ledger:
        ledger.reserve("run", times(1))
        charge = ledger.charge("run", UNIT, key="0")
        before = ledger.head()
        with pytest.raises(dpkit.BudgetExceededError):
            ledger.charge("run", UNIT, key="0")
        assert ledger.head() == before
        ledger.released(charge, 1.0)  # the first one is still good


def test_closing_gives_up_what_is_pending(ledger):
    ledger.reserve("run", times(3))
    charge = ledger.charge("run", UNIT, key="0")
    assert not ledger.close_run("run").is_open
    with pytest.raises(dpkit.RunStateError):
        ledger.released(charge, 1.0)
    assert ledger.spent() == ledger.balance().held == ZCDP(rho=UNIT_PRICE)
    head = ledger.head()
    ledger.close_run("run")
    assert ledger.head() == head
    assert verify(ledger).ok


def test_what_is_unknown_or_malformed_is_refused(ledger):
    for run in ("nobody", ""):
        with pytest.raises(dpkit.RunStateError):
            ledger.charge(run, UNIT, key="0")
        with pytest.raises(dpkit.RunStateError):
            ledger.close_run(run)
    with pytest.raises(dpkit.RunStateError):
        ledger.run("nobody")
    ledger.reserve("run")
    for wrong in ("", None, 3):
        with pytest.raises(dpkit.InvalidValueError):
            ledger.charge("run", UNIT, key=wrong)
        with pytest.raises(dpkit.InvalidValueError):
            ledger.reserve(wrong)
    charge = ledger.charge("run", UNIT, key="0")
    with pytest.raises(dpkit.InvalidValueError) as caught:
        ledger.failed(charge, "the value 3141 was too large")
    assert "3141" not in str(caught.value)
    with pytest.raises(dpkit.InvalidValueError) as caught:
        ledger.released(charge, {3141})
    assert "3141" not in str(caught.value)
    assert ledger.entries()[-1].state == "reserved"


def test_threads_share_a_ledger_by_taking_turns(ledger):
    ledger.reserve("run")
    granted = []

    def ask(name):
        for step in range(4):
            try:
                ledger.charge("run", UNIT, key=f"{name} {step}")
                granted.append(step)
            except dpkit.BudgetExceededError:
                pass

    threads = [threading.Thread(target=ask, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("hooks", [True, False], ids=["closed before the fork", "forked behind its back"])
def test_a_fork_shares_no_connection(ledger, hooks, monkeypatch):
    from dpkit.release.ledger import sqlite_store

    if not hooks:
        monkeypatch.setattr(sqlite_store, "_OPEN", [])
    ledger.reserve("run")
    ledger.charge("run", UNIT, key="parent")
    inherited = ledger.store._connection
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ledger.charge("run", UNIT, key="child")
            status = 0 if ledger.store._connection is not inherited else 2
        finally:
            os._exit(status)
    ledger.charge("run", UNIT, key="parent again")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.spent() == ZCDP(rho=3 * UNIT_PRICE)
    assert verify(ledger).ok
