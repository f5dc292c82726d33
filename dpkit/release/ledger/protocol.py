"""What each step of the protocol prices, reads, checks and appends, inside the one write transaction that its caller holds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from dpkit.contracts.guarantee import Part
from dpkit.contracts.registry import Registry
from dpkit.errors import (
    BudgetExceededError,
    InvalidValueError,
    LedgerDisagreementError,
    PlanExceededError,
    RunStateError,
)
from dpkit.pricing.assess import assess
from dpkit.pricing.serialise import dump
from dpkit.privacy.events import Event
from dpkit.privacy.gauges import Amounts, plus
from dpkit.release.ledger.chain import digest, read_amounts, written_amounts
from dpkit.release.ledger.entries import Charge, Entry, Run, value_of
from dpkit.release.ledger.log import Log, LogTail, RunRecord
from dpkit.release.ledger.runs import RunAmounts, Totals
from dpkit.release.ledger.terms import LedgerTerms, fingerprint

_REMEMBERED = 4096
"""So many prices are kept: a run asks for the same few events over and over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedEvent:
    """An event as the log writes it, and its price."""

    written: object
    fingerprint: str
    amounts: Amounts


class Pricer:
    """Prices events under the terms of one ledger: by proved rules alone, and by the accountant of its filter theorem."""

    def __init__(self, terms: LedgerTerms, registry: Registry) -> None:
        self.filter = terms.filter(registry)
        self.gauge = terms.gauge(registry)
        self._registry = registry
        self._known: dict[Event, PricedEvent] = {}

    def price(self, event: Event) -> PricedEvent:
        """The event's price; `UnpricedEventError` where no theorem gives one."""
        found = self._known.get(event)
        if found is None:
            guarantee = assess(
                event,
                accountant=self.filter.theorem.accountant,
                registry=self._registry,
                neighbours=self.filter.neighbours,
            )
            written = json.loads(dump(event))
            found = PricedEvent(written=written, fingerprint=fingerprint(written), amounts=self._amounts(guarantee.parts))
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[event] = found
        return found

    def _amounts(self, parts: Iterable[Part]) -> Amounts:
        """Part by part, each as often as it happens: a plan then costs exactly what its releases cost one by one."""
        total = self.gauge.zero
        for part in parts:
            total = plus(total, tuple(amount * part.times for amount in self.gauge.measure(part.state)))
        return total


