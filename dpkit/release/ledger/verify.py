"""Verifying a ledger: the chain is recomputed, every event priced again, and the whole protocol replayed from the log
alone. And its export, by which others can do so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import field, replace
from fractions import Fraction
from os import PathLike

from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError, LedgerCorruptError, SerialisationError
from dpkit.hooks.manager import default_registry
from dpkit.pricing.serialise import parse
from dpkit.privacy.events import Event
from dpkit.privacy.filter_amounts import Amounts, plus, within
from dpkit.release.ledger.entries import (
    APPROVAL,
    CLOSING,
    START,
    Entry,
    Head,
    RunAccount,
    Totals,
    canonical,
    chained,
    digest,
    read_amounts,
    read_entry,
)
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.ledger_address import may_only_read
from dpkit.values import dataclass

CANNOT_FIND = (
    "A rollback of the whole file to an earlier state, a tail that was cut off with the head moved back, or a log rewritten "
    "with all its hashes cannot be found from the file alone: give the digest that an earlier run printed (--since), or a head "
    "that was exported earlier (--head)."
)
_DIGEST = re.compile("[0-9a-f]{64}")
_ROUNDING = 1 + Fraction(1, 10**9)
"""Two machines may round a price differently, each to the safe side; what is changed by hand breaks the chain anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerProblem:
    """Something that is not as it was written; `seq` is the entry's number, None where it is the file's."""

    seq: int | None
    what: str

    def __str__(self) -> str:
        return self.what if self.seq is None else f"entry {self.seq}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was checked and found. `cannot_find` says what this verification could not have noticed; empty with an anchor.

    `since` is the entry whose digest was given.
    """

    entries: int
    head: Head
    problems: tuple[LedgerProblem, ...]
    cannot_find: str
    since: int | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify(
    ledger: Ledger, *, head: Head | None = None, since: str | None = None, registry: Registry | None = None
) -> Verification:
    """Recompute everything that the log states, at one moment.

    Two anchors, kept outside the file, find a log that was cut back or rewritten before where they were taken: `head` is one
    that was exported, `since` a digest that a run printed and its result keeps (`Result.digest`, `Ledger.head().hash`).
    """
    replay = _Replay(ledger=ledger, registry=default_registry() if registry is None else registry)
    with ledger.store.transaction(writes=False) as found:  # charges wait meanwhile: all is read first, and replayed afterwards
        damages, rows, end = found.damages(), list(found.rows()), found.head()
        cannot_find = CANNOT_FIND + found.cannot_find()
        try:
            found.check_tables()
            tables = ""
        except LedgerCorruptError as error:
            tables = error.reason
    for damage in damages:
        replay.report(None, damage)
    if tables:
        replay.report(None, tables)
    for row in rows:
        replay.take(*row)
    replay.finish(end)
    if head is not None:
        replay.hold_against(head)
    place = None if since is None else replay.place_of(since)
    return Verification(
        entries=replay.count,
        head=Head(ledger=ledger.id, seq=replay.expected - 1, hash=replay.previous),
        problems=tuple(replay.problems),
        cannot_find="" if head is not None or since is not None else cannot_find,
        since=place,
    )


@dataclass(slots=True, kw_only=True)
class _Replay:
    """Walks the log once and remembers what it must be true of."""

    ledger: Ledger
    registry: Registry
    count: int = 0
    expected: int = 0
    previous: str = START
    totals: Totals | None = None
    closed_by: str = ""
    runs: dict[str, RunAccount] = field(default_factory=dict)
    latest: dict[tuple[str, str], Entry] = field(default_factory=dict)
    prices: dict[int, Amounts] = field(default_factory=dict)
    hashes: list[str] = field(default_factory=list)
    problems: list[LedgerProblem] = field(default_factory=list)

    def report(self, seq: int | None, what: str) -> None:
        self.problems.append(LedgerProblem(seq=seq, what=what))

    def take(self, seq: int, text: str, value: str | None, hash: str, run: str, key: str) -> None:
        """One row, in order."""
        if seq != self.expected:
            self.report(seq, f"entry {self.expected} should stand here: something was removed.")
        if chained(self.previous, text) != hash:
            self.report(seq, "its hash does not follow from it and from the entry before: one was changed, removed or moved.")
        self.count, self.expected, self.previous = self.count + 1, seq + 1, hash
        self.hashes.append(hash)
        try:
            entry = read_entry(seq, text, value, hash)
            if (entry.body.get("seq"), entry.run, entry.key) != (seq, run, key):
                self.report(seq, "its number, run or key is not what it says: it was moved.")
            if (None if value is None else digest(value)) != entry.body.get("value_sha256"):
                self.report(seq, "its released value is not the one that was recorded.")
            self.replay(entry)
        except (DpkitError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            reason = str(error) if isinstance(error, DpkitError) else "a field is missing, or of another kind."
            self.report(seq, f"it cannot be replayed: {reason}")

    def replay(self, entry: Entry) -> None:
        """What the entry states, worked out again from what came before."""
        stated = Totals.from_json(entry.body.get("totals"))
        if entry.kind == "create":
            zero = self.ledger.pricer.gauge.zero
            if entry.seq != 0 or stated != Totals(spent=zero, held=zero):
                self.report(entry.seq, "a ledger begins once, with nothing spent.")
            self.totals = stated
            return
        if entry.kind in ("move", "gone", "ready", "arrive", "write-off"):
            self.replay_of_no_run(entry, stated)
            return
        if self.closed_by:
            self.report(entry.seq, "it follows the entry by which the ledger was closed for good.")
        said, before = RunAccount.from_json(entry.body), self.runs.get(entry.run)
        account = self.account_after(entry, said, before)
        totals = (self.totals or stated).after(before, account)
        if before is not None and (before.plan_hash, before.analysis) != (said.plan_hash, said.analysis):
            self.report(entry.seq, "its run's plan or analysis changed.")
            account = replace(account, plan_hash=said.plan_hash, analysis=said.analysis)
        if said != account:
            self.report(entry.seq, "the account of its run is not the sum of what came before.")
        if stated != totals:
            self.report(entry.seq, "the totals are not the sum of what came before.")
        if not self.ledger.pricer.gauge.fits(totals.held) and not within(totals.held, (self.totals or stated).held):
            self.report(entry.seq, "the budget is exceeded.")
        self.totals = totals
        self.runs[entry.run] = account
        if entry.key:
            self.latest[entry.run, entry.key] = entry

    def replay_of_no_run(self, entry: Entry, stated: Totals) -> None:
        """What belongs to the ledger itself: that it moved, where it arrived, and what was written off."""
        totals = self.totals or stated
        after = {"gone": ("move",), "ready": ("move",), "arrive": ("ready",)}.get(entry.kind, ("",))
        if self.closed_by not in after:
            self.report(entry.seq, "a ledger that was closed for good goes on, or one goes on that was not closed.")
        self.closed_by = entry.kind if entry.kind in CLOSING else ""
        if entry.kind == "write-off":
            price = self.check_price(entry, read_amounts(entry.body["price"]))
            totals = Totals(spent=plus(totals.spent, price), held=plus(totals.held, price))
        if stated != totals:
            self.report(entry.seq, "the totals are not the sum of what came before.")
        self.totals = totals  # what is written off was spent, also where it is more than the budget

    def account_after(self, entry: Entry, said: RunAccount, before: RunAccount | None) -> RunAccount:
        if entry.kind == "reserve":
            if before is not None:
                raise SerialisationError(reason="its run had begun.")
            zero = self.ledger.pricer.gauge.zero
            written = entry.body["event"]
            plan = None if written is None else self.check_price(entry, None)
            return replace(said, plan=plan, live=zero, lost=zero, is_open=True)
        if before is None:
            raise SerialisationError(reason="its run had not begun.")
        if entry.kind == "approve":
            return before
        if entry.kind == "charge":
            if self.ledger.terms.approval and self.kind_of(entry.run, APPROVAL) != "approve":
                raise SerialisationError(reason="nobody had approved its run.")
            price = self.check_price(entry, read_amounts(entry.body["price"]))
            latest = self.latest.get((entry.run, entry.key))
            if not before.is_open or not before.covers(price) or (latest is not None and latest.kind != "fail"):
                raise SerialisationError(reason="its run had no room for this charge.")
            self.prices[entry.seq] = price
            return before.charged(price)
        if entry.kind == "close":
            return replace(before, is_open=False)
        latest = self.latest.get((entry.run, entry.key))
        if latest is None or latest.kind != "charge" or latest.seq != entry.body["charge"]:
            raise SerialisationError(reason="there was no pending charge for it.")
        return before if entry.kind == "release" else before.failed(self.prices[latest.seq])

    def kind_of(self, run: str, key: str) -> str | None:
        """The kind of the latest entry under a key."""
        latest = self.latest.get((run, key))
        return None if latest is None else latest.kind

    def check_price(self, entry: Entry, stated: Amounts | None) -> Amounts:
        """The stated price, after a check that the event costs no more than that today."""
        event = parse(json.dumps(entry.body["event"]), registry=self.registry)
        if not isinstance(event, Event):
            raise SerialisationError(reason="what it prices is no event.")
        priced = self.ledger.pricer.price(event)
        if stated is None:
            if priced.fingerprint != entry.body["plan_hash"]:
                self.report(entry.seq, "the plan is not the one of its fingerprint.")
            stated = RunAccount.from_json(entry.body).plan or priced.amounts
        if not within(priced.amounts, tuple(amount * _ROUNDING for amount in stated)):
            self.report(entry.seq, "its event costs more than was charged for it.")
        return stated

    def finish(self, head: tuple[int, str] | None) -> None:
        """The log ends where its head says."""
        if head is None or tuple(head) != (self.expected - 1, self.previous):
            self.report(None, "the log does not end where its head says: entries were removed from its end, or added.")

    def hold_against(self, head: Head) -> None:
        """The log still contains what it contained when the head was exported."""
        if head.ledger != self.ledger.id:
            self.report(None, "the head belongs to another ledger.")
        elif head.seq >= len(self.hashes):
            self.report(
                None, f"the head was exported at entry {head.seq}, and the log ends before it: the file was rolled back."
            )
        elif self.hashes[head.seq] != head.hash:
            self.report(head.seq, "it is not the entry that the head was exported at: the log was rewritten.")

    def place_of(self, since: str) -> int | None:
        """The entry that has this digest; a problem where none has."""
        given = since.strip().lower()
        if not _DIGEST.fullmatch(given):
            self.report(
                None, "what was given is no digest: 64 hexadecimal digits, as a run prints them and its result keeps them."
            )
        elif given not in self.hashes:
            self.report(
                None,
                f"no entry has the digest {given[:12]}...: the log was cut back or rewritten since, or the digest is of "
                "another ledger.",
            )
        else:
            return self.hashes.index(given)
        return None


def verify_file(
    path: str | PathLike[str], *, head: Head | None = None, since: str | None = None, registry: Registry | None = None
) -> Verification:
    """`verify`, for a file that may be too damaged to open: then that is the problem found."""
    try:
        with Ledger.open(path, registry=registry, read_only=may_only_read(path)) as ledger:
            return verify(ledger, head=head, since=since, registry=registry)
    except LedgerCorruptError as error:
        nowhere = Head(ledger="", seq=-1, hash=START)
        return Verification(
            entries=0, head=nowhere, problems=(LedgerProblem(seq=None, what=str(error)),), cannot_find=CANNOT_FIND
        )


def export_lines(ledger: Ledger) -> Iterator[str]:
    """One line an entry: its body as it was hashed, its hash, and the released value where there is one; then the head.

    Who has these lines can recompute the chain without dpkit: hash = SHA-256(previous hash, newline, body).
    """
    last = Head(ledger=ledger.id, seq=-1, hash="")
    for entry in ledger.entries():
        value = None if entry.value is None else json.loads(entry.value)
        yield canonical({"body": entry.text, "hash": entry.hash, "value": value})
        last = Head(ledger=ledger.id, seq=entry.seq, hash=entry.hash)
    yield last.as_json()
