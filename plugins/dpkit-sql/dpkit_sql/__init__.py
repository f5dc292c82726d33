"""Tables of SQLite, PostgreSQL and DuckDB as sources of dpkit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dpkit
from dpkit_sql.databases import duckdb_table, postgresql_table, sqlite_table

_PATH = dpkit.Parameter(name="path", kind="path", doc="The file of the database.", examples=("rows.db",))
_TABLE = dpkit.Parameter(name="table", kind="text", doc="The table or view; also schema.table.", examples=("people",))
_ADDRESS = dpkit.Parameter(
    name="address",
    kind="text",
    doc="postgresql://user@host:port/database. No password: set PGPASSWORD, or write ~/.pgpass.",
    examples=("postgresql://reader@localhost/shop",),
)


@dpkit.hookimpl
def dpkit_sources() -> Sequence[dpkit.Factory[Any]]:
    """The three databases."""
    return [
        dpkit.SourceFactory(name="sqlite", doc="A table of an SQLite file.", make=sqlite_table, parameters=(_PATH, _TABLE)),
        dpkit.SourceFactory(name="duckdb", doc="A table of a DuckDB file.", make=duckdb_table, parameters=(_PATH, _TABLE)),
        dpkit.SourceFactory(
            name="postgresql", doc="A table of a PostgreSQL database.", make=postgresql_table, parameters=(_ADDRESS, _TABLE)
        ),
    ]
