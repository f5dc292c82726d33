"""The log of a ledger inside one transaction: what is read is checked against the chain, and what is appended continues it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

from dpkit._version import __version__
from dpkit.contracts.ledger_store import LedgerPlace, LedgerTransaction, Row
from dpkit.errors import LedgerCorruptError
from dpkit.hooks.entry_points import plugin_points
from dpkit.release.ledger.entries import START, Entry, Kind, RunAccount, Totals, canonical, chained, digest, read_entry


class Log:
    """Where the log ends now (`seq`, `hash` and the `totals` that are stated there), and what stands before.

    Every step begins here. The last entry is checked against its predecessor's hash and against the head, and the tables, which
    might not keep what is written: a few look-ups, however long the log.
    """

    def __init__(self, store: LedgerTransaction, *, path: LedgerPlace, who: str) -> None:
        self._store = store
        self._path = path
        self._who = who
        store.check_tables()
        rows, head = list(store.rows(last=True, most=2)), store.head()
        if not rows or head != (rows[0][0], rows[0][3]):
            raise broken(path, "the log does not end where its head says")
        seq, text, _, hash, *_ = rows[0]
        if chained(rows[1][3] if len(rows) > 1 else START, text) != hash:
            raise broken(path, f"entry {seq} is not what was hashed")
        self.seq, self.hash, self.end = seq, hash, read_entry(seq, text, None, hash)
        self.totals = Totals.from_json(self.end.body.get("totals"))

    def account(self, run: str) -> RunAccount | None:
        """What the run's latest entry says of it, before this step appends any; None for a run that the log does not know."""
        latest = self.end if self.end.run == run else self.latest(run)
        return None if latest is None else RunAccount.from_json(latest.body)

    def latest(self, run: str, key: str | None = None) -> Entry | None:
        """The latest entry of a run, or of one release of it: its charge, its value, or its failure."""
        row = next(iter(self._store.rows(run=run, key=key, last=True, most=1)), None)
        return None if row is None else self._checked(row)

    def entry(self, seq: int) -> Entry:
        """One entry by its number."""
        row = next(iter(self._store.rows(since=seq, most=1)), None)
        if row is None or row[0] != seq:
            raise broken(self._path, f"entry {seq} is missing")
        return self._checked(row)

    def check_since(self, run: str) -> Entry:
        """Recompute the chain from a run's first entry to the end of the log, before anything in it is used again.

        That first entry comes back, by which the run was reserved.
        """
        row = next(iter(self._store.rows(run=run, most=1)), None)
        if row is None:
            raise broken(self._path, f"the run {run!r} has no entry")
        first = self._checked(row)
        previous, expected = row[3], row[0] + 1
        for row in self._store.rows(since=expected):
            if row[0] != expected:
                raise broken(self._path, f"entry {expected} is missing")
            linked_entry(previous, row, self._path)
            previous, expected = row[3], expected + 1
        return first

    def pending(self, run: str) -> list[Entry]:
        """The charges of a run that were neither released nor given up."""
        found = [self._checked(row) for row in self._store.rows(run=run)]
        latest = {entry.key: entry for entry in found if entry.key}
        return [entry for entry in latest.values() if entry.kind == "charge"]

    def append(
        self,
        kind: Kind,
        *,
        run: str,
        key: str = "",
        account: RunAccount | None,
        totals: Totals,
        more: dict[str, object],
        value: str | None = None,
    ) -> None:
        """One more entry. It states the totals and the run's account after it, so that the chain covers them.

        `account` is None for what belongs to no run.
        """
        body = {
            "seq": self.seq + 1,
            "kind": kind,
            "who": self._who,
            "when": now(),
            "run": run,
            "key": key,
            **({} if account is None else account.as_json()),
            "totals": totals.as_json(),
            **more,
        }
        text = canonical(body)
        self.seq, self.hash, self.totals = self.seq + 1, chained(self.hash, text), totals
        self._store.append(seq=self.seq, run=run, key=key, body=text, value=value, hash=self.hash)

    def _checked(self, row: Row) -> Entry:
        """An entry that is what was hashed, its released value included: what is decided or given out rests on it."""
        before = None if row[0] == 0 else next(iter(self._store.rows(since=row[0] - 1, most=1)))
        if before is not None and before[0] != row[0] - 1:
            raise broken(self._path, f"entry {row[0] - 1} is missing")
        return linked_entry(START if before is None else before[3], row, self._path)


def linked_entry(previous: str, row: Row, path: LedgerPlace) -> Entry:
    """The entry of a row, once its hash follows from the one before, and it is filed and valued as it says."""
    seq, text, value, hash, run, key = row
    if chained(previous, text) != hash:
        raise broken(path, f"entry {seq} is not what was hashed")
    entry = read_entry(seq, text, value, hash)
    if (run, key) != (entry.run, entry.key):
        raise broken(path, f"entry {seq} is filed under another run or key than it says")
    if (None if value is None else digest(value)) != entry.body.get("value_sha256"):
        raise broken(path, f"the released value of entry {seq} is not the one that was recorded")
    return entry


def append_log(store: LedgerTransaction, log: Sequence[tuple[str, str | None]]) -> None:
    """The entries of a new ledger, chained from the start."""
    hash = START
    for seq, (body, value) in enumerate(log):
        entry = read_entry(seq, body, value, hash)
        hash = chained(hash, body)
        store.append(seq=seq, run=entry.run, key=entry.key, body=body, value=value, hash=hash)


def broken(path: LedgerPlace, reason: str) -> LedgerCorruptError:
    """The log is not what was written."""
    fix = "Nothing was charged. Run `dpkit ledger verify` to see what else was changed."
    return LedgerCorruptError(path=path, reason=f"{reason.rstrip('.')}.", fix=fix)


def now() -> str:
    """The time in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def surroundings() -> dict[str, object]:
    """Where an entry was written: the machine, and the versions of dpkit and its plugins."""
    return {"machine": platform.node(), "versions": dict(_versions())}


@cache
def _versions() -> dict[str, str]:
    found = [point.distribution for point in plugin_points()]
    return {"dpkit": __version__} | {one.name: one.version for one in found if one.name}
