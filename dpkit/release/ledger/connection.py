"""One process's connection to a ledger file: transactions, forks, and SQLite's errors in words that say what to do.

SQLite writes with a rollback journal: what it is about to overwrite goes beside the file first, and is removed by the commit.
So the file alone holds every charge that was granted, at every moment.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from dpkit.errors import LedgerBusyError, LedgerCorruptError, LedgerError, LedgerStorageError, NotALedgerError
from dpkit.release.ledger.file import Identity, check_companions, check_place, foreign_log, identity

Durability = Literal["full", "normal"]
"""`full`: a charge is on the disk before it is granted. `normal`: it survives a crash of the process, not of the machine."""


class LedgerConnection:
    """Opens the file when it is first needed, and again in each process: SQLite's locks do not survive a fork.

    Calls of several threads take turns.
    """

    def __init__(self, path: Path, *, durability: Durability, timeout: float, read_only: bool) -> None:
        self.path = path
        self.durability = durability
        self.timeout = timeout
        self.read_only = read_only
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._identity: Identity | None = None
        self._is_whole = False
        self.found_log = False
        """Whether a write-ahead log with something in it lay beside the file when it was opened."""
        with _CONNECTING:
            _OPEN.add(self)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the only write lock from its beginning: what is read in it is still true when it commits.

        Before the first one the file is looked through, as it may have been copied in the middle of a write; before each one,
        its name and its links.
        """
        with self._transaction("BEGIN IMMEDIATE") as connection:
            identity(self.path, self._identity)
            self._check_journal(connection)
            if not self._is_whole:
                check_whole(connection, self.path)
                self._is_whole = True
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one moment of the ledger. No charge can be committed while it lasts: it must be short."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock, self.translated():
            connection = self.current()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # a failed COMMIT may have ended the transaction by itself
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    @contextmanager
    def translated(self) -> Iterator[None]:
        """SQLite's errors as ledger errors."""
        try:
            yield
        except sqlite3.Error as error:
            raise ledger_error(error, self.path) from error
        except UnicodeDecodeError:
            # SQLite quotes the text that it cannot make sense of, and Python cannot read the quotation
            raise LedgerCorruptError(path=self.path, reason="the file is damaged (its text is not UTF-8).", fix=TORN) from None

    def current(self) -> sqlite3.Connection:
        """This process's connection."""
        if self._connection is not None and self._pid != os.getpid():
            # forked behind our back: closing it here would drop the locks that this process takes from now on
            _INHERITED.append(self._connection)
            self._connection, self._lock = None, threading.RLock()
        if self._connection is None:
            self._connection, self._pid = self._connect(), os.getpid()
        return self._connection

    def close(self) -> None:
        """Let go of the file; the next call opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            if self._pid == os.getpid():
                with self.translated():
                    connection.close()
            else:
                _INHERITED.append(connection)

    def _connect(self) -> sqlite3.Connection:
        with _CONNECTING:
            check_place(self.path)
            if self._identity is not None:
                identity(self.path, self._identity)
            is_alone = not self._is_open_elsewhere()
            found_log = check_companions(self.path, read_header=is_alone)
            if found_log and is_alone:
                check_own_log(self.path)
            connection = sqlite3.connect(
                f"file:{quote(os.fsencode(self.path))}?mode={'ro' if self.read_only else 'rw'}",
                uri=True,
                timeout=self.timeout,
                isolation_level=None,  # transactions begin where this file says so
                check_same_thread=False,  # the lock above takes its place
            )
        try:
            # EXTRA: a journal that was removed stays removed when the power fails, so that no granted charge is undone
            connection.execute(f"PRAGMA synchronous = {'EXTRA' if self.durability == 'full' else 'OFF'}")
            connection.execute(f"PRAGMA fullfsync = {'ON' if self.durability == 'full' else 'OFF'}")
            # some layered file systems copy a file, and give it another number, when it is first opened for writing
            self._identity = self._identity or identity(self.path)
        except BaseException:
            connection.close()
            raise
        self.found_log = self.found_log or found_log
        return connection

    def _is_open_elsewhere(self) -> bool:
        """Whether this process has the file open in another object."""
        others = [each for each in list(_OPEN) if each is not self and each.path == self.path]
        return any(each._connection is not None and each._pid == os.getpid() for each in others)

    def _check_journal(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            raise LedgerStorageError(
                path=self.path,
                reason="another program, or an earlier dpkit, put it into write-ahead mode: charges would not be in the file.",
                fix="Nothing was charged. Close that program, and open the ledger again, which puts it back.",
            )


def check_own_log(path: Path) -> None:
    """Refuse a write-ahead log with which the file begins otherwise than alone: no log of its own changes the first entry.

    Both look and write nothing. Where the file alone cannot be read (it was being brought up to date), nothing is known.
    """
    found = []
    for how in ("immutable=1", "mode=ro"):
        with closing(sqlite3.connect(f"file:{quote(os.fsencode(path))}?{how}", uri=True)) as raw, suppress(sqlite3.Error):
            found.append(raw.execute("SELECT hash FROM entries WHERE seq = 0").fetchone())
    if len(set(found)) > 1:
        raise foreign_log(path)


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Every page is where it belongs, and every index has what the log has."""
    if any(finding != "ok" for (finding,) in connection.execute("PRAGMA integrity_check(1)")):
        raise LedgerCorruptError(path=path, reason="SQLite finds the file damaged.", fix=TORN)


TORN = (
    "Nothing was charged. If it was copied or moved while a process wrote to it, or after one was killed, put it back where "
    "it was, or bring its companion along, the same name with -journal: SQLite then undoes the unfinished write. Otherwise go "
    "back to a copy together with its exported head."
)


def ledger_error(error: sqlite3.Error, path: Path) -> LedgerError:
    """What an error of SQLite means for a ledger. SQLite's own words hold no values."""
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LedgerBusyError(
            path=path, reason="another process holds it.", fix="Nothing was charged. Wait for it to finish, then try again."
        )
    if name == "SQLITE_NOTADB":
        return NotALedgerError(path=path, reason="it is not a ledger (nor any SQLite file).", fix="Check the path.")
    if name.startswith("SQLITE_CORRUPT"):
        return LedgerCorruptError(
            path=path,
            reason=f"the file is damaged ({error}).",
            fix=TORN,
        )
    if name == "SQLITE_READONLY_ROLLBACK":
        return LedgerStorageError(
            path=path,
            reason=f"a write was left unfinished ({path.name}-journal), and cannot be undone by who may only read.",
            fix="Open it once where it may be written, for example by `dpkit ledger show`.",
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return LedgerStorageError(
            path=path,
            reason=f"it cannot be written or read ({error}).",
            fix="Nothing was charged, and nothing may be released. Make room on the disk, or the file and its folder writable.",
        )
    return LedgerError(path=path, reason=f"SQLite refused ({name}: {error}).")


_OPEN: weakref.WeakSet[LedgerConnection] = weakref.WeakSet()
_CONNECTING = threading.Lock()
_INHERITED: list[sqlite3.Connection] = []
_WAITING: list[LedgerConnection] = []


def _before_fork() -> None:
    """Finish what other threads have begun, and close: a child must inherit no open file of SQLite."""
    with _CONNECTING:
        known = list(_OPEN)
    for each in known:
        each._lock.acquire()
        _WAITING.append(each)
        if each._connection is not None and not each._connection.in_transaction:
            with suppress(LedgerError):
                each.close()
    _CONNECTING.acquire()


def _after_fork() -> None:
    _CONNECTING.release()
    while _WAITING:
        _WAITING.pop()._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
