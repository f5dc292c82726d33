"""The tables of a ledger in SQLite, their versions, and what is read and written in them inside one transaction.

The log is the table `entries`: a body and its hash, never updated and never deleted. The columns `run` and `key` repeat what
the body says, for look-ups; a migration may rebuild them, but never touches a body or a hash, so heads exported long ago still
verify.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from dpkit.contracts.ledger_store import Row
from dpkit.errors import LedgerCorruptError
from dpkit.release.ledger.entries import START, chained
from dpkit.values import dataclass

APPLICATION = 0x64706B4C
"""`dpkL`, in the header of the file: what tells a ledger from other SQLite files."""

VERSION = 2
"""The version of the file. 0 had neither the look-up columns nor the guards against change; 1 was kept in a write-ahead log. A
dpkit that knows 1 alone refuses 2, so it cannot put it back there."""

READABLE = 1
"""The oldest version whose tables can be read without migrating it."""

TABLES = """
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    value TEXT,
    hash TEXT NOT NULL
);
CREATE INDEX entries_by_run ON entries (run, seq);
CREATE INDEX entries_by_key ON entries (run, key, seq);
CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
"""
HEAD = "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);"
BROUGHT_OVER = "CREATE TABLE brought_over (seq INTEGER NOT NULL, with_log INTEGER NOT NULL);"
"""Where the log ended when a ledger of version 1 was brought over, and whether a write-ahead log lay beside it then."""

_OF_SQLITE = re.compile("sqlite_stat[0-9]")
"""What `ANALYZE` leaves: hints for the planner of queries, which change no answer."""


@dataclass(frozen=True, slots=True)
class SqliteTransaction:
    """What the store does inside one transaction."""

    raw: sqlite3.Connection
    path: Path
    found_log: bool = False
    """Whether a write-ahead log with something in it lay beside the file when it was opened."""

    def head(self) -> tuple[int, str] | None:
        """The number and the hash of the last entry, as they are kept apart from it."""
        found = self.raw.execute("SELECT seq, hash FROM head").fetchone()
        return None if found is None else (found[0], found[1])

    def rows(
        self, *, run: str | None = None, key: str | None = None, since: int | None = None, last: bool = False, most: int = -1
    ) -> Iterator[Row]:
        """Entries in the order of the log, or, with `last`, from its end; of one run, or of one key of it."""
        asked = {"run = ?": run, "key = ?": key, "seq >= ?": since}
        given = {condition: value for condition, value in asked.items() if value is not None}
        where = f"WHERE {' AND '.join(given)}" if given else ""
        statement = (
            f"SELECT seq, body, value, hash, run, key FROM entries {where} ORDER BY seq {'DESC' if last else ''} LIMIT ?"
        )
        found = self.raw.execute(statement, (*given.values(), most))
        return found if most < 0 else iter(found.fetchall())  # where a few are asked for, no statement stays open

    def append(self, *, seq: int, run: str, key: str, body: str, value: str | None, hash: str) -> None:
        """Write one entry and move the head; the transaction holds the write lock."""
        self.raw.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (seq, run, key, body, value, hash))
        self.raw.execute("UPDATE head SET seq = ?, hash = ?", (seq, hash))

    def damages(self) -> list[str]:
        """The faults that SQLite finds in the file; its own words may quote what is kept."""
        found = self.raw.execute("PRAGMA integrity_check")
        return ["SQLite finds the file damaged." for (finding,) in found if finding != "ok"]

    def check_tables(self) -> None:
        """Refuse a file whose tables, indices and triggers are not exactly those that dpkit made.

        A trigger, a view or another kind of table decides what a write does, so a charge could be granted and not be kept.
        """
        version = self.raw.execute("PRAGMA user_version").fetchone()[0]
        listed = self.raw.execute("SELECT name, sql FROM sqlite_schema").fetchall()
        if odd := _odd_tables(version, tuple(listed)):
            raise LedgerCorruptError(
                path=self.path,
                reason=f"its tables, indices and triggers are not those that dpkit made ({', '.join(odd)}).",
                fix="Nothing was charged. What stands there may change or drop what is written. "
                "Go back to a copy that verifies.",
            )

    def cannot_find(self) -> str:
        """What nobody can tell of a ledger that an earlier version kept, if no write-ahead log lay beside it in the end."""
        if self.raw.execute("PRAGMA user_version").fetchone()[0] < VERSION:
            found = self.raw.execute("SELECT seq FROM head WHERE NOT ?", (self.found_log,)).fetchone()
        else:
            found = self.raw.execute("SELECT seq FROM brought_over WHERE NOT with_log").fetchone()
        if found is None:
            return ""
        return (
            f" Up to entry {found[0]} an earlier dpkit kept this ledger with a write-ahead log beside it, FILE-wal, and there "
            "was none when that ended: as it should be after a clean close. If it was moved or copied without it after a "
            "process was killed, charges are missing, and only what was kept elsewhere can tell."
        )


@lru_cache(maxsize=16)
def _odd_tables(version: int, listed: tuple[tuple[object, object], ...]) -> tuple[str, ...]:
    """The names of what is not as dpkit made it. Every step lists what stands there, and it is nearly always the same."""
    expected = _MADE if version >= VERSION else _MADE - _definitions(BROUGHT_OVER)
    found = Counter((str(name), " ".join(str(sql).split())) for name, sql in listed if not _OF_SQLITE.fullmatch(str(name)))
    return tuple(sorted({str(name) for name, _ in (found - expected) + (expected - found)}))


def _from_0(raw: sqlite3.Connection, path: Path, with_log: bool) -> None:
    """Add the look-up columns and the guards. The chain is checked first: what is broken is not carried over."""
    previous, last = START, -1
    raw.execute("ALTER TABLE entries RENAME TO entries_0")
    for statement in _statements(TABLES):
        raw.execute(statement)
    for seq, body, value, hash in raw.execute("SELECT seq, body, value, hash FROM entries_0 ORDER BY seq").fetchall():
        if seq != last + 1 or hash != chained(previous, body):
            raise LedgerCorruptError(
                path=path,
                reason=f"it cannot be migrated: the chain is broken at entry {seq}.",
                fix="Nothing was changed. Go back to a copy that verifies.",
            )
        said = json.loads(body)
        filed = said.get("run", ""), said.get("key", "")
        raw.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (seq, *filed, body, value, hash))
        previous, last = hash, seq
    raw.execute("DROP TABLE entries_0")


def _from_1(raw: sqlite3.Connection, path: Path, with_log: bool) -> None:
    """Remember how it was found: one that comes without its write-ahead log was closed cleanly, or has lost charges."""
    raw.execute(BROUGHT_OVER)
    raw.execute("INSERT INTO brought_over SELECT seq, ? FROM head", (with_log,))


MIGRATIONS: dict[int, Callable[[sqlite3.Connection, Path, bool], None]] = {0: _from_0, 1: _from_1}
"""From each older version to the next one; they are told whether a write-ahead log lay beside the file."""


def _statements(script: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would commit the transaction that it stands in."""
    found, current = [], ""
    for line in script.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found


def _definitions(script: str) -> Counter[tuple[str, str]]:
    """The things that a script makes, each by its name and its text, as SQLite lists them."""
    return Counter((text.split()[2], " ".join(text.split()).removesuffix(";")) for text in _statements(script))


_MADE = _definitions(TABLES) + _definitions(HEAD) + _definitions(BROUGHT_OVER)
