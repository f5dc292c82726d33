"""Reading and appending the log inside a transaction that somebody else holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dpkit.errors import LedgerCorruptError, SerialisationError
from dpkit.release.ledger import chain as ledger_chain
from dpkit.release.ledger.chain import START, canonical
from dpkit.release.ledger.entries import Entry, Kind, read_entry
from dpkit.release.ledger.runs import RunAmounts, Totals
from dpkit.release.ledger.tables import append, check_tables

_REMEMBERED = 256
_ROW = "SELECT seq, body, value, hash FROM entries"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTail:
    """The end of the log, and the totals that it states."""

    seq: int
    hash: str
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The latest that the log says of a run: its plan's and its analysis's fingerprints, and its account."""

    plan: str
    analysis: str
    account: RunAmounts


class Log:
    """The log of one ledger file, as its author writes it."""

    def __init__(self, path: Path, who: str) -> None:
        self._path = path
        self.who = who
        # what this process wrote last of a run; used only while the file still ends that run with the same hash
        self._written: dict[str, tuple[str, RunRecord]] = {}

    def tail(self, raw: sqlite3.Connection) -> LogTail:
        """The last entry, checked against its predecessor's hash and against the head: a few look-ups, however long the log.

        Every step begins here, so it also finds tables that would not keep what is written.
        """
        check_tables(raw, self._path)
        rows = raw.execute("SELECT seq, body, hash FROM entries ORDER BY seq DESC LIMIT 2").fetchall()
        head = raw.execute("SELECT seq, hash FROM head").fetchone()
        if not rows or head is None or tuple(head) != (rows[0][0], rows[0][2]):
            raise self._broken("the log does not end where its head says")
        seq, body, hash = rows[0]
        if ledger_chain.chained(rows[1][2] if len(rows) > 1 else START, body) != hash:
            raise self._broken(f"entry {seq} is not what was hashed")
        try:
            totals = Totals.from_json(read_entry(seq, body, None, hash).body.get("totals"))
        except SerialisationError as error:
            raise self._broken(error.reason) from None
        return LogTail(seq=seq, hash=hash, totals=totals)

    def run(self, raw: sqlite3.Connection, run: str) -> RunRecord | None:
        """What the run's latest entry says of it; None for a run that the log does not know."""
        last = raw.execute("SELECT seq, hash FROM entries WHERE run = ? ORDER BY seq DESC LIMIT 1", (run,)).fetchone()
        if last is None:
            return None
        written = self._written.get(run)
        if written is not None and written[0] == last[1]:
            return written[1]
        row = raw.execute(f"{_ROW} WHERE seq = ?", (last[0],)).fetchone()
        try:
            return run_record(self._checked(raw, row, run))
        except SerialisationError as error:
            raise self._broken(error.reason) from None

    def latest(self, raw: sqlite3.Connection, run: str, key: str) -> Entry | None:
        """The latest entry of one release of a run: its charge, its value, or its failure."""
        row = raw.execute(f"{_ROW} WHERE run = ? AND key = ? ORDER BY seq DESC LIMIT 1", (run, key)).fetchone()
        return None if row is None else self._checked(raw, row, run, key)

    def entry(self, raw: sqlite3.Connection, seq: int) -> Entry:
        """One entry by its number."""
        row = raw.execute(f"{_ROW} WHERE seq = ?", (seq,)).fetchone()
        if row is None:
            raise self._broken(f"entry {seq} is missing")
        return self._checked(raw, row)

    def first(self, raw: sqlite3.Connection, run: str) -> Entry:
        """A run's first entry, by which it was reserved."""
        row = raw.execute(f"{_ROW} WHERE run = ? ORDER BY seq LIMIT 1", (run,)).fetchone()
        if row is None:
            raise self._broken(f"the run {run!r} has no entry")
        return self._checked(raw, row, run)

    def check_since(self, raw: sqlite3.Connection, run: str) -> None:
        """Recompute the chain from a run's first entry to the end of the log, before anything in it is used again."""
        first = raw.execute("SELECT MIN(seq) FROM entries WHERE run = ?", (run,)).fetchone()[0]
        previous, expected = self._hash_before(raw, first), first
        rows = raw.execute("SELECT seq, body, value, hash, run, key FROM entries WHERE seq >= ? ORDER BY seq", (first,))
        for seq, body, value, hash, named, key in rows:
            if seq != expected:
                raise self._broken(f"entry {expected} is missing")
            self._linked(previous, (seq, body, value, hash), named, key)
            previous, expected = hash, seq + 1

    def pending(self, raw: sqlite3.Connection, run: str) -> list[Entry]:
        """The charges of a run that were neither released nor given up."""
        rows = raw.execute(f"{_ROW} WHERE run = ? ORDER BY seq", (run,)).fetchall()
        latest = {entry.key: entry for entry in (self._checked(raw, row, run) for row in rows) if entry.key}
        return [entry for entry in latest.values() if entry.kind == "charge"]

    def entries(self, raw: sqlite3.Connection, run: str | None = None) -> Iterator[Entry]:
        """All entries in order, or those of one run."""
        where, arguments = ("", ()) if run is None else (" WHERE run = ?", (run,))
        for row in raw.execute(f"{_ROW}{where} ORDER BY seq", arguments):
            yield self._entry(row)

    def append(
        self,
        raw: sqlite3.Connection,
        tail: LogTail,
        kind: Kind,
        *,
        run: str,
        key: str,
        record: RunRecord,
        totals: Totals,
        more: dict[str, object],
        value: str | None = None,
    ) -> LogTail:
        """One more entry. It states the totals and the run's account after it, so that the chain covers them."""
        body = {
            "seq": tail.seq + 1,
            "kind": kind,
            "who": self.who,
            "when": now(),
            "run": run,
            "key": key,
            "plan_hash": record.plan,
            "analysis": record.analysis,
            "account": record.account.as_json(),
            "totals": totals.as_json(),
            **more,
        }
        text = canonical(body)
        hash = ledger_chain.chained(tail.hash, text)
        append(raw, seq=tail.seq + 1, run=run, key=key, body=text, value=value, hash=hash)
        if len(self._written) >= _REMEMBERED:
            self._written.clear()
        self._written[run] = (hash, record)
        return LogTail(seq=tail.seq + 1, hash=hash, totals=totals)

    def _checked(
        self, raw: sqlite3.Connection, row: tuple[int, str, str | None, str], run: str | None = None, key: str | None = None
    ) -> Entry:
        """An entry that is what was hashed, its released value included: what is decided or given out rests on it."""
        return self._linked(self._hash_before(raw, row[0]), row, run, key)

    def _hash_before(self, raw: sqlite3.Connection, seq: int) -> str:
        if seq == 0:
            return START
        row = raw.execute("SELECT hash FROM entries WHERE seq = ?", (seq - 1,)).fetchone()
        if row is None:
            raise self._broken(f"entry {seq - 1} is missing")
        return str(row[0])

    def _linked(
        self, previous: str, row: tuple[int, str, str | None, str], run: str | None = None, key: str | None = None
    ) -> Entry:
        seq, text, value, hash = row
        if ledger_chain.chained(previous, text) != hash:
            raise self._broken(f"entry {seq} is not what was hashed")
        entry = self._entry(row)
        if run not in (None, entry.run) or key not in (None, entry.key):
            raise self._broken(f"entry {seq} is filed under another run or key than it says")
        if (None if value is None else ledger_chain.digest(value)) != entry.body.get("value_sha256"):
            raise self._broken(f"the released value of entry {seq} is not the one that was recorded")
        return entry

    def _entry(self, row: tuple[int, str, str | None, str]) -> Entry:
        try:
            return read_entry(*row)
        except SerialisationError as error:
            raise self._broken(error.reason) from None

    def _broken(self, reason: str) -> LedgerCorruptError:
        return LedgerCorruptError(
            path=self._path,
            reason=f"{reason.rstrip('.')}.",
            fix="Nothing was charged. Run `dpkit ledger verify` to see what else was changed.",
        )


def run_record(entry: Entry) -> RunRecord:
    """What an entry says of its run; `SerialisationError` where it says it wrongly."""
    plan, analysis = entry.body.get("plan_hash"), entry.body.get("analysis")
    if not isinstance(plan, str) or not isinstance(analysis, str):
        raise SerialisationError(reason=f"entry {entry.seq} lacks the fingerprints of its run.")
    return RunRecord(plan=plan, analysis=analysis, account=RunAmounts.from_json(entry.body.get("account")))


def now() -> str:
    """The time in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
