"""The ledger against a model that is a few dictionaries of whole numbers: whatever is asked, in whatever order, they agree."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from laws.ledger_laws import new_ledger

import dpkit
from dpkit import ZCDP, Repeat, ZCDPEvent
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import verify

BUDGET = 12
RUNS, KEYS, SIZES = st.sampled_from("abc"), st.sampled_from(["0", "1", "2", "3"]), st.integers(1, 4)


def event(units):
    return ZCDPEvent(rho=units / 1024)


class LedgerMachine(RuleBasedStateMachine):
    """Amounts are whole numbers here. A run: its plan, whether it is open, and each key's (units, state, value, ticket)."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = new_ledger(Ledger, self.folder, releases=BUDGET)
        self.ledger = Ledger.open(self.path, durability="normal")
        self.runs = {}
        self.lost = {}
        self.tickets = []

    def teardown(self):
        assert verify(self.ledger).ok
        self.ledger.close()
        shutil.rmtree(self.folder)

    def live(self, run):
        return sum(units for units, state, *_ in self.runs[run]["keys"].values() if state != "failed")

    def held(self, run):
        spent = self.live(run) + self.lost[run]
        plan, is_open = self.runs[run]["plan"], self.runs[run]["open"]
        return max(plan, spent) if is_open and plan is not None else spent

    def total(self):
        return sum(map(self.held, self.runs))

    @rule(run=RUNS, plan=st.none() | st.integers(0, 8))
    def reserve(self, run, plan):
        planned = None if plan is None else Repeat(event=event(1), times=plan)
        if run in self.runs:
            if self.runs[run]["plan"] == plan:
                assert self.ledger.reserve(run, planned).is_open == self.runs[run]["open"]
            else:
                with pytest.raises(dpkit.LedgerDisagreementError):
                    self.ledger.reserve(run, planned)
        elif self.total() + (plan or 0) > BUDGET:
            with pytest.raises(dpkit.BudgetExceededError):
                self.ledger.reserve(run, planned)
        else:
            assert not self.ledger.reserve(run, planned).resumed
            self.runs[run], self.lost[run] = {"plan": plan, "open": True, "keys": {}}, 0

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), key=KEYS, units=SIZES)
    def charge(self, data, key, units):
        run = data.draw(st.sampled_from(sorted(self.runs)))
        known, keys = self.runs[run], self.runs[run]["keys"]
        before = keys.get(key)
        if before is not None and before[0] != units:
            with pytest.raises(dpkit.LedgerDisagreementError):
                self.ledger.charge(run, event(units), key=key)
            return
        if before is not None and before[1] == "released":
            again = self.ledger.charge(run, event(units), key=key)
            assert (again.is_released, again.value) == (True, before[2])
            return
        if not known["open"]:
            with pytest.raises(dpkit.RunStateError):
                self.ledger.charge(run, event(units), key=key)
            return
        superseded = units if before is not None and before[1] == "pending" else 0
        live, lost = self.live(run) - superseded + units, self.lost[run] + superseded
        if known["plan"] is not None and live > known["plan"]:
            with pytest.raises(dpkit.PlanExceededError):
                self.ledger.charge(run, event(units), key=key)
            return
        if self.total() - self.held(run) + max(known["plan"] or 0, live + lost) > BUDGET:
            with pytest.raises(dpkit.BudgetExceededError):
                self.ledger.charge(run, event(units), key=key)
            return
        ticket = self.ledger.charge(run, event(units), key=key)
        assert not ticket.is_released
        self.lost[run] = lost
        keys[key] = (units, "pending", None, ticket)
        self.tickets.append(ticket)

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), value=st.floats(allow_nan=False))
    def release(self, data, value):
        ticket = data.draw(st.sampled_from(self.tickets))
        units, state, _, latest = self.runs[ticket.run]["keys"][ticket.key]
        if state == "pending" and latest == ticket:
            self.ledger.released(ticket, value)
            self.runs[ticket.run]["keys"][ticket.key] = (units, "released", value, ticket)
        else:
            with pytest.raises(dpkit.RunStateError):
                self.ledger.released(ticket, value)

    @precondition(lambda self: self.tickets)
    @rule(data=st.data())
    def fail(self, data):
        ticket = data.draw(st.sampled_from(self.tickets))
        units, state, _, latest = self.runs[ticket.run]["keys"][ticket.key]
        if state == "pending" and latest == ticket:
            self.ledger.failed(ticket)
            self.runs[ticket.run]["keys"][ticket.key] = (units, "failed", None, ticket)
            self.lost[ticket.run] += units
        else:
            with pytest.raises(dpkit.RunStateError):
                self.ledger.failed(ticket)

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def close_run(self, data):
        run = data.draw(st.sampled_from(sorted(self.runs)))
        self.ledger.close_run(run)
        for key, (units, state, value, ticket) in self.runs[run]["keys"].items():
            if state == "pending":
                self.runs[run]["keys"][key] = (units, "failed", value, ticket)
                self.lost[run] += units
        self.runs[run]["open"] = False

    @rule()
    def crash(self):
        self.ledger.close()
        self.ledger = Ledger.open(self.path, durability="normal")

    @invariant()
    def the_balance_is_the_model_s(self):
        balance = self.ledger.balance()
        assert balance.held == ZCDP(rho=self.total() / 1024)
        assert balance.spent == ZCDP(rho=sum(self.live(run) + self.lost[run] for run in self.runs) / 1024)
        assert balance.remaining == ZCDP(rho=(BUDGET - self.total()) / 1024)


LedgerMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestTheLedgerAgreesWithItsModel = LedgerMachine.TestCase
