"""The tables of ledgers in PostgreSQL, their versions, and what is done to them inside one transaction.

The script that makes them is postgresql.sql.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, LiteralString

from dpkit.contracts.ledger_store import LedgerAddress, Row
from dpkit.errors import InvalidValueError, LedgerCorruptError, NotALedgerError
from dpkit.values import dataclass

if TYPE_CHECKING:
    import psycopg

VERSION = 1
"""The version of the schema."""

MIGRATIONS: dict[int, str] = {0: "postgresql.sql"}
"""From each version to the next one; 0 is a database without ledgers."""

ROLES = ("dpkit_reader", "dpkit_analyst", "dpkit_steward")

_LOCK = 0x64706B4C
"""The advisory lock under which the schema is made or migrated."""

_SHAPE = """
SELECT 'trigger', t.tgname::text, c.relname::text, p.proname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE c.relnamespace = to_regnamespace('dpkit') AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
UNION ALL SELECT 'function', p.proname::text, p.prosecdef::text, p.prosrc FROM pg_proc p
    WHERE p.pronamespace = to_regnamespace('dpkit')
UNION ALL SELECT 'table', c.relname::text, c.relkind::text || c.relpersistence::text, c.relrowsecurity::text FROM pg_class c
    WHERE c.relnamespace = to_regnamespace('dpkit') AND c.relkind NOT IN ('i', 'S')
UNION ALL SELECT 'rule', r.rulename::text, c.relname::text, '' FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
    WHERE c.relnamespace = to_regnamespace('dpkit')
UNION ALL SELECT 'child', h.inhrelid::regclass::text, h.inhparent::regclass::text, '' FROM pg_inherits h
    JOIN pg_class c ON c.oid = h.inhparent WHERE c.relnamespace = to_regnamespace('dpkit')
"""

_RIGHTS = """
SELECT c.relname::text, lower(a.privilege_type), coalesce(r.rolname::text, 'public') FROM pg_class c
    CROSS JOIN LATERAL aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
    WHERE c.relnamespace = to_regnamespace('dpkit') AND a.grantee <> c.relowner
    AND a.privilege_type IN ('UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER') ORDER BY 1, 2, 3
"""


@dataclass(slots=True)
class PostgresTransaction:
    """What the store does inside one transaction."""

    raw: psycopg.Connection[tuple[Any, ...]]
    place: LedgerAddress
    ledger: int
    appended: tuple[int, str] | None = field(default=None)

    def head(self) -> tuple[int, str] | None:
        """The number and the hash of the last entry, as they are kept apart from it."""
        found = self.raw.execute("SELECT seq, hash FROM dpkit.heads WHERE ledger = %s", (self.ledger,)).fetchone()
        return None if found is None else (found[0], found[1])

    def rows(
        self, *, run: str | None = None, key: str | None = None, since: int | None = None, last: bool = False, most: int = -1
    ) -> Iterator[Row]:
        """Entries in the order of the log, or, with `last`, from its end; of one run, or of one key of it."""
        asked = {
            "left(run, 100) = left(%s, 100)": run,
            "run = %s": run,
            "left(key, 100) = left(%s, 100)": key,
            "key = %s": key,
            "seq >= %s": since,
        }
        given = {"ledger = %s": self.ledger, **{condition: value for condition, value in asked.items() if value is not None}}
        statement: Any = (
            f"SELECT seq, body, value, hash, run, key FROM dpkit.entries WHERE {' AND '.join(given)} "
            f"ORDER BY seq {'DESC' if last else ''} LIMIT %s"
        )
        values = (*map(storable, given.values()), None if most < 0 else most)
        if most >= 0:
            yield from self.raw.execute(statement, values).fetchall()
            return
        with self.raw.cursor(name="dpkit_rows") as cursor:  # read in parts: a log may be long
            yield from cursor.execute(statement, values)

    def append(self, *, seq: int, run: str, key: str, body: str, value: str | None, hash: str) -> None:
        """Write one entry; a trigger checks that it follows, and moves the head."""
        self.raw.execute(
            "INSERT INTO dpkit.entries (ledger, seq, run, key, body, value, hash) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (self.ledger, seq, storable(run), storable(key), body, value, hash),
        )
        self.appended = seq, hash

    def check_tables(self) -> None:
        """Refuse a schema whose tables, functions, triggers and rules are not exactly those that dpkit made."""
        found = Counter(tuple(map(str, row)) for row in self.raw.execute(_SHAPE))
        expected = expected_shape()
        odd = sorted({f"{kind} {name}" for kind, name, *_ in (found - expected) + (expected - found)})
        if odd:
            raise LedgerCorruptError(
                path=self.place,
                reason=f"its tables, functions and triggers are not those that dpkit made ({', '.join(odd)}).",
                fix="Nothing was charged. What stands there may drop what is written. Go back to a copy that verifies.",
            )

    def damages(self) -> list[str]:
        """Rights to change what is kept, which dpkit gave to nobody; other damage PostgreSQL finds when it reads."""
        rights = self.raw.execute(_RIGHTS)
        return [f"the role {role!r} may {right} in the table {table}: nobody needs that." for table, right, role in rights]

    def cannot_find(self) -> str:
        """Nothing beyond what holds for every store."""
        return ""


def schema_version(raw: psycopg.Connection[tuple[Any, ...]], place: LedgerAddress) -> int:
    """The version of the schema in a database: 0 where there is none. A newer one, or another program's, is refused."""
    if only_value(raw.execute("SELECT to_regnamespace('dpkit')")) is None:
        return 0
    found = None
    if only_value(raw.execute("SELECT to_regclass('dpkit.version')")) is not None:
        found = raw.execute("SELECT version FROM dpkit.version").fetchone()
    if found is None:
        raise NotALedgerError(
            path=place, reason="the database has a schema `dpkit` that is not dpkit's.", fix="Use another database."
        )
    if not 1 <= found[0] <= VERSION:
        raise NotALedgerError(
            path=place,
            reason=f"its schema is of version {found[0]}, and this dpkit knows versions up to {VERSION}.",
            fix="Install the dpkit that made it, or a newer one.",
        )
    return int(found[0])


