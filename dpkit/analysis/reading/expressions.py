"""`let` and `where` of an analysis or of one step: SQL, checked against the declared columns, each mistake at its own place."""

from __future__ import annotations

import re

from dpkit.analysis.reading import keys
from dpkit.analysis.reading.nodes import NodeReader, described, joined
from dpkit.analysis.reading.read_yaml import Entries, Node, Scalar, place_within
from dpkit.data.columns.schema import Schema
from dpkit.data.expressions.derived import derive, require
from dpkit.errors import ExpressionError, MissingExtraError

_LET = "SQL, or a mapping with `sql` and the bounds `lower` and `upper`"


def with_expressions(reading: NodeReader, node: Entries, path: str, schema: Schema) -> Schema | None:
    """The schema with what `let` and `where` of this node add; None where one of them is wrong."""
    before = len(reading.problems)
    wrong: list[str] = []
    given = node.entries.get("let")
    listed = None if given is None else reading.mapping(given, joined(path, "let"), "a mapping from new names to SQL")
    for name, entry in ({} if listed is None else listed.entries).items():
        assert listed is not None
        inside = joined(joined(path, "let"), name)
        if name in schema.names or not name.strip():
            reading.problem(listed.keys[name], inside, f"the name {name!r} is taken", "a name that no column has")
            continue
        found = _derived(reading, name, entry, inside, schema, wrong)
        if found is None:
            wrong.append(name)
        else:
            schema = found
    condition = node.entries.get("where")
    if condition is not None:
        found = _conditioned(reading, condition, joined(path, "where"), schema, wrong)
        schema = schema if found is None else found
    return schema if len(reading.problems) == before else None


def _derived(reading: NodeReader, name: str, node: Node, path: str, schema: Schema, wrong: list[str]) -> Schema | None:
    bounds: dict[str, float | None] = {"lower": None, "upper": None}
    written = node
    if isinstance(node, Entries):
        reading.keys(node, path, keys.LET, required=("sql",))
        before = len(reading.problems)
        for key in (keys.LET_LOWER, keys.LET_UPPER):
            found = reading.value(node, path, key)
            bounds[key.name] = found if isinstance(found, float) else None
        if len(reading.problems) > before or "sql" not in node.entries:
            return None
        written = node.entries["sql"]
    sql = _sql(reading, written, path)
    if sql is None:
        return None
    try:
        return schema.with_derived(derive(name, sql, schema.facts, lower=bounds["lower"], upper=bounds["upper"]))
    except (ExpressionError, MissingExtraError) as error:
        _refuse(reading, error, written, path, sql, wrong)
        return None


def _conditioned(reading: NodeReader, node: Node, path: str, schema: Schema, wrong: list[str]) -> Schema | None:
    sql = _sql(reading, node, path)
    if sql is None:
        return None
    try:
        return schema.with_condition(require(sql, schema.facts))
    except (ExpressionError, MissingExtraError) as error:
        _refuse(reading, error, node, path, sql, wrong)
        return None


def _sql(reading: NodeReader, node: Node, path: str) -> str | None:
    """The text of an expression. An unquoted number or `true` is one, too."""
    if isinstance(node, Scalar) and node.value is not None and str(node.value).strip():
        return str(node.value) if not isinstance(node.value, bool) else str(node.value).lower()
    reading.problem(node, path, f"found {described(node)}", _LET if ".let" in f".{path}" else "a condition in SQL")
    return None


def _refuse(
    reading: NodeReader, error: ExpressionError | MissingExtraError, node: Node, path: str, sql: str, wrong: list[str]
) -> None:
    if isinstance(error, MissingExtraError):
        reading.problem(node, path, str(error))
        return
    if reading.problems and any(re.search(rf"\b{re.escape(name)}\b", sql) for name in wrong):
        return  # it reads what was refused above
    place = place_within(node, error.start) if isinstance(node, Scalar) else node
    reading.problem(place, path, error.found, error.allowed, error.hint)
