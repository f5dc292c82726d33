"""From SQL text to a checked tree: sqlglot parses, and only what is listed here is understood. No data is read, nothing is run.

A row decides alone: aggregates, windows, subqueries, parameters and functions that are not listed are refused where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from dpkit.data.expressions import sql_dates, sql_logic, sql_numbers, sql_texts
from dpkit.data.expressions.facts import Fact
from dpkit.data.expressions.sql_reader import Reader, SqlReader
from dpkit.data.expressions.tree import Node
from dpkit.errors import ExpressionError, MissingExtraError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Expression

LONGEST = 10_000
"""Characters of an expression."""
DEEPEST = 60
"""How deep a tree may be: far beyond what a person writes, and far from where Python's own limit is."""

READERS: Mapping[str, Reader] = {**sql_logic.READERS, **sql_numbers.READERS, **sql_texts.READERS, **sql_dates.READERS}
"""What is understood, by the name that sqlglot gives it."""

FUNCTIONS: tuple[str, ...] = tuple(
    sorted((*sql_logic.FUNCTIONS, *sql_numbers.FUNCTIONS, *sql_texts.FUNCTIONS, *sql_dates.FUNCTIONS))
)
"""The functions, as an analyst writes them."""


def read_sql(sql: str, known: Mapping[str, Fact | None]) -> Node:
    """The tree of an expression over these columns. `ExpressionError` where it is not one that a row can answer alone.

    A column whose fact is None is there, and expressions cannot read it.
    """
    if len(sql) > LONGEST:
        raise ExpressionError(found=f"an expression of {len(sql)} characters", allowed=f"at most {LONGEST}")
    reader = SqlReader(sql, known, readers=READERS, functions=FUNCTIONS)
    try:
        parsed = _parsed(sql, known)
        _check_is(sql)
        found = reader.read(parsed)
        if found.depth > DEEPEST:
            raise _too_deep()
    except RecursionError:
        raise _too_deep() from None
    return found


def _too_deep() -> ExpressionError:
    return ExpressionError(
        found="it is nested too deep", allowed=f"at most {DEEPEST} levels", hint="Name parts of it with `let`."
    )


def _parsed(sql: str, known: Iterable[str] = ()) -> Expression:
    try:
        import sqlglot
        from sqlglot.errors import ParseError, SqlglotError
    except ImportError:
        raise MissingExtraError(package="sqlglot", purpose="`where` and `let`", extra="sql") from None
    try:
        found = [statement for statement in sqlglot.parse(sql) if statement is not None]
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        before, near = str(first.get("start_context") or ""), str(first.get("highlight") or "")
        start = max(sql.find(before + near), 0) + len(before) if near else 0
        said = f"this is not SQL near {near!r}" if near else "this is not SQL"
        allowed = "an expression such as age >= 18 and region = 'north'"
        raise ExpressionError(found=said, start=start, allowed=allowed, hint=_word_of_sql(sql, known)) from None
    except (SqlglotError, ValueError, KeyError, AttributeError, TypeError, IndexError):  # whatever a parser trips over
        raise ExpressionError(found="this is not SQL", allowed="an expression; are all quotes closed?") from None
    if len(found) != 1:
        raise ExpressionError(found=f"{len(found)} statements", allowed="one expression")
    return found[0]


_COMPARISONS = ("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "NULLSAFE_EQ")
_BETWEEN_CONDITIONS = ("AND", "OR", "COMMA", "CASE", "WHEN", "THEN", "ELSE", "END")


def _check_is(sql: str) -> None:
    """Refuse a = b IS NULL: databases read (a = b) IS NULL, and sqlglot does not."""
    import sqlglot

    before: list[set[str]] = [set()]
    for token in sqlglot.tokenize(sql):
        word = token.token_type.name
        if word == "L_PAREN":
            before.append(set())
        elif word == "R_PAREN" and len(before) > 1:
            before.pop()
        elif word in _BETWEEN_CONDITIONS:
            before[-1].clear()
        elif word == "IS" or word in _COMPARISONS:
            before[-1].add("IS" if word == "IS" else "a comparison")
            if len(before[-1]) > 1:
                hint = "What belongs together? Write (a = b) IS NULL or a = (b IS NULL)."
                raise ExpressionError(
                    found="a comparison beside IS", start=token.start, allowed="parentheses around one of them", hint=hint
                )


def _word_of_sql(sql: str, known: Iterable[str]) -> str:
    """What to do about a column that has the name of a word of SQL, such as `union` or `when`; empty where there is none."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    for name in known:
        if not name.isidentifier() or re.search(rf"(?<![\w\"]){name}(?![\w\"])", sql, re.IGNORECASE) is None:
            continue
        try:
            sqlglot.parse(f"{name} > 0; ({name} > 0)")  # some are words of SQL at the beginning only
        except SqlglotError:
            return f'The column {name!r} has the name of a word of SQL: write it in double quotes, "{name}".'
    return ""
