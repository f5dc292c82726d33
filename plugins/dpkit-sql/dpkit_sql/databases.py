"""What differs from one database to the next: how it is opened, how a cell becomes a text, and in which order rows come."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote, urlsplit

import dpkit
from dpkit_sql.table import DatabaseTable, FileDatabaseTable


def sqlite_table(path: str, table: str) -> DatabaseTable:
    """A table of an SQLite file. Real numbers are spelt with 17 digits: a plain cast keeps 15."""

    @contextmanager
    def opened() -> Iterator[Any]:
        from adbc_driver_sqlite import dbapi

        with dbapi.connect(f"file:{quote(os.path.abspath(path))}?mode=ro") as connection, connection.cursor() as cursor:
            yield cursor

    def text(name: str) -> str:
        spelt = f"CASE typeof({name}) WHEN 'real' THEN printf('%!.17g', {name}) WHEN 'blob' THEN hex({name}) ELSE {name} END"
        return f"CAST({spelt} AS TEXT)"

    _check_file(path)
    return FileDatabaseTable(
        file=path,
        table=table,
        opened=opened,
        text=text,
        orders=("rowid", ""),
        unopened="it cannot be opened as a file of SQLite",
        probe="SELECT count(*) FROM sqlite_master",
    )


def duckdb_table(path: str, table: str) -> DatabaseTable:
    """A table of a DuckDB file."""

    @contextmanager
    def opened() -> Iterator[Any]:
        import duckdb

        with duckdb.connect(path, read_only=True) as connection:
            yield connection

    _check_file(path)
    return FileDatabaseTable(
        file=path,
        table=table,
        opened=opened,
        text=_cast,
        orders=("rowid", ""),
        unopened="it cannot be opened as a file of this version of DuckDB; is another program writing to it?",
    )


def postgresql_table(address: str, table: str) -> DatabaseTable:
    """A table of a PostgreSQL database. Rows come in the order of their places, which a scan alone does not promise."""
    with suppress(ValueError):
        if urlsplit(address).password is not None:
            raise dpkit.SourceError(
                source="the database",
                reason="its address holds a password, which results would show.",
                fix="Leave it out, and set PGPASSWORD or write ~/.pgpass.",
            )

    @contextmanager
    def opened() -> Iterator[Any]:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")
            yield cursor

    unopened = "nobody answers at its address, or the user may not enter: is the server up, and PGPASSWORD or ~/.pgpass right?"
    return DatabaseTable(source="the database", table=table, opened=opened, text=_cast, orders=("ctid", ""), unopened=unopened)


def _cast(name: str) -> str:
    return f"CAST({name} AS VARCHAR)"


def _check_file(path: str) -> None:
    if not os.path.isfile(path):  # a driver would make it
        raise dpkit.SourceError(source=path, reason="there is no such file.")
