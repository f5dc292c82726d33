"""Approval by somebody else, what is written off, and a ledger that is behind what results have kept of it."""

import pytest
from laws.ledger_laws import new_ledger

import dpkit
from dpkit import ZCDP, ZCDPEvent
from dpkit.release.ledger.entries import canonical, chained
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.steward import approve, check_not_behind, request_of, write_off
from dpkit.release.ledger.verify import verify
from dpkit.testing.ledger_store_laws import UNIT, times


@pytest.fixture
def path(tmp_path):
    Ledger.create(tmp_path / "l", budget=ZCDP(rho=8 / 1024), dataset="d", approval=True).close()
    return tmp_path / "l"


def test_a_run_waits_until_somebody_else_approves_it(path):
    with Ledger.open(path, who="anna") as anna, Ledger.open(path, who="boss") as boss:
        anna.reserve("run", times(2), analysis="digest")
        assert not anna.is_approved("run")
        with pytest.raises(dpkit.ApprovalNeededError, match="approve LEDGER run") as caught:
            anna.charge("run", UNIT, key="0")
        assert caught.value.run == "run"
        with pytest.raises(dpkit.RunStateError, match="cannot approve"):
            approve(anna, "run")
        request = request_of(boss, "run")
        assert (request.who, request.analysis, request.price) == ("anna", "digest", ZCDP(rho=2 / 1024))
        assert request.versions["dpkit"] == dpkit.__version__
        assert request.machine
        assert boss.spent() == ZCDP(rho=0.0)
        assert approve(boss, "run").who == "boss"
        assert approve(boss, "run").kind == "approve"
        anna.charge("run", UNIT, key="0")
        anna.reserve("other", times(2))
        with pytest.raises(dpkit.ApprovalNeededError):
            anna.charge("other", UNIT, key="0")
        with pytest.raises(dpkit.RunStateError, match="knows no run"):
            approve(boss, "nothing")
        assert verify(boss).ok


def test_a_charge_without_approval_is_found(path):
    """Somebody appends a charge by hand, with a right chain."""
    with Ledger.open(path, who="anna") as ledger:
        ledger.reserve("run", times(2))
        end, zero = ledger.entries()[-1], ["0/1", "0/1"]
        account = {**end.body["account"], "live": [*end.body["account"]["plan"]], "lost": zero}
        body = canonical(
            {
                **end.body,
                "seq": 2,
                "kind": "charge",
                "key": "0",
                "price": end.body["account"]["plan"],
                "account": account,
                "totals": {**end.body["totals"], "spent": end.body["account"]["plan"]},
            }
        )
        with ledger.store.transaction(writes=True) as found:
            found.append(seq=2, run="run", key="0", body=body, value=None, hash=chained(end.hash, body))
        assert any("approved" in problem.what for problem in verify(ledger).problems)


def test_a_ledger_without_it_needs_no_approval(tmp_path):
    with Ledger.open(new_ledger(Ledger, tmp_path, releases=4), who="anna") as ledger:
        ledger.reserve("run")
        assert ledger.is_approved("run")
        with pytest.raises(dpkit.RunStateError, match="need no approval"):
            approve(Ledger.open(ledger.path, who="boss"), "run")
        ledger.charge("run", UNIT, key="0")


def test_a_restored_ledger_is_refused_until_the_loss_is_counted(tmp_path):
    path = new_ledger(Ledger, tmp_path, releases=8)
    with Ledger.open(path) as ledger:
        ledger.reserve("run")
        ledger.charge("run", UNIT, key="0")
        early = ledger.head().hash
        backup = path.read_bytes()
        ledger.charge("run", UNIT, key="1")
        late = ledger.head().hash
        check_not_behind(ledger, {early: "a.json", late: "b.json"})
    path.write_bytes(backup)
    with Ledger.open(path) as ledger:
        check_not_behind(ledger, {early: "a.json"})
        with pytest.raises(dpkit.LedgerBehindError, match=rf"b\.json.*charges are missing.*--since {late}"):
            check_not_behind(ledger, {early: "a.json", late: "b.json"})
        for event, since in ((ZCDPEvent(rho=0.0), late), (UNIT, "deadbeef"), (UNIT, ""), (UNIT, early)):
            with pytest.raises(dpkit.InvalidValueError):
                write_off(ledger, event, since=since)
        write_off(ledger, ZCDPEvent(rho=2 / 1024), since=late)
        check_not_behind(ledger, {early: "a.json", late: "b.json"})
        assert ledger.spent() == ZCDP(rho=3 / 1024)
        for step in range(5):
            ledger.charge("run", UNIT, key=f"after {step}")
        with pytest.raises(dpkit.BudgetExceededError):
            ledger.charge("run", UNIT, key="more")
        assert verify(ledger).ok


def test_more_than_is_left_can_be_written_off_and_then_nothing_is_granted(tmp_path):
    with Ledger.open(new_ledger(Ledger, tmp_path, releases=8)) as ledger:
        ledger.reserve("run", times(4))
        charge = ledger.charge("run", UNIT, key="0")
        write_off(ledger, ZCDPEvent(rho=1.0), since="a" * 64)
        assert ledger.spent() == ZCDP(rho=1.0 + 1 / 1024)
        assert ledger.remaining() == ZCDP(rho=0.0)
        ledger.released(charge, 1.0)
        with pytest.raises(dpkit.BudgetExceededError):
            ledger.reserve("other", UNIT)
        with pytest.raises(dpkit.BudgetExceededError):
            ledger.charge("run", UNIT, key="1")
        ledger.close_run("run")
        assert verify(ledger).ok
        assert ledger.more_runs(UNIT) == 0


def test_the_operating_system_says_who_writes_to_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "mallory")
    monkeypatch.setenv("USER", "mallory")
    with Ledger.create(tmp_path / "l", budget=ZCDP(rho=1.0), dataset="d") as ledger:
        assert ledger.author != "mallory"
