"""The tables of a ledger file, its versions, and how an older one becomes the newest.

The log is `entries`: a body and its hash, never updated and never deleted. The columns `run` and `key` repeat what the body
says, for look-ups; a migration may rebuild them, but never touches a body or a hash, so heads exported long ago still verify.
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpkit.errors import LedgerCorruptError, LedgerExistsError, LedgerStorageError, NotALedgerError
from dpkit.running.ledger_chain import START, chained
from dpkit.running.ledger_connection import LedgerConnection, ledger_error

APPLICATION = 0x64706B4C
"""`dpkL`, in the header of the file: what tells a ledger from other SQLite files."""

VERSION = 1
"""The version of the tables; version 0 had neither the look-up columns nor the guards against change."""

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


def append(connection: sqlite3.Connection, *, seq: int, run: str, key: str, body: str, value: str | None, hash: str) -> None:
    """Write one entry and move the head; the caller holds the write lock."""
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (seq, run, key, body, value, hash))
    connection.execute("UPDATE head SET seq = ?, hash = ?", (seq, hash))


def create_file(path: Path, first_body: str) -> None:
    """A new ledger with its first entry. It appears under its name whole or not at all, and replaces nothing."""
    if path.exists():
        raise _exists(path)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.executescript(f"BEGIN IMMEDIATE;{_TABLES}{_HEAD}COMMIT;")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO head VALUES (1, -1, '')")
            append(connection, seq=0, run="", key="", body=first_body, value=None, hash=chained(START, first_body))
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
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
        for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
            with suppress(OSError):
                leftover.unlink()


def prepare(connection: LedgerConnection) -> None:
    """Check that the file is a ledger that this dpkit knows, and bring an older one up to date."""
    with connection.translated():
        raw = connection.current()
        application, version = _pragma(raw, "application_id"), _pragma(raw, "user_version")
        if application != APPLICATION:
            raise NotALedgerError(path=connection.path, reason="it is not a ledger of dpkit.", fix="Check the path.")
        if version > VERSION:
            raise NotALedgerError(
                path=connection.path,
                reason=f"it is of version {version}, and this dpkit reads versions up to {VERSION}.",
                fix="Install the dpkit that wrote it, or a newer one.",
            )
        mode = raw.execute("PRAGMA journal_mode").fetchone()[0]
        if mode != "wal" and not connection.read_only and raw.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise LedgerStorageError(path=connection.path, reason="its file system does not support SQLite's write-ahead log.")
    if version < VERSION:
        _migrate(connection)


def _migrate(connection: LedgerConnection) -> None:
    if connection.read_only:
        raise NotALedgerError(
            path=connection.path,
            reason="it is of an older version, and was opened for reading only.",
            fix="Open it once for writing, which migrates it.",
        )
    with connection.writing() as raw:
        # another process may have migrated it while this one waited
        for version in range(_pragma(raw, "user_version"), VERSION):
            MIGRATIONS[version](raw, connection.path)
            raw.execute(f"PRAGMA user_version = {version + 1}")


def _from_0(raw: sqlite3.Connection, path: Path) -> None:
    """Add the look-up columns and the guards. The chain is checked first: what is broken is not carried over."""
    previous, last = START, -1
    raw.execute("ALTER TABLE entries RENAME TO entries_0")
    for statement in _statements(_TABLES):
        raw.execute(statement)
    for seq, body, value, hash in raw.execute("SELECT seq, body, value, hash FROM entries_0 ORDER BY seq").fetchall():
        if seq != last + 1 or hash != chained(previous, body):
            raise LedgerCorruptError(
                path=path,
                reason=f"it cannot be migrated: the chain is broken at entry {seq}.",
                fix="Nothing was changed. Go back to a copy that verifies.",
            )
        said = json.loads(body)
        raw.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (seq, said.get("run", ""), said.get("key", ""), body, value, hash)
        )
        previous, last = hash, seq
    raw.execute("DROP TABLE entries_0")


MIGRATIONS: dict[int, Callable[[sqlite3.Connection, Path], None]] = {0: _from_0}
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


def _pragma(raw: sqlite3.Connection, name: str) -> int:
    return int(raw.execute(f"PRAGMA {name}").fetchone()[0])


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
