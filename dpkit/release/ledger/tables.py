"""The tables of a ledger file, its versions, and how an older one becomes the newest.

The log is `entries`: a body and its hash, never updated and never deleted. The columns `run` and `key` repeat what the body
says, for look-ups; a migration may rebuild them, but never touches a body or a hash, so heads exported long ago still verify.
"""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpkit.errors import LedgerBusyError, LedgerCorruptError, LedgerExistsError, LedgerStorageError, NotALedgerError
from dpkit.release.ledger.chain import START, chained
from dpkit.release.ledger.connection import LedgerConnection, ledger_error
from dpkit.release.ledger.file import companion, draft_of, leftovers

APPLICATION = 0x64706B4C
"""`dpkL`, in the header of the file: what tells a ledger from other SQLite files."""

VERSION = 2
"""The version of the file. 0 had neither the look-up columns nor the guards against change; 1 was kept in a write-ahead log. A
dpkit that knows 1 alone refuses 2, so it cannot put it back there."""

READABLE = 1
"""The oldest version whose tables can be read without migrating it."""

_TABLES = """
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
_HEAD = "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);"
_BROUGHT_OVER = "CREATE TABLE brought_over (seq INTEGER NOT NULL, with_log INTEGER NOT NULL);"
"""Where the log ended when a ledger of version 1 was brought over, and whether a write-ahead log lay beside it then."""


_OF_SQLITE = re.compile("sqlite_stat[0-9]")
"""What `ANALYZE` leaves: hints for the planner of queries, which change no answer."""


def check_tables(raw: sqlite3.Connection, path: Path) -> None:
    """Refuse a file whose tables, indices and triggers are not exactly those that dpkit made.

    A trigger, a view or another kind of table decides what a write does, so a charge could be granted and not be kept.
    """
    expected = _MADE if _pragma(raw, "user_version") >= VERSION else _MADE - _definitions(_BROUGHT_OVER)
    listed = raw.execute("SELECT name, sql FROM sqlite_schema").fetchall()
    found = Counter((name, _spaced(sql)) for name, sql in listed if not _OF_SQLITE.fullmatch(str(name)))
    odd = sorted({str(name) for name, _ in (found - expected) + (expected - found)})
    if odd:
        raise LedgerCorruptError(
            path=path,
            reason=f"its tables, indices and triggers are not those that dpkit made ({', '.join(odd)}).",
            fix="Nothing was charged. What stands there may change or drop what is written. Go back to a copy that verifies.",
        )


def append(connection: sqlite3.Connection, *, seq: int, run: str, key: str, body: str, value: str | None, hash: str) -> None:
    """Write one entry and move the head; the caller holds the write lock."""
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (seq, run, key, body, value, hash))
    connection.execute("UPDATE head SET seq = ?, hash = ?", (seq, hash))


def create_file(path: Path, first_body: str) -> None:
    """A new ledger with its first entry. It appears under its name whole or not at all, and replaces nothing."""
    if path.exists():
        raise _exists(path)
    if left := leftovers(path):
        raise LedgerExistsError(
            path=path,
            reason=f"{' and '.join(left)} of an earlier ledger of this name is left here, and would be applied to the new one.",
            fix="It may hold charges of that ledger: put it beside that file, under its name. Or choose another name.",
        )
    draft = draft_of(path, uuid.uuid4().hex)
    try:
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.executescript(f"BEGIN IMMEDIATE;{_TABLES}{_HEAD}{_BROUGHT_OVER}COMMIT;")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO head VALUES (1, -1, '')")
            append(connection, seq=0, run="", key="", body=first_body, value=None, hash=chained(START, first_body))
            connection.execute("COMMIT")
        finally:
            connection.close()
        os.link(draft, path)
        _sync_folder(path.parent)
    except FileExistsError:
        raise _exists(path) from None
    except sqlite3.Error as error:
        raise ledger_error(error, path) from error
    except OSError as error:
        raise LedgerStorageError(path=path, reason=f"it cannot be created ({error.strerror}).") from error
    finally:
        for leftover in (draft, companion(draft, "-journal")):
            with suppress(OSError):
                leftover.unlink()


def prepare(connection: LedgerConnection) -> None:
    """Check that the file is a ledger that this dpkit knows, and bring an older one up to date."""
    with connection.translated():
        raw = connection.current()
        application, version = _pragma(raw, "application_id"), _pragma(raw, "user_version")
        if application != APPLICATION:
            raise NotALedgerError(path=connection.path, reason="it is not a ledger of dpkit.", fix="Check the path.")
        if not 0 <= version <= VERSION:
            raise NotALedgerError(
                path=connection.path,
                reason=f"it is of version {version}, and this dpkit reads versions up to {VERSION}.",
                fix="Install the dpkit that wrote it, or a newer one.",
            )
    if version >= READABLE:
        with connection.reading() as raw:
            check_tables(raw, connection.path)
    if connection.read_only:
        if version < READABLE:
            raise NotALedgerError(
                path=connection.path,
                reason="it is of an older version, and was opened for reading only.",
                fix="Open it once for writing, which migrates it.",
            )
        return
    _leave_write_ahead(connection)
    if version < VERSION:
        _migrate(connection)


def _leave_write_ahead(connection: LedgerConnection) -> None:
    """Bring what is in a write-ahead log into the file, and keep it there from now on. Nobody else may have the file open."""
    deadline = time.monotonic() + connection.timeout
    while not _left_write_ahead(connection):
        connection.close()  # two that both hold the file would wait for each other
        if time.monotonic() >= deadline:
            raise LedgerBusyError(
                path=connection.path,
                reason="another process holds it in write-ahead mode, as earlier versions of dpkit did.",
                fix="Nothing was charged. Wait for that process to finish, then try again.",
            )
        time.sleep(random.uniform(0.001, 0.05))


def _left_write_ahead(connection: LedgerConnection) -> bool:
    with connection.translated():
        raw = connection.current()
        if raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            return True
        try:
            return bool(raw.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                return False
            raise


def _migrate(connection: LedgerConnection) -> None:
    with connection.writing() as raw:
        # another process may have migrated it while this one waited
        for version in range(_pragma(raw, "user_version"), VERSION):
            MIGRATIONS[version](raw, connection)
            raw.execute(f"PRAGMA user_version = {version + 1}")


def _from_0(raw: sqlite3.Connection, connection: LedgerConnection) -> None:
    """Add the look-up columns and the guards. The chain is checked first: what is broken is not carried over."""
    previous, last = START, -1
    raw.execute("ALTER TABLE entries RENAME TO entries_0")
    for statement in _statements(_TABLES):
        raw.execute(statement)
    for seq, body, value, hash in raw.execute("SELECT seq, body, value, hash FROM entries_0 ORDER BY seq").fetchall():
        if seq != last + 1 or hash != chained(previous, body):
            raise LedgerCorruptError(
                path=connection.path,
                reason=f"it cannot be migrated: the chain is broken at entry {seq}.",
                fix="Nothing was changed. Go back to a copy that verifies.",
            )
        said = json.loads(body)
        raw.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (seq, said.get("run", ""), said.get("key", ""), body, value, hash)
        )
        previous, last = hash, seq
    raw.execute("DROP TABLE entries_0")


def _from_1(raw: sqlite3.Connection, connection: LedgerConnection) -> None:
    """Remember how it was found: one that comes without its write-ahead log was closed cleanly, or has lost charges."""
    raw.execute(_BROUGHT_OVER)
    raw.execute("INSERT INTO brought_over SELECT seq, ? FROM head", (connection.found_log,))


def came_without_log(raw: sqlite3.Connection, connection: LedgerConnection) -> int | None:
    """The entry up to which this ledger was of version 1, if no write-ahead log lay beside it in the end; None otherwise."""
    if _pragma(raw, "user_version") < VERSION:
        found = raw.execute("SELECT seq FROM head WHERE NOT ?", (connection.found_log,)).fetchone()
    else:
        found = raw.execute("SELECT seq FROM brought_over WHERE NOT with_log").fetchone()
    return None if found is None else int(found[0])


MIGRATIONS: dict[int, Callable[[sqlite3.Connection, LedgerConnection], None]] = {0: _from_0, 1: _from_1}
"""From each older version to the next one."""


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
    return Counter((text.split()[2], _spaced(text).removesuffix(";")) for text in _statements(script))


def _spaced(sql: object) -> str:
    return " ".join(str(sql).split())


def _pragma(raw: sqlite3.Connection, name: str) -> int:
    return int(raw.execute(f"PRAGMA {name}").fetchone()[0])


_MADE = _definitions(_TABLES) + _definitions(_HEAD) + _definitions(_BROUGHT_OVER)


def _exists(path: Path) -> LedgerExistsError:
    return LedgerExistsError(
        path=path,
        reason="there is already a file of this name.",
        fix="Open it, or choose another name: nothing is overwritten.",
    )


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a crash of the machine, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
