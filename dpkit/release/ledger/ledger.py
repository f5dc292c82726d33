"""The ledger: a dataset's budget in one place, shared by many runs and processes. It charges first; then something may go out.

The protocol of a run: `reserve` the plan, then for each release `charge`, draw the value, record it by `released`, and only
then let it out; `close_run` at the end. Every step is one durable transaction. See docs/ledger.md for what this promises.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from os import PathLike
from types import TracebackType
from typing import Any, Self

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.ledger_store import Durability, LedgerAddress, LedgerPlace, LedgerStore, author_of
from dpkit.contracts.registry import Registry
from dpkit.errors import (
    ApprovalNeededError,
    BudgetExceededError,
    InvalidValueError,
    LedgerCorruptError,
    LedgerDisagreementError,
    LedgerMovedError,
    NotALedgerError,
    PlanExceededError,
    RunStateError,
    SerialisationError,
)
from dpkit.hooks.manager import default_registry
from dpkit.privacy.checks import finite_number, nonempty_text, one_of
from dpkit.privacy.events import Event, as_event
from dpkit.privacy.filter_amounts import Amounts, minus, plus
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.ledger.budget_terms import ExpectedTerms, LedgerTerms, Pricer, Unit
from dpkit.release.ledger.entries import (
    APPROVAL,
    CLOSING,
    START,
    Charge,
    Entry,
    Head,
    Run,
    RunAccount,
    Totals,
    canonical,
    digest,
    read_amounts,
    read_entry,
    value_of,
    value_text,
    written_amounts,
)
from dpkit.release.ledger.ledger_address import ledger_place
from dpkit.release.ledger.log import Log, broken, linked_entry, now, surroundings
from dpkit.release.ledger.sqlite_store import SqliteStore, create_file, user
from dpkit.values import dataclass

_REASON = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_OTHER_PLAN = (
    "The same analysis asks for other releases now: dpkit or a plugin is another version than the one that began this run. "
    "Nothing was charged. Go on with that version; or pay for a new draw: `dpkit run --again`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Where a ledger stands. `limit` is how its filter keeps the `budget`; `reserved` is what open runs reserved and have not
    spent; `held` is both, `spent` and `reserved`.
    """

    budget: Loss
    limit: Loss
    spent: Loss
    reserved: Loss
    held: Loss
    remaining: Loss