class LedgerProtocol:
    """The state machine of runs and charges over the log of one ledger."""

    def __init__(self, *, log: Log, pricer: Pricer, path: Path) -> None:
        self._log = log
        self._pricer = pricer
        self._path = path

    def reserve(self, raw: sqlite3.Connection, run: str, priced: PricedEvent | None, analysis: str, data: str) -> Run:
        """A new run with its plan set aside; a known one as it is, if it brings the same plan."""
        plan = "" if priced is None else priced.fingerprint
        tail, record = self._log.tail(raw), self._log.run(raw, run)
        if record is not None:
            self._log.check_since(raw, run)
            self._same(f"run {run}: plan", record.plan, plan)
            self._same(f"run {run}: analysis", record.analysis, analysis)
            return self._resumed(raw, run, record, data)
        zero = self._pricer.gauge.zero
        account = RunAmounts(plan=None if priced is None else priced.amounts, live=zero, lost=zero)
        totals = self._affordable(tail.totals, tail.totals.after(None, account))
        record = RunRecord(plan=plan, analysis=analysis, account=account)
        more: dict[str, object] = {"event": None if priced is None else priced.written, "data": data}
        self._log.append(raw, tail, "reserve", run=run, key="", record=record, totals=totals, more=more)
        return replace(_seen(run, record), resumed=False)

    def _resumed(self, raw: sqlite3.Connection, run: str, record: RunRecord, data: str) -> Run:
        """A known run. One that is open does not go on with other data: half of its answers would be about each."""
        first = self._log.first(raw, run)
        before = str(first.body.get("data") or "")
        other = bool(data) and bool(before) and data != before
        if other and record.account.is_open:
            raise LedgerDisagreementError(
                path=self._path,
                field=f"run {run}: names and times of change of the data files",
                ledger=before[:12],
                given=data[:12],
                fix=f"The run began on {first.when[:19]}. Put the files back as they were, with their times, "
                "or pay for a new run (`dpkit run --again`).",
            )
        return replace(_seen(run, record), began=first.when, other_data=other)

    def charge(self, raw: sqlite3.Connection, run: str, key: str, priced: PricedEvent) -> Charge:
        """A new charge; or what was released under this key before."""
        tail, record = self._log.tail(raw), self._known(raw, run)
        before = self._log.latest(raw, run, key)
        if before is not None:
            asked_before = self._log.entry(raw, before.charge).body.get("event")
            self._same(f"run {run}: event of {key}", asked_before, priced.written)
            if before.kind == "release":
                value = None if before.value is None else value_of(before.value)
                return Charge(run=run, key=key, seq=before.charge, is_released=True, value=value)
        if not record.account.is_open:
            raise RunStateError(path=self._path, reason=f"the run {run!r} is closed.", fix="Begin another run.")
        if before is not None and before.kind == "charge":
            tail, record = self._give_up(raw, tail, record, before, "superseded")
        return Charge(run=run, key=key, seq=self._pay(raw, tail, record, run, key, priced).seq)

    def released(self, raw: sqlite3.Connection, charge: Charge, text: str) -> None:
        """The value of a pending charge."""
        tail, record = self._log.tail(raw), self._known(raw, charge.run)
        self._pending(raw, charge)
        more: dict[str, object] = {"charge": charge.seq, "value_sha256": digest(text)}
        self._log.append(
            raw,
            tail,
            "release",
            run=charge.run,
            key=charge.key,
            record=record,
            totals=tail.totals,
            more=more,
            value=text,
        )

    def failed(self, raw: sqlite3.Connection, charge: Charge, reason: str) -> None:
        """A pending charge that came to nothing."""
        tail, record = self._log.tail(raw), self._known(raw, charge.run)
        self._give_up(raw, tail, record, self._pending(raw, charge), reason)

    def close(self, raw: sqlite3.Connection, run: str) -> Run:
        """The end of a run; charges that are still pending are given up, so that nothing is released after it."""
        tail, record = self._log.tail(raw), self._known(raw, run)
        if not record.account.is_open:
            return _seen(run, record)
        for charge in self._log.pending(raw, run):
            tail, record = self._give_up(raw, tail, record, charge, "run-closed")
        closed = replace(record, account=record.account.closed())
        totals = tail.totals.after(record.account, closed.account)
        self._log.append(raw, tail, "close", run=run, key="", record=closed, totals=totals, more={})
        return _seen(run, closed)

    def run(self, raw: sqlite3.Connection, run: str) -> Run:
        """What is known of a run."""
        return _seen(run, self._known(raw, run))

    def _pay(
        self, raw: sqlite3.Connection, tail: LogTail, record: RunRecord, run: str, key: str, priced: PricedEvent
    ) -> LogTail:
        account = record.account
        if not account.covers(priced.amounts):
            asked = account.charged(priced.amounts).live
            raise PlanExceededError(run=run, plan=self._shown(account.plan or ()), asked=self._shown(asked))
        paid = replace(record, account=account.charged(priced.amounts))
        totals = self._affordable(tail.totals, tail.totals.after(account, paid.account))
        more: dict[str, object] = {"event": priced.written, "price": written_amounts(priced.amounts)}
        return self._log.append(raw, tail, "charge", run=run, key=key, record=paid, totals=totals, more=more)

    def _give_up(
        self, raw: sqlite3.Connection, tail: LogTail, record: RunRecord, charge: Entry, reason: str
    ) -> tuple[LogTail, RunRecord]:
        lost = replace(record, account=record.account.failed(read_amounts(charge.body.get("price"))))
        totals = tail.totals.after(record.account, lost.account)
        more: dict[str, object] = {"charge": charge.seq, "reason": reason}
        tail = self._log.append(raw, tail, "fail", run=charge.run, key=charge.key, record=lost, totals=totals, more=more)
        return tail, lost

    def _affordable(self, before: Totals, totals: Totals) -> Totals:
        """The filter: what is held in all, this included, keeps within the limit."""
        if not self._pricer.gauge.fits(totals.held):
            budget = self._pricer.filter.budget
            raise BudgetExceededError(budget=budget, spent=self._shown(before.held), asked=self._shown(totals.held))
        return totals

    def _known(self, raw: sqlite3.Connection, run: str) -> RunRecord:
        # the entry that creates the ledger has an empty run
        record = self._log.run(raw, run) if run else None
        if record is None:
            raise RunStateError(path=self._path, reason=f"it knows no run {run!r}.", fix="Begin it with `reserve`.")
        return record

    def _pending(self, raw: sqlite3.Connection, charge: Charge) -> Entry:
        latest = self._log.latest(raw, charge.run, charge.key)
        if latest is None or latest.kind != "charge" or latest.seq != charge.seq:
            known = latest is not None and latest.charge == charge.seq
            found = f"already {latest.state}" if known and latest is not None else "not the latest under its key"
            raise RunStateError(
                path=self._path,
                reason=f"charge {charge.seq} of the run {charge.run!r} is {found}.",
                fix="Nothing may be released for it: charge again.",
            )
        return latest

    def _same(self, field: str, ledger: object, given: object) -> None:
        if ledger != given:
            fix = "Resume a run with what it began with, or begin another."
            raise LedgerDisagreementError(path=self._path, field=field, ledger=ledger, given=given, fix=fix)

    def _shown(self, amounts: Amounts) -> str:
        try:
            return repr(self._pricer.gauge.spent(amounts))
        except InvalidValueError:
            return "more than any finite loss"


def _seen(run: str, record: RunRecord) -> Run:
    return Run(id=run, plan=record.plan, analysis=record.analysis, is_open=record.account.is_open, resumed=True)