def migrate(raw: psycopg.Connection[tuple[Any, ...]], place: LedgerAddress) -> None:
    """Make the schema, or bring it up to date, version by version; one transaction, one client at a time."""
    with raw.transaction():
        raw.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        for role in ROLES:
            if raw.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
                _run(raw, f"CREATE ROLE {role} NOLOGIN")
        if not only_value(raw.execute("SELECT pg_has_role(session_user, 'dpkit_steward', 'MEMBER')")):
            _run(raw, "GRANT dpkit_steward TO SESSION_USER")
        for version in range(schema_version(raw, place), VERSION):  # somebody else may have done it meanwhile
            _run(raw, _script(MIGRATIONS[version]))
            raw.execute(
                "INSERT INTO dpkit.version VALUES (1, %s) ON CONFLICT (one) DO UPDATE SET version = excluded.version",
                (version + 1,),
            )


@cache
def expected_shape() -> Counter[tuple[str, ...]]:
    """The tables, functions and triggers that the scripts make, as `_SHAPE` lists them."""
    script = "".join(_script(name) for name in MIGRATIONS.values())
    tables = re.findall(r"CREATE TABLE dpkit\.(\w+)", script)
    functions = re.findall(r"CREATE FUNCTION dpkit\.(\w+)\([^)]*\)(.*?)AS \$\$(.*?)\$\$;", script, re.DOTALL)
    triggers = re.findall(r"CREATE TRIGGER (\w+) .*? ON dpkit\.(\w+) .*? EXECUTE FUNCTION dpkit\.(\w+)", script)
    return Counter(
        [
            *(("table", name, "rp", "false") for name in tables),
            *(("function", name, str("SECURITY DEFINER" in how).lower(), source) for name, how, source in functions),
            *(("trigger", *names) for names in triggers),
        ]
    )


def storable(value: object) -> object:
    """Texts that a column of PostgreSQL can hold."""
    if isinstance(value, str) and ("\0" in value or not _is_utf8(value)):
        allowed = "text without the character NUL and without halves of characters"
        raise InvalidValueError(field="run or key", found="text that PostgreSQL cannot hold", allowed=allowed, where="ledger")
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _script(name: str) -> str:
    return files("dpkit.release.ledger").joinpath(name).read_text(encoding="utf-8")


def _run(raw: psycopg.Connection[tuple[Any, ...]], script: str) -> None:
    statement: LiteralString = script  # ours, from this package
    raw.execute(statement)


def only_value(cursor: psycopg.Cursor[tuple[Any, ...]]) -> object:
    """The first column of the only row; None where there is none."""
    found = cursor.fetchone()
    return None if found is None else found[0]
