"""The store of ledgers in a PostgreSQL database, which many machines share: one schema `dpkit`, one ledger for each dataset.

A writing transaction first locks the row of the ledger's head (`dpkit.hold`), and reads after that. Under READ COMMITTED each
later statement sees everything that was committed before the lock was granted, and nobody else can append until this
transaction ends: check and charge are one step. The tables, their triggers and their grants are in postgresql.sql.

A connection may break between the commit and its answer. Then the lock is taken again on a new connection, which waits until
the server has ended the old transaction, and the log itself says whether the entry is in it.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dpkit.contracts.ledger_store import Durability, LedgerAddress, LogBy, author_of
from dpkit.errors import (
    InvalidValueError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    LedgerExistsError,
    LedgerStorageError,
    MissingExtraError,
    NotALedgerError,
)
from dpkit.release.ledger.entries import START
from dpkit.release.ledger.log import append_log
from dpkit.release.ledger.postgres_tables import VERSION, PostgresTransaction, migrate, only_value, schema_version, storable

if TYPE_CHECKING:
    import psycopg

_IDLE = 60
"""Seconds after which the server ends the transaction of a client that says nothing, so that others can go on."""

_GRACE = 5.0
"""Seconds that the server has to report its own time-out before the connection is given up."""

_NOTHING = "Nothing was charged."


class PostgresStore:
    """One ledger of a database. It connects when it is first needed, again in each process, and after a lost connection."""

    def __init__(self, place: LedgerAddress, *, durability: Durability, timeout: float, read_only: bool) -> None:
        self.path = place
        self.durability = durability
        self.timeout = timeout
        self.read_only = read_only
        self.dataset = place.options.get("dataset", "")
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._pid = 0
        self._ledger: int | None = None
        self._role = ""

    @property
    def opened_with(self) -> dict[str, object]:
        """The arguments of `Ledger.open` by which another process opens it as this one did."""
        return {"durability": self.durability, "timeout": self.timeout, "read_only": self.read_only}

    def author(self, who: str | None) -> str:
        """The role that the server knows, and after a slash `who`, where the caller says more."""
        with self._lock, self.translated():
            self.current()
            return author_of(self._role, who)

    @contextmanager
    def transaction(self, *, writes: bool) -> Iterator[PostgresTransaction]:
        """One moment of the ledger. With `writes` it holds the row of the head from its beginning."""
        with self._lock, self.translated():
            found = self._begun(writes=writes)
            try:
                with self._deadline(found.raw) if writes else nullcontext():
                    yield found
            except BaseException:
                with suppress(Exception):  # a broken connection ends the transaction by itself
                    found.raw.rollback()
                raise
            self._commit(found)

    def _begun(self, *, writes: bool) -> PostgresTransaction:
        """A transaction that has its lock. A connection that broke while nobody used it is replaced once."""
        import psycopg

        if writes and self.read_only:
            raise LedgerStorageError(path=self.path, reason="it was opened for reading only.", fix=_NOTHING)
        for is_last in (False, True):
            raw = self.current()
            ledger = self._ledger
            try:
                with self._deadline(raw):
                    raw.execute(self._begin(writes=writes))
                    if ledger is None:
                        ledger = self._ledger = self._number(raw)
                    if writes:
                        raw.execute("SELECT dpkit.hold(%s)", (ledger,))
                return PostgresTransaction(raw, self.path, ledger)
            except psycopg.OperationalError:
                if is_last or not raw.broken:
                    with suppress(Exception):
                        raw.rollback()
                    raise
                self.close()
            except BaseException:
                with suppress(Exception):
                    raw.rollback()
                raise
        raise AssertionError("the second try returns or raises")

    def _commit(self, found: PostgresTransaction) -> None:
        """Commit; where the answer is lost, ask the log whether the last entry is in it."""
        import psycopg

        try:
            if found.raw.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
                raise LedgerError(path=self.path, reason="an error inside a transaction was passed over.", fix=_NOTHING)
            with self._deadline(found.raw):
                found.raw.commit()
            return
        except psycopg.Error as error:
            if not found.raw.broken:
                with suppress(Exception):
                    found.raw.rollback()
                raise
            lost = error
        self.close()
        if found.appended is None:
            return  # nothing was written, so nothing can be lost
        is_kept = self._is_kept(*found.appended)
        if is_kept is None:
            raise LedgerStorageError(
                path=self.path,
                reason="the connection broke during a commit, and the server could not be asked again whether it took place.",
                fix="Nothing may be released. Run the same again once the server answers: the log says how to go on.",
            ) from lost
        if not is_kept:
            raise LedgerStorageError(
                path=self.path,
                reason="the connection broke before the commit took place.",
                fix=f"{_NOTHING} Run the same again.",
            ) from lost

    def _is_kept(self, seq: int, hash: str) -> bool | None:
        """Whether an entry is in the log, once the server has ended what wrote it; None where it cannot be asked in time."""
        import psycopg

        until = time.monotonic() + self.timeout
        while True:
            try:
                found = self._begun(writes=True)  # it waits for the lock that the old transaction held
                rows = list(found.rows(since=seq, most=1))
                found.raw.rollback()
                return bool(rows) and rows[0][0] == seq and rows[0][3] == hash
            except (psycopg.Error, LedgerError):
                self.close()
                if time.monotonic() >= until:
                    return None
                time.sleep(min(0.2, self.timeout / 10))

    def _begin(self, *, writes: bool) -> Any:
        """Begin with all that is asked of the server for this transaction, in one message."""
        wait = max(1, round(self.timeout * 1000))
        kind = "READ COMMITTED READ WRITE" if writes else "REPEATABLE READ READ ONLY"
        return (
            f"BEGIN ISOLATION LEVEL {kind};"
            "SET LOCAL search_path = pg_catalog, pg_temp;"
            f"SET LOCAL lock_timeout = {wait}; SET LOCAL statement_timeout = {wait};"
            f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE * 1000};"
            f"SET LOCAL synchronous_commit = {'on' if self.durability == 'full' else 'off'}"
        )

    def _number(self, raw: psycopg.Connection[tuple[Any, ...]]) -> int:
        """The number of the dataset's ledger in this database."""
        found = raw.execute("SELECT ledger FROM dpkit.ledgers WHERE dataset = %s", (storable(self.dataset),)).fetchone()
        if found is None:
            known = [name for (name,) in raw.execute("SELECT dataset FROM dpkit.ledgers ORDER BY dataset LIMIT 20")]
            there = f"It has: {', '.join(known)}." if known else "It has none yet."
            reason = f"the database has no ledger of the dataset {self.dataset!r}." if self.dataset else "it names no dataset."
            fix = f"{there} Name one, as in `?dataset=NAME`, or make it with `dpkit ledger create`."
            raise NotALedgerError(path=self.path, reason=reason, fix=fix)
        return int(found[0])

    @contextmanager
    def _deadline(self, raw: psycopg.Connection[tuple[Any, ...]]) -> Iterator[None]:
        """Give the connection up where no answer comes at all: the server stands still, or the network does."""
        timer = threading.Timer(self.timeout + _GRACE, _cut, (raw.fileno(),))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """PostgreSQL's errors as ledger errors."""
        import_driver()
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise ledger_error(error, self.path, self._role) from error

    def current(self) -> psycopg.Connection[tuple[Any, ...]]:
        """This process's connection."""
        if self._connection is not None and self._pid != os.getpid():
            _INHERITED.append(self._connection)  # its socket is the parent's: closing it would end the parent's session
            self._connection, self._lock = None, threading.RLock()
        if self._connection is not None and self._connection.closed:
            self._connection = None
        if self._connection is None:
            self._connection, self._pid = connected(self.path, self.timeout), os.getpid()
            self._role = str(only_value(self._connection.execute("SELECT session_user")))
        return self._connection

    def close(self) -> None:
        """Let go of the connection; the next call connects again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            if self._pid == os.getpid():
                with suppress(Exception):
                    connection.close()
            else:
                _INHERITED.append(connection)

    def __del__(self) -> None:
        with suppress(Exception):  # also while Python ends
            self.close()

    def prepare(self) -> None:
        """Check that the database holds ledgers that this dpkit knows, and bring an older schema up to date."""
        with self._lock, self.translated():
            raw = self.current()
            version = schema_version(raw, self.path)
            if version == 0:
                raise NotALedgerError(
                    path=self.path,
                    reason="the database holds no ledgers.",
                    fix="Make one with `dpkit ledger create`, or check the address.",
                )
            if version < VERSION:
                migrate(raw, self.path)
        with self.transaction(writes=False) as found:
            found.check_tables()


def create_ledger(place: LedgerAddress, dataset: str, log_by: LogBy) -> None:
    """A new ledger with the entries of its log, in one transaction; the first in a database makes its schema and roles."""
    import_driver()
    import psycopg

    named = place.options.get("dataset", dataset)
    if named != dataset:
        raise InvalidValueError(field="dataset", found=dataset, allowed=f"{named!r}, as the address says", where="ledger")
    role = ""
    try:
        with connected(place, 30.0) as raw:
            role = str(only_value(raw.execute("SELECT session_user")))
            if schema_version(raw, place) < VERSION:
                migrate(raw, place)
            with raw.transaction():
                number = int(str(only_value(raw.execute("SELECT dpkit.begin_ledger(%s, %s)", (storable(dataset), START)))))
                found = PostgresTransaction(raw, place, number)
                found.check_tables()
                append_log(found, log_by(role))
    except psycopg.errors.UniqueViolation:
        raise _is_taken(place, dataset) from None
    except psycopg.Error as error:
        raise ledger_error(error, place, role) from error


_MAY_BEGIN = """
SELECT has_database_privilege(current_database(), 'CREATE') AND (r.rolsuper OR r.rolcreaterole
    OR (SELECT count(*) = 3 FROM pg_roles WHERE rolname IN ('dpkit_reader', 'dpkit_analyst', 'dpkit_steward')))
    FROM pg_roles r WHERE r.rolname = session_user
