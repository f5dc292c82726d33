"""The store of a ledger in an SQLite file: connections, transactions, locks, forks, and how a new file comes to be.

SQLite writes with a rollback journal: what it is about to overwrite goes beside the file first, and is removed by the commit.
So the file alone holds every charge that was granted, at every moment.
"""

from __future__ import annotations

import getpass
import os
import random
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from dpkit.contracts.ledger_store import Durability
from dpkit.errors import (
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    LedgerExistsError,
    LedgerStorageError,
    NotALedgerError,
)
from dpkit.release.ledger.log import append_log
from dpkit.release.ledger.sqlite_file import (
    Identity,
    check_companions,
    check_place,
    companion,
    draft_of,
    foreign_log,
    identity,
    leftovers,
)
from dpkit.release.ledger.sqlite_tables import (
    APPLICATION,
    BROUGHT_OVER,
    HEAD,
    MIGRATIONS,
    READABLE,
    TABLES,
    VERSION,
    SqliteTransaction,
)

TORN = (
    "Nothing was charged. If it was copied or moved while a process wrote to it, or after one was killed, put it back where "
    "it was, or bring its companion along, the same name with -journal: SQLite then undoes the unfinished write. Otherwise go "
    "back to a copy together with its exported head."
)


class SqliteStore:
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

    @property
    def opened_with(self) -> dict[str, object]:
        """The arguments of `Ledger.open` by which another process opens it as this one did."""
        return {"durability": self.durability, "timeout": self.timeout, "read_only": self.read_only}

    def author(self, who: str | None) -> str:
        """The user of the operating system, where the caller does not say who it is."""
        return who or user()

    @contextmanager
    def transaction(self, *, writes: bool) -> Iterator[SqliteTransaction]:
        """One moment of the ledger. It must be short: no charge is committed while it lasts.

        With `writes` it holds the only write lock from its beginning: what is read in it is still true when it commits. Before
        the first one the file is looked through, as it may have been copied in the middle of a write; before each one, its
        name and its links.
        """
        with self._lock, self.translated():
            raw = self.current()
            raw.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                if writes:
                    self.check_writable(raw)
                yield SqliteTransaction(raw, self.path, self.found_log)
                raw.execute("COMMIT")
            except BaseException:
                # a failed COMMIT may have ended the transaction by itself
                if raw.in_transaction:
                    with suppress(sqlite3.Error):
                        raw.execute("ROLLBACK")
                raise

    def check_writable(self, raw: sqlite3.Connection) -> None:
        """Refuse to write into a file that lost its name, that is in write-ahead mode, or that is damaged."""
        identity(self.path, self._identity)
        if raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            raise LedgerStorageError(
                path=self.path,
                reason="another program, or an earlier dpkit, put it into write-ahead mode: charges would not be in the file.",
                fix="Nothing was charged. Close that program, and open the ledger again, which puts it back.",
            )
        if not self._is_whole and any(finding != "ok" for (finding,) in raw.execute("PRAGMA integrity_check(1)")):
            raise LedgerCorruptError(path=self.path, reason="SQLite finds the file damaged.", fix=TORN)
        self._is_whole = True

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
            self._connection, self._pid = self.connect(), os.getpid()
        return self._connection

    def connect(self) -> sqlite3.Connection:
        """A new connection, once the place of the file and what lies beside it were looked at."""
        with _CONNECTING:
            check_place(self.path)
            if self._identity is not None:
                identity(self.path, self._identity)
            here = os.getpid()
            others = [each for each in list(_OPEN) if each is not self and each.path == self.path]
            is_alone = not any(each._connection is not None and each._pid == here for each in others)
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

    def prepare(self) -> None:
        """Check that the file is a ledger that this dpkit knows, and bring an older one up to date."""
        with self.translated():
            raw = self.current()
            application, version = (raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
            if application != APPLICATION:
                raise NotALedgerError(path=self.path, reason="it is not a ledger of dpkit.", fix="Check the path.")
            if not 0 <= version <= VERSION:
                raise NotALedgerError(
                    path=self.path,
                    reason=f"it is of version {version}, and this dpkit reads versions up to {VERSION}.",
                    fix="Install the dpkit that wrote it, or a newer one.",
                )
        if version >= READABLE:
            with self.transaction(writes=False) as found:
                found.check_tables()
        elif self.read_only:
            raise NotALedgerError(
                path=self.path,
                reason="it is of an older version, and was opened for reading only.",
                fix="Open it once for writing, which migrates it.",
            )
        if not self.read_only:
            self.leave_write_ahead()
            if version < VERSION:
                with self.transaction(writes=True) as found:
                    # another process may have migrated it while this one waited
                    for old in range(found.raw.execute("PRAGMA user_version").fetchone()[0], VERSION):
                        MIGRATIONS[old](found.raw, self.path, self.found_log)
                        found.raw.execute(f"PRAGMA user_version = {old + 1}")

    def leave_write_ahead(self) -> None:
        """Bring what is in a write-ahead log into the file, and keep it there. Nobody else may have the file open."""
        deadline = time.monotonic() + self.timeout
        while True:
            with self.translated():
                raw = self.current()
                if raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    return
                try:
                    if raw.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete":
                        return
                except sqlite3.OperationalError as error:
                    if not error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                        raise
            self.close()  # two that both hold the file would wait for each other
            if time.monotonic() >= deadline:
                raise LedgerBusyError(
                    path=self.path,
                    reason="another process holds it in write-ahead mode, as earlier versions of dpkit did.",
                    fix="Nothing was charged. Wait for that process to finish, then try again.",
                )
            time.sleep(random.uniform(0.001, 0.05))


def create_file(path: Path, log: Sequence[tuple[str, str | None]]) -> None:
    """A new ledger with the entries of its log. It appears under its name whole or not at all, and replaces nothing."""
    taken = LedgerExistsError(
        path=path,
        reason="there is already a file of this name.",
        fix="Open it, or choose another name: nothing is overwritten.",
    )
    if path.exists():
        raise taken
    if left := leftovers(path):
        raise LedgerExistsError(
            path=path,
            reason=f"{' and '.join(left)} of an earlier ledger of this name is left here, and would be applied to the new one.",
            fix="It may hold charges of that ledger: put it beside that file, under its name. Or choose another name.",
        )
    draft = draft_of(path, uuid.uuid4().hex)
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.executescript(f"BEGIN IMMEDIATE;{TABLES}{HEAD}{BROUGHT_OVER}COMMIT;")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO head VALUES (1, -1, '')")
            append_log(SqliteTransaction(connection, path), log)
            connection.execute("COMMIT")
        os.link(draft, path)
        with suppress(OSError):  # the new name survives a crash of the machine, where the system can do that
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except FileExistsError:
        raise taken from None
    except sqlite3.Error as error:
        raise ledger_error(error, path) from error
    except OSError as error:
        raise LedgerStorageError(path=path, reason=f"it cannot be created ({error.strerror}).") from error
    finally:
        for leftover in (draft, companion(draft, "-journal")):
            with suppress(OSError):
                leftover.unlink()


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


def user() -> str:
    """The user, as the operating system knows them: variables of the environment are not asked."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        pass
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


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
        return LedgerCorruptError(path=path, reason=f"the file is damaged ({error}).", fix=TORN)
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


_OPEN: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_CONNECTING = threading.Lock()
_INHERITED: list[sqlite3.Connection] = []
_WAITING: list[SqliteStore] = []


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
