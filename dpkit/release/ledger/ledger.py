"""The ledger: one file for a dataset's budget, shared by many runs and processes. It charges first; then something may go out.

The protocol of a run: `reserve` the plan, then for each release `charge`, draw the value, record it by `released`, and only
then let it out; `close_run` at the end. Every step is one durable transaction. See docs/ledger.md for what this promises.
"""

from __future__ import annotations

import getpass
import re
import sqlite3
import uuid
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError, LedgerCorruptError, SerialisationError
from dpkit.hooks.manager import default_registry
from dpkit.privacy.checks import finite_number, nonempty_text, one_of
from dpkit.privacy.events import Event, as_event
from dpkit.privacy.gauges import plus
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.ledger.chain import START, Head, canonical, chained
from dpkit.release.ledger.connection import Durability, LedgerConnection
from dpkit.release.ledger.entries import Charge, Entry, Run, value_text
from dpkit.release.ledger.file import real_path
from dpkit.release.ledger.log import Log, now
from dpkit.release.ledger.protocol import LedgerProtocol, Pricer
from dpkit.release.ledger.runs import Totals
from dpkit.release.ledger.tables import came_without_log, create_file, prepare
from dpkit.release.ledger.terms import ExpectedTerms, LedgerTerms, Unit

_REASON = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Where a ledger stands. `limit` is how its filter keeps the `budget`; `held` is `spent` and what open runs reserved."""

    budget: Loss
    limit: Loss
    spent: Loss
    held: Loss
    remaining: Loss


class Ledger:
    """A dataset's budget. Made by `Ledger.create`, used through `Ledger.open`; safe to share among threads and across forks."""

    def __init__(self, connection: LedgerConnection, *, registry: Registry, who: str | None) -> None:
        self._connection = connection
        self._log = Log(connection.path, who or _user())
        prepare(connection)
        with connection.reading() as raw:
            first = self._log.entry(raw, 0)
        if first.hash != chained(START, first.text):
            raise LedgerCorruptError(path=connection.path, reason="its terms are not what was written when it was created.")
        try:
            self.id, self.terms = _terms(first, registry)
        except SerialisationError as error:
            raise LedgerCorruptError(path=connection.path, reason=f"its first entry is not its terms. {error}") from None
        self.pricer = Pricer(self.terms, registry)
        self._protocol = LedgerProtocol(log=self._log, pricer=self.pricer, path=connection.path)

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        *,
        budget: Loss,
        dataset: str,
        accountant: str | AnyAccountant = "zcdp",
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        unit: Unit = "row",
        schema: str = "",
        slack: float = 0.0,
        order: float | None = None,
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
        )
        zero = terms.gauge(known).zero
        body = {
            "seq": 0,
            "kind": "create",
            "who": who or _user(),
            "when": now(),
            "ledger": uuid.uuid4().hex,
            "terms": terms.as_json(),
            "totals": Totals(spent=zero, held=zero).as_json(),
        }
        create_file(Path(path).absolute(), canonical(body))
        return cls.open(path, who=who, registry=known)

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
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
        connection = LedgerConnection(real_path(path), durability=durability, timeout=timeout, read_only=read_only)
        try:
            ledger = cls(connection, registry=known, who=who)
            if expect is not None:
                expect.check(ledger.terms, path=path, registry=known)
        except BaseException:
            connection.close()
            raise
        return ledger

    @property
    def path(self) -> Path:
        """The file."""
        return self._connection.path

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """The same ledger: there is one budget, however often an object that holds it is copied."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """By its path: elsewhere it is opened again, with what is installed there."""
        link = self._connection
        options = {"durability": link.durability, "timeout": link.timeout, "read_only": link.read_only, "who": self._log.who}
        return _opened, (type(self), link.path, options)

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
        with self._connection.writing() as raw:
            return self._protocol.reserve(raw, run, priced, analysis, data)

    def charge(self, run: str, event: Event | Iterable[Event], *, key: str) -> Charge:
        """Pay for one release of a run, durably; `key` names the release within the run, the same again when it is resumed.

        What was released under this key before comes back as it was, unpaid. What was charged and never released is given up
        and paid again: nobody can know how far it had come. `PlanExceededError` or `BudgetExceededError`, and no charge, when
        it does not fit.
        """
        nonempty_text(key, field="key", where="charge")
        priced = self.pricer.price(as_event(event))
        with self._connection.writing() as raw:
            return self._protocol.charge(raw, run, key, priced)

    def released(self, charge: Charge, value: object) -> object:
        """Record what a charge paid for; only after this has returned may the value go out. Returns the value.

        `RunStateError` when the charge was already used or given up: then the value must not go out.
        """
        text = value_text(value)
        with self._connection.writing() as raw:
            self._protocol.released(raw, charge, text)
        return value

    def failed(self, charge: Charge, reason: str = "failed") -> None:
        """Record that a charge came to nothing. It stays spent. `reason` is a short code, never a message: messages leak."""
        if not isinstance(reason, str) or not _REASON.fullmatch(reason):
            allowed = "a code of letters, digits, dots, dashes and underscores"
            raise InvalidValueError(field="reason", found=type(reason).__name__, allowed=allowed, where="failed")
        with self._connection.writing() as raw:
            self._protocol.failed(raw, charge, reason)

    def close_run(self, run: str) -> Run:
        """End a run: what it reserved and did not charge is free for others; what was charged stays spent.

        Closing twice is fine. A filter theorem composes the charges that were made: the unused part of a plan was never spent.
        """
        with self._connection.writing() as raw:
            return self._protocol.close(raw, run)

    def balance(self) -> Balance:
        """Budget, limit, spent, held and remaining, at one moment."""
        with self._connection.reading() as raw:
            totals = self._log.tail(raw).totals
        gauge, filter_ = self.pricer.gauge, self.pricer.filter
        return Balance(
            budget=self.terms.budget,
            limit=filter_.theorem.limit,
            spent=gauge.spent(totals.spent),
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
        with self._connection.reading() as raw:
            held = self._log.tail(raw).totals.held
        return self.pricer.gauge.fits(plus(held, amounts))

    def run(self, run: str) -> Run:
        """What is known of a run; `RunStateError` when nothing is."""
        with self._connection.reading() as raw:
            return self._protocol.run(raw, run)

    def entries(self, run: str | None = None) -> tuple[Entry, ...]:
        """The log, or one run's part of it, in order."""
        with self._connection.reading() as raw:
            return tuple(self._log.entries(raw, run))

    def head(self) -> Head:
        """Where the log ends now. Keep it elsewhere: `verify` can then tell whether the file was rolled back."""
        with self._connection.reading() as raw:
            tail = self._log.tail(raw)
        return Head(ledger=self.id, seq=tail.seq, hash=tail.hash)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """One moment of the file, for whoever verifies or exports it."""
        return self._connection.reading()

    def came_without_log(self, raw: sqlite3.Connection) -> int | None:
        """The entry up to which an earlier version kept it, if its write-ahead log was not beside it when that ended."""
        return came_without_log(raw, self._connection)

    def close(self) -> None:
        """Let go of the file. Runs stay as they are; any further call opens it again."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


def _opened(kind: type[Ledger], path: Path, options: dict[str, Any]) -> Ledger:
    return kind.open(path, **options)


def _terms(first: Entry, registry: Registry) -> tuple[str, LedgerTerms]:
    ledger, terms = first.body.get("ledger"), first.body.get("terms")
    if first.kind != "create" or not isinstance(ledger, str) or not isinstance(terms, dict):
        raise SerialisationError(reason="it is of another kind.")
    return ledger, LedgerTerms.from_json(terms, registry=registry)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