class Ledger:
    """A dataset's budget. Made by `Ledger.create`, used through `Ledger.open`; safe to share among threads and across forks."""

    def __init__(self, store: LedgerStore, *, registry: Registry, who: str | None) -> None:
        self.store = store
        self.path: LedgerPlace = store.path
        store.prepare()
        self._who = store.author(who)
        with store.transaction(writes=False) as found:
            row = next(iter(found.rows(most=1)), None)
        if row is None or row[0] != 0:
            raise broken(self.path, "entry 0 is missing")
        try:
            first = linked_entry(START, row, self.path)
            ledger, terms = first.body.get("ledger"), first.body.get("terms")
            if first.kind != "create" or not isinstance(ledger, str) or not isinstance(terms, dict):
                raise SerialisationError(reason="it is of another kind.")
            self.id, self.terms = ledger, LedgerTerms.from_json(terms, registry=registry)
        except SerialisationError as error:
            raise LedgerCorruptError(path=self.path, reason=f"its first entry is not its terms. {error}") from None
        self.registry = registry
        self.pricer = Pricer(self.terms, registry)

    @classmethod
    def create(
        cls,
        path: str | PathLike[str] | LedgerAddress,
        *,
        budget: Loss,
        dataset: str,
        accountant: str | AnyAccountant = "zcdp",
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        unit: Unit = "row",
        schema: str = "",
        slack: float = 0.0,
        order: float | None = None,
        approval: bool = False,
        who: str | None = None,
        registry: Registry | None = None,
    ) -> Ledger:
        """A new ledger, open. Its terms are fixed from here on; `NoFilterTheoremError` where no theorem would serve them."""
        known = default_registry() if registry is None else registry
        terms = LedgerTerms(
            budget=budget,
            accountant=known.accountant(accountant),
            neighbours=neighbours,
            unit=unit,
            dataset=dataset,
            schema=schema,
            slack=slack,
            order=order,
            approval=approval,
        )
        zero = Pricer(terms, known).gauge.zero
        body = {
            "seq": 0,
            "kind": "create",
            "when": now(),
            **surroundings(),
            "ledger": uuid.uuid4().hex,
            "terms": terms.as_json(),
            "totals": Totals(spent=zero, held=zero).as_json(),
        }

        def log_by(author: str) -> list[tuple[str, str | None]]:
            return [(canonical({**body, "who": author}), None)]

        place = ledger_place(path)
        if isinstance(place, LedgerAddress):
            known.ledger_store(place.scheme).create(place, dataset, lambda role: log_by(author_of(role, who)))
            if "dataset" not in place.options:
                place = place.with_option("dataset", dataset)
        else:
            create_file(place.absolute(), log_by(who or user()))
        return cls.open(place, who=who, registry=known)

    @classmethod
    def open(
        cls,
        path: str | PathLike[str] | LedgerAddress,
        *,
        expect: ExpectedTerms | None = None,
        who: str | None = None,
        registry: Registry | None = None,
        durability: Durability = "full",
        timeout: float = 30.0,
        read_only: bool = False,
    ) -> Self:
        """An existing ledger, migrated if it is older; `LedgerDisagreementError` when its terms are not the expected ones.

        `durability="normal"` gives up the promise across a crash of the machine: for tests and measurements. `timeout` is how
        many seconds to wait for other processes.
        """
        one_of(durability, ("full", "normal"), field="durability", where="ledger")
        finite_number(timeout, field="timeout", where="ledger", minimum=0.0)
        known = default_registry() if registry is None else registry
        place = ledger_place(path)
        store: LedgerStore
        if isinstance(place, LedgerAddress):
            factory = known.ledger_store(place.scheme)
            store = factory.open(place, durability=durability, timeout=timeout, read_only=read_only)
        else:
            try:  # the file itself, however many links lead to it: everybody must find the same companions beside it
                real = place.resolve()
            except (OSError, RuntimeError):
                raise NotALedgerError(path=place, reason="its symbolic links lead nowhere.", fix="Check the path.") from None
            store = SqliteStore(real, durability=durability, timeout=timeout, read_only=read_only)
        try:
            ledger = cls(store, registry=known, who=who)
            if expect is not None:
                expect.check(ledger.terms, path=place, registry=known)
        except BaseException:
            store.close()
            raise
        return ledger

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """The same ledger: there is one budget, however often an object that holds it is copied."""
        return self

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("dpkit.report.notebooks").ledger_html(self))

    def __reduce__(self) -> tuple[object, ...]:
        """By its path: elsewhere it is opened again, with what is installed there."""
        return _reopen, (type(self), self.path, {**self.store.opened_with, "who": self._who})

    def reserve(self, run: str, plan: Event | Iterable[Event] | None = None, *, analysis: str = "", data: str = "") -> Run:
        """Begin a run by setting its whole plan aside, or resume it; without a plan, it pays as it goes.

        `BudgetExceededError` when the plan does not fit beside what was spent and what other open runs hold. A run that is
        known must bring the same plan and analysis: it gets back what it had, and pays nothing. `data` is a stamp of the data
        (`DataSource.stamp`): an open run does not go on with other data, a closed one says that it had other data.
        """
        nonempty_text(run, field="run", where="reserve")
        if not isinstance(data, str):
            raise InvalidValueError(field="data", found=type(data).__name__, allowed="a stamp, as text", where="reserve")
        priced = None if plan is None else self.pricer.price(as_event(plan))
        plan_hash = "" if priced is None else priced.fingerprint
        with self.log(writes=True) as log:
            known = log.account(run)
            if known is not None:
                first = log.check_since(run)
                self._check_same(f"run {run}: analysis", known.analysis, analysis)
                self._check_same(f"run {run}: plan", known.plan_hash, plan_hash, fix=_OTHER_PLAN)
                before = str(first.body.get("data") or "")
                other = bool(data) and bool(before) and data != before
                if other and known.is_open:  # half of its answers would be about each
                    raise LedgerDisagreementError(
                        path=self.path,
                        field=f"run {run}: names and times of change of the data files",
                        ledger=before[:12],
                        given=data[:12],
                        fix=f"The run began on {first.when[:19]}. Put the files back as they were, with their times, "
                        "or pay for a new run (`dpkit run --again`).",
                    )
                return replace(_run_of(run, known), began=first.when, other_data=other)
            zero = self.pricer.gauge.zero
            amounts = None if priced is None else priced.amounts
            account = RunAccount(plan_hash=plan_hash, analysis=analysis, plan=amounts, live=zero, lost=zero)
            totals = self.affordable(log.totals, log.totals.after(None, account))
            written = None if priced is None else priced.written
            more: dict[str, object] = {"event": written, "data": data, **surroundings()}
            log.append("reserve", run=run, account=account, totals=totals, more=more)
            return replace(_run_of(run, account), resumed=False)

    def charge(self, run: str, event: Event | Iterable[Event], *, key: str) -> Charge:
        """Pay for one release of a run, durably; `key` names the release within the run, the same again when it is resumed.

        What was released under this key before comes back as it was, unpaid. What was charged and never released is given up
        and paid again: nobody can know how far it had come. `PlanExceededError` or `BudgetExceededError`, and no charge, when
        it does not fit.
        """
        nonempty_text(key, field="key", where="charge")
        priced = self.pricer.price(as_event(event))
        with self.log(writes=True) as log:
            account, before = self.account(log, run), log.latest(run, key)
            if before is not None:
                asked_before = log.entry(before.charge).body.get("event")
                self._check_same(f"run {run}: event of {key}", asked_before, priced.written)
                if before.kind == "release":
                    value = None if before.value is None else value_of(before.value)
                    return Charge(run=run, key=key, seq=before.charge, is_released=True, value=value)
            if not account.is_open:
                raise RunStateError(path=self.path, reason=f"the run {run!r} is closed.", fix="Begin another run.")
            self._check_approved(log, run)
            if before is not None and before.kind == "charge":
                account = self._give_up(log, account, before, "superseded")
            paid = account.charged(priced.amounts)
            if not account.covers(priced.amounts):
                raise PlanExceededError(run=run, plan=self._shown(account.plan or ()), asked=self._shown(paid.live))
            totals = self.affordable(log.totals, log.totals.after(account, paid))
            more: dict[str, object] = {"event": priced.written, "price": written_amounts(priced.amounts)}
            log.append("charge", run=run, key=key, account=paid, totals=totals, more=more)
            return Charge(run=run, key=key, seq=log.seq)

    def released(self, charge: Charge, value: object) -> object:
        """Record what a charge paid for; only after this has returned may the value go out. Returns the value.

        `RunStateError` when the charge was already used or given up: then the value must not go out.
        """
        text = value_text(value)
        with self.log(writes=True) as log:
            account = self.account(log, charge.run)
            self._pending(log, charge)
            more: dict[str, object] = {"charge": charge.seq, "value_sha256": digest(text)}
            log.append("release", run=charge.run, key=charge.key, account=account, totals=log.totals, more=more, value=text)
        return value

    def failed(self, charge: Charge, reason: str = "failed") -> None:
        """Record that a charge came to nothing. It stays spent. `reason` is a short code, never a message: messages leak."""
        if not isinstance(reason, str) or not _REASON.fullmatch(reason):
            allowed = "a code of letters, digits, dots, dashes and underscores"
            raise InvalidValueError(field="reason", found=type(reason).__name__, allowed=allowed, where="failed")
        with self.log(writes=True) as log:
            self._give_up(log, self.account(log, charge.run), self._pending(log, charge), reason)

    def close_run(self, run: str) -> Run:
        """End a run: what it reserved and did not charge is free for others; what was charged stays spent.

        Closing twice is fine. Charges that are still pending are given up, so that nothing is released after it. A filter
        theorem composes the charges that were made: the unused part of a plan was never spent.
        """
        with self.log(writes=True) as log:
            account = self.account(log, run)
            if not account.is_open:
                return _run_of(run, account)
            for charge in log.pending(run):
                account = self._give_up(log, account, charge, "run-closed")
            closed = replace(account, is_open=False)
            log.append("close", run=run, account=closed, totals=log.totals.after(account, closed), more={})
            return _run_of(run, closed)

    def is_approved(self, run: str) -> bool:
        """Whether a run may charge, as far as approval goes."""
        with self.log() as log:
            return self._is_approved(log, run)

    @property
    def author(self) -> str:
        """Who writes, as entries say."""
        return self._who

    def balance(self) -> Balance:
        """Budget, limit, spent, held and remaining, at one moment."""
        with self.log() as log:
            totals = log.totals
        gauge = self.pricer.gauge
        return Balance(
            budget=self.terms.budget,
            limit=self.pricer.filter.theorem.limit,
            spent=gauge.spent(totals.spent),
            reserved=gauge.spent(minus(totals.held, totals.spent)),
            held=gauge.spent(totals.held),
            remaining=gauge.remaining(totals.held),
        )

    def spent(self) -> Loss:
        """What was charged, rounded up."""
        return self.balance().spent

    def remaining(self) -> Loss:
        """What a new run could still reserve, rounded down."""
        return self.balance().remaining

    def price(self, plan: Event | Iterable[Event]) -> Loss:
        """What a plan would cost this ledger, rounded up. Nothing is set aside."""
        return self.pricer.gauge.spent(self.pricer.price(as_event(plan)).amounts)

    def fits(self, plan: Event | Iterable[Event]) -> bool:
        """Whether a new run could reserve this plan now. Nothing is set aside, so another run may be quicker."""
        amounts = self.pricer.price(as_event(plan)).amounts
        with self.log() as log:
            return self.pricer.gauge.fits(plus(log.totals.held, amounts))

    def more_runs(self, plan: Event | Iterable[Event]) -> int | None:
        """How many more runs of such a plan fit beside all that is held, each reserved in full; None where it costs nothing."""
        return self._more(self.pricer.price(as_event(plan)).amounts)

    def more_runs_like_last(self) -> int | None:
        """How many more runs fit that reserve as much as the last one that had a plan; None where there was none."""
        planned = None
        for entry in self.entries():
            account = RunAccount.from_json(entry.body) if entry.kind == "reserve" else None
            planned = planned if account is None or account.plan is None else account.plan
        return None if planned is None else self._more(planned)

    def _more(self, amounts: Amounts) -> int | None:
        with self.log() as log:
            if log.end.kind in CLOSING:
                return 0
            held = log.totals.held
        limits = self.pricer.gauge.limits
        fitting = [max(0, (limit - part) // one) for limit, part, one in zip(limits, held, amounts, strict=True) if one]
        return int(min(fitting)) if fitting else None

    def run(self, run: str) -> Run:
        """What is known of a run; `RunStateError` when nothing is."""
        with self.log() as log:
            return _run_of(run, self.account(log, run))

    def entries(self, run: str | None = None) -> tuple[Entry, ...]:
        """The log, or one run's part of it, in order."""
        try:
            with self.store.transaction(writes=False) as found:
                return tuple(read_entry(*row[:4]) for row in found.rows(run=run))
        except SerialisationError as error:
            raise broken(self.path, error.reason) from None

    def head(self) -> Head:
        """Where the log ends now. Keep it elsewhere: `verify` can then tell whether the file was rolled back."""
        with self.log() as log:
            return Head(ledger=self.id, seq=log.seq, hash=log.hash)

    def close(self) -> None:
        """Let go of the file. Runs stay as they are; any further call opens it again."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def log(self, *, writes: bool = False) -> Iterator[Log]:
        """The log within one transaction; what cannot be read there was not written by dpkit."""
        with self.store.transaction(writes=writes) as found:
            try:
                log = Log(found, path=self.path, who=self._who)
                if writes and log.end.kind in CLOSING:
                    raise self.moved(log.end)
                yield log
            except SerialisationError as error:
                raise broken(self.path, error.reason) from None

    def account(self, log: Log, run: str) -> RunAccount:
        """What the log says of a run; `RunStateError` where it knows none."""
        account = log.account(run) if run else None  # the entry that creates the ledger has an empty run
        if account is None:
            raise RunStateError(path=self.path, reason=f"it knows no run {run!r}.", fix="Begin it with `reserve`.")
        return account

    def why_closed(self) -> str:
        """Why nothing is granted here any more; nothing where it is."""
        with self.log() as log:
            return self.moved(log.end).reason if log.end.kind in CLOSING else ""

    def moved(self, end: Entry) -> LedgerMovedError:
        """Why nothing is granted here any more."""
        if end.kind == "gone":
            reason = f"it was moved to {end.body.get('to')!r} on {end.when[:19]}, and is closed for good."
            return LedgerMovedError(path=self.path, reason=reason, fix="Nothing was charged. Use it there.")
        reason = f"a move began on {end.when[:19]} and did not come to its end: until then it is closed for good."
        fix = "Nothing was charged. Say `dpkit ledger copy` again, from the old place to the same place or to another one."
        return LedgerMovedError(path=self.path, reason=reason, fix=fix)

    def _is_approved(self, log: Log, run: str) -> bool:
        if not self.terms.approval:
            return True
        found = log.latest(run, APPROVAL)
        return found is not None and found.kind == "approve"

    def _check_approved(self, log: Log, run: str) -> None:
        if not self._is_approved(log, run):
            raise ApprovalNeededError(path=self.path, run=run)

    def affordable(self, before: Totals, totals: Totals) -> Totals:
        """The filter: what is held in all, this included, keeps within the limit."""
        if not self.pricer.gauge.fits(totals.held):
            budget = self.pricer.filter.budget
            reserved = minus(before.held, before.spent)
            held = f" and {self._shown(reserved)} held by open runs" if any(reserved) else ""
            asked = f"{self._shown(minus(totals.held, before.held))} more"
            raise BudgetExceededError(budget=budget, spent=f"{self._shown(before.spent)}{held}", asked=asked)
        return totals

    def _pending(self, log: Log, charge: Charge) -> Entry:
        latest = log.latest(charge.run, charge.key)
        if latest is None or latest.kind != "charge" or latest.seq != charge.seq:
            known = latest is not None and latest.charge == charge.seq
            found = f"already {latest.state}" if known and latest is not None else "not the latest under its key"
            raise RunStateError(
                path=self.path,
                reason=f"charge {charge.seq} of the run {charge.run!r} is {found}.",
                fix="Nothing may be released for it: charge again.",
            )
        return latest

    def _give_up(self, log: Log, account: RunAccount, charge: Entry, reason: str) -> RunAccount:
        lost = account.failed(read_amounts(charge.body.get("price")))
        more: dict[str, object] = {"charge": charge.seq, "reason": reason}
        log.append("fail", run=charge.run, key=charge.key, account=lost, totals=log.totals.after(account, lost), more=more)
        return lost

    def _check_same(self, field: str, ledger: object, given: object, fix: str = "") -> None:
        if ledger != given:
            fix = fix or "Resume a run with what it began with, or begin another."
            raise LedgerDisagreementError(path=self.path, field=field, ledger=ledger, given=given, fix=fix)

    def _shown(self, amounts: Amounts) -> str:
        from dpkit.release.ledger.balance_in_epsilon import in_words

        try:
            return in_words(self.pricer.gauge.spent(amounts), self)
        except InvalidValueError:
            return "more than any finite loss"


def _reopen(kind: type[Ledger], path: LedgerPlace, options: dict[str, Any]) -> Ledger:
    return kind.open(path, **options)


def _run_of(run: str, account: RunAccount) -> Run:
    return Run(id=run, plan=account.plan_hash, analysis=account.analysis, is_open=account.is_open, resumed=True)