"""


def check_creatable(place: LedgerAddress, dataset: str) -> None:
    """Refuse a database in which this user cannot make a ledger of this dataset."""
    import_driver()
    import psycopg

    role = ""
    try:
        with connected(place, 30.0) as raw:
            role = str(only_value(raw.execute("SELECT session_user")))
            if schema_version(raw, place) == 0:  # the first ledger makes the schema, and the roles
                if not only_value(raw.execute(_MAY_BEGIN)):
                    raise _not_allowed(place, role)
                return
            if not only_value(raw.execute("SELECT pg_has_role(session_user, 'dpkit_steward', 'MEMBER')")):
                raise _not_allowed(place, role)
            if only_value(raw.execute("SELECT 1 FROM dpkit.ledgers WHERE dataset = %s", (storable(dataset),))):
                raise _is_taken(place, dataset)
    except psycopg.Error as error:
        raise ledger_error(error, place, role) from error


def _is_taken(place: LedgerAddress, dataset: str) -> LedgerExistsError:
    return LedgerExistsError(
        path=place,
        reason=f"the database has a ledger of the dataset {dataset!r} already.",
        fix="Open it, or choose another name: nothing is overwritten.",
    )


def connected(place: LedgerAddress, timeout: float) -> psycopg.Connection[tuple[Any, ...]]:
    """A new connection; transactions begin where this file says so."""
    import psycopg

    return psycopg.connect(
        libpq_address(place),
        autocommit=True,
        prepare_threshold=None,  # a pooler between us and the server may not know prepared statements
        application_name="dpkit",
        connect_timeout=max(2, round(timeout)),
        keepalives_idle=5,
        keepalives_interval=5,
        keepalives_count=3,
        tcp_user_timeout=max(1000, round(timeout * 1000)),
        client_encoding="utf8",
    )


def libpq_address(place: LedgerAddress) -> str:
    """The address as the driver takes it: without what is ours."""
    rest = {name: value for name, value in place.options.items() if name != "dataset"}
    parts = place.parts
    return f"postgresql://{parts.netloc}{parts.path}{'?' if rest else ''}{urlencode(rest)}"


def ledger_error(error: psycopg.Error, place: LedgerAddress, role: str) -> LedgerError:
    """What an error of PostgreSQL means for a ledger. Its details may quote rows: only its code is told, and its kind."""
    code = error.sqlstate or ""
    if code in ("55P03", "57014"):  # no lock in time; a statement that took too long
        return LedgerBusyError(
            path=place, reason="another process holds it.", fix=f"{_NOTHING} Wait for it to finish, then try again."
        )
    if code in ("42501", "DPK02"):
        return _not_allowed(place, role)
    if code == "42704":
        return LedgerStorageError(
            path=place,
            reason="roles are missing that the tables were made for.",
            fix=f"{_NOTHING} Put them back with `pg_dumpall --roles-only` from the old server, and restore the database again.",
        )
    if code == "DPK01" or code.startswith(("XX", "58P")):
        return LedgerCorruptError(
            path=place,
            reason=f"the database refused an entry, or finds itself damaged ({code}).",
            fix=f"{_NOTHING} Run `dpkit ledger verify` to see what was changed.",
        )
    if code.startswith(("42P", "3F")):
        return NotALedgerError(path=place, reason="the database holds no ledgers.", fix="Check the address.")
    if code.startswith("53"):
        return LedgerStorageError(
            path=place,
            reason=f"the server has no room left: disk, memory or connections ({code}).",
            fix=f"{_NOTHING} Nothing may be released. Make room, then try again.",
        )
    if not code and type(error).__name__ == "ProgrammingError":
        return LedgerStorageError(
            path=place,
            reason="the address is not understood: an option is unknown, or a character is not written by its code.",
            fix=f"{_NOTHING} An address is like postgresql://user@host:5432/database?dataset=flights&sslmode=require.",
        )
    if not code or code.startswith(("08", "28", "3D", "57P")):
        said = "the server cannot be reached, or the connection broke"
        text = str(error)  # a refused connection has no code, only words
        if code.startswith("28") or "authentication" in text or 'role "' in text:
            said = "the server does not accept the user or the password"
        elif code.startswith("3D") or ('database "' in text and "does not exist" in text):
            said = "there is no such database"
        return LedgerStorageError(
            path=place,
            reason=f"{said}{f' ({code})' if code else ''}.",
            fix=f"{_NOTHING} Check host, port, user and database; a password belongs into ~/.pgpass or PGPASSWORD.",
        )
    return LedgerError(path=place, reason=f"PostgreSQL refused ({code}, {type(error).__name__}).", fix=_NOTHING)


def _not_allowed(place: LedgerAddress, role: str) -> LedgerStorageError:
    return LedgerStorageError(
        path=place,
        reason=f"the role {role!r} may not do this.",
        fix=f"{_NOTHING} Reading takes the role dpkit_reader; charging, and closing one's own runs, dpkit_analyst; the rest "
        "dpkit_steward, and nobody approves a run of their own. The database's administrator grants roles: `GRANT ... TO ...`.",
    )


def import_driver() -> None:
    """Refuse, in words, where the driver is not installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtraError(package="psycopg", extra="postgres", purpose="A ledger in PostgreSQL") from None


def _cut(descriptor: int) -> None:
    """End the conversation on a socket from another thread; whoever waits on it gets an error at once."""
    with suppress(OSError):
        other = socket.socket(fileno=os.dup(descriptor))
        with other:
            other.shutdown(socket.SHUT_RDWR)


_INHERITED: list[object] = []
"""Connections of a parent process, kept so that they are never closed here."""
