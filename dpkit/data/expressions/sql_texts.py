"""Texts: since all texts that a value can be are known, a function of texts is a table, made before any row is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpkit.data.expressions import sql_dates, tree
from dpkit.data.expressions.facts import ValueKind, number, one_of_texts, truth
from dpkit.data.expressions.sql_numbers import rounded_to
from dpkit.data.expressions.sql_reader import Reader, SqlReader, among, number_as_level, numbers_in, tabled
from dpkit.data.expressions.tree import Node

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Expression


def _text(reader: SqlReader, node: Expression, *, what: str) -> Node:
    return reader.read_as(node, ValueKind.TEXT, what=what)


def mapped(reader: SqlReader, node: Expression, inner: Node, function: Callable[[str], str | None]) -> Node:
    """What a function makes of each text; None is NULL."""
    if inner.kind is ValueKind.NULL:
        return inner
    made = [function(one) for one in inner.fact.texts]
    fact = one_of_texts([one for one in made if one is not None], nullable=inner.fact.nullable or None in made)
    reader.limited(len(fact.texts), node)
    places = {one: float(place) for place, one in enumerate(fact.texts)}
    given = tuple(float("nan") if one is None else places[one] for one in made)
    if inner.value is not None and fact.texts:
        return tree.text(fact.texts[0])
    return Node(operation="table", fact=fact, inputs=(inner,), given=given)


def _changed(function: Callable[[str], str], name: str) -> Reader:
    def read(reader: SqlReader, node: Expression) -> Node:
        return mapped(reader, node, _text(reader, node.this, what=f"what {name} takes"), function)

    return read


def _trimmed(reader: SqlReader, node: Expression) -> Node:
    if any(node.args.get(other) is not None for other in ("expression", "position", "collation")):
        raise reader.error(node, "TRIM with more than a text", "TRIM(x)")
    return mapped(reader, node, _text(reader, node.this, what="what TRIM takes"), lambda one: one.strip(" "))


def _length(reader: SqlReader, node: Expression) -> Node:
    inner = _text(reader, node.this, what="what LENGTH takes")
    return inner if inner.kind is ValueKind.NULL else tabled(inner, [float(len(one)) for one in inner.fact.texts])


def _substring(reader: SqlReader, node: Expression) -> Node:
    inner = _text(reader, node.this, what="what SUBSTRING takes")
    start = reader.constant(node.args.get("start"), what="where it begins", otherwise=1.0)
    length = reader.constant(node.args.get("length"), what="its length", otherwise=float("inf"))
    if start < 1.0 or not start.is_integer() or length < 0.0 or not (length.is_integer() or length == float("inf")):
        raise reader.error(node, "SUBSTRING from elsewhere", "a place >= 1, and a length >= 0")
    stop = None if length == float("inf") else int(start - 1 + min(length, 1e9))
    return mapped(reader, node, inner, lambda one: one[int(min(start, 1e9)) - 1 : stop])


def _end(take: Callable[[str, int], str], name: str) -> Reader:
    def read(reader: SqlReader, node: Expression) -> Node:
        count = reader.constant(node.expression, what="the number of characters")
        if count < 0.0 or not count.is_integer():
            raise reader.error(node, f"{name} with another number", "a whole number >= 0")
        return mapped(reader, node, _text(reader, node.this, what=f"what {name} takes"), lambda one: take(one, int(count)))

    return read


def _joined(reader: SqlReader, node: Expression, parts: Sequence[Expression]) -> Node:
    """Texts one after the other: each pair is a place in a table of both. NULL where one of them is."""
    found = _as_text(reader, parts[0])
    for part in parts[1:]:
        other = _as_text(reader, part)
        if ValueKind.NULL in (found.kind, other.kind):
            return tree.NULL
        reader.limited(len(found.fact.texts) * len(other.fact.texts), node)
        both = [one + two for one in found.fact.texts for two in other.fact.texts]
        if found.value is not None and other.value is not None:
            found = tree.text(found.fact.texts[int(found.value)] + other.fact.texts[int(other.value)])
            continue
        width = float(len(other.fact.texts))
        nullable = found.fact.nullable or other.fact.nullable
        place = number(0.0, len(both) - 1.0, nullable=nullable, whole=True)
        shifted = Node(operation="*", fact=place, inputs=(found, tree.constant(width)))
        pair = Node(operation="+", fact=place, inputs=(shifted, other))
        fact = one_of_texts(both, nullable=nullable)
        places = {one: float(index) for index, one in enumerate(fact.texts)}
        found = Node(operation="table", fact=fact, inputs=(pair,), given=tuple(places[one] for one in both))
    return found


def _as_text(reader: SqlReader, node: Expression) -> Node:
    found = number_as_level(reader.read(node))
    if found.kind in (ValueKind.TEXT, ValueKind.NULL):
        return found
    raise reader.error(node, f"what is joined is {found.kind.value}", "a text", "CAST(x AS TEXT) makes one of it.")


def _like(*, same_case: bool) -> Reader:
    def read(reader: SqlReader, node: Expression) -> Node:
        inner = _text(reader, node.this, what="what stands before LIKE")
        pattern = _text(reader, node.expression, what="what stands after LIKE")
        if ValueKind.NULL in (inner.kind, pattern.kind):
            return Node(operation="constant", fact=truth(nullable=True), given=(float("nan"),))
        if pattern.value is None:
            raise reader.error(node.expression, "the pattern depends on the row", "a text in quotes")
        written = pattern.fact.texts[int(pattern.value)]
        parts = [".*" if one == "%" else "." if one == "_" else re.escape(one) for one in re.sub("%+", "%", written)]
        if parts.count(".*") > _MOST_WILD:
            raise reader.error(node.expression, f"more than {_MOST_WILD} times %", "fewer")
        matches = re.compile("".join(parts), re.DOTALL if same_case else re.DOTALL | re.IGNORECASE)
        return _matching(inner, [one for one in inner.fact.texts if matches.fullmatch(one)], written)

    return read


_MOST_WILD = 4


def _starts(reader: SqlReader, node: Expression) -> Node:
    inner = _text(reader, node.this, what="what STARTS_WITH takes")
    begin = _text(reader, node.expression, what="what it begins with")
    if ValueKind.NULL in (inner.kind, begin.kind) or begin.value is None:
        raise reader.error(node.expression, "what it begins with depends on the row", "a text in quotes")
    written = begin.fact.texts[int(begin.value)]
    return _matching(inner, [one for one in inner.fact.texts if one.startswith(written)], written)


def _matching(inner: Node, texts: Sequence[str], written: str) -> Node:
    return among(inner, texts, unmatched=() if texts else (written,))


def _cast(reader: SqlReader, node: Expression) -> Node:
    """From one kind to another; what cannot be read is NULL."""
    wanted = str(node.args["to"].this.value if hasattr(node.args["to"].this, "value") else node.args["to"].this).upper()
    inner = reader.read(node.this)
    if node.args["to"].expressions:
        hint = "ROUND(x, 2) rounds, LEFT(x, 10) cuts."
        raise reader.error(node, f"found a cast to {wanted} of a stated size", f"a cast to {wanted}", hint)
    if inner.kind is ValueKind.NULL:
        return inner
    if wanted in _WHOLE or wanted in _NUMBERS:
        found = _as_number(reader, node, inner)
        return rounded_to(found, 0.0) if wanted in _WHOLE and not found.fact.whole else found
    if wanted in _TEXTS:
        return _spelt(reader, node, inner)
    if wanted in ("BOOLEAN", "BOOL"):
        return _as_truth(reader, node, inner)
    if wanted in sql_dates.CASTS:
        return sql_dates.cast(reader, node, inner, sql_dates.CASTS[wanted])
    raise reader.error(node, f"found a cast to {wanted}", "INT, DOUBLE, TEXT, BOOLEAN, DATE, TIMESTAMP")


_WHOLE = frozenset(["INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT"])
_NUMBERS = frozenset(["DOUBLE", "FLOAT", "REAL", "DECIMAL", "NUMERIC"])
_TEXTS = frozenset(["TEXT", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR", "STRING"])


def _as_number(reader: SqlReader, node: Expression, inner: Node) -> Node:
    if inner.kind is ValueKind.NUMBER:
        return inner
    if inner.kind is ValueKind.BOOLEAN:
        lower, upper = inner.fact.lower, inner.fact.upper
        fact = number(lower, upper, nullable=inner.fact.nullable, whole=True)
        return Node(operation="case", fact=fact, inputs=(inner, tree.constant(1.0), _unless_false(inner)))
    if inner.kind is ValueKind.TEXT:
        return tabled(inner, numbers_in(inner.fact.texts))
    raise reader.error(node, f"found a cast of {inner.kind.value} to a number", "", "Write EXTRACT(year FROM d), say.")


def _unless_false(inner: Node) -> Node:
    """0 where a condition is false, NULL where it is NULL."""
    is_false = Node(operation="is false", fact=truth(nullable=False), inputs=(inner,))
    return Node(operation="case", fact=number(0.0, 0.0, nullable=True), inputs=(is_false, tree.constant(0.0), tree.NULL))


def _spelt(reader: SqlReader, node: Expression, inner: Node) -> Node:
    fact = inner.fact
    if inner.kind is ValueKind.TEXT:
        return inner
    if inner.kind is ValueKind.BOOLEAN:
        texts = one_of_texts(("false", "true"), nullable=fact.nullable)
        return Node(operation="table", fact=texts, inputs=(_as_number(reader, node, inner),), given=(0.0, 1.0))
    if inner.kind is not ValueKind.NUMBER or not fact.whole or not fact.is_bounded:
        raise reader.error(
            node, f"found a cast of {inner.kind.value} to a text", "a cast of a text, a truth value or a whole number"
        )
    first, count = fact.lower, int(fact.upper - fact.lower) + 1
    reader.limited(count, node)
    texts = one_of_texts([str(int(first) + place) for place in range(count)], nullable=fact.nullable)
    place = number(0.0, count - 1.0, nullable=fact.nullable, whole=True)
    shifted = Node(operation="-", fact=place, inputs=(inner, tree.constant(first)))
    return Node(operation="table", fact=texts, inputs=(shifted,), given=tuple(float(one) for one in range(count)))


def _as_truth(reader: SqlReader, node: Expression, inner: Node) -> Node:
    from dpkit.data.columns.kinds import TRUTH

    if inner.kind is ValueKind.BOOLEAN:
        return inner
    if inner.kind is ValueKind.NUMBER:
        return Node(operation="<>", fact=truth(nullable=inner.fact.nullable), inputs=(inner, tree.constant(0.0)))
    if inner.kind is ValueKind.TEXT:
        codes = [TRUTH.get(one.strip().casefold(), float("nan")) for one in inner.fact.texts]
        found = tabled(inner, codes, ValueKind.BOOLEAN)
        return Node(operation="table", fact=truth(nullable=found.fact.nullable), inputs=(inner,), given=tuple(codes))
    raise reader.error(node, f"found a cast of {inner.kind.value} to a truth value")


READERS: dict[str, Reader] = {
    "Upper": _changed(str.upper, "UPPER"),
    "Lower": _changed(str.lower, "LOWER"),
    "Trim": _trimmed,
    "Length": _length,
    "Substring": _substring,
    "Left": _end(lambda one, count: one[:count], "LEFT"),
    "Right": _end(lambda one, count: one[len(one) - min(count, len(one)) :], "RIGHT"),
    "Concat": lambda reader, node: _joined(reader, node, node.expressions),
    "DPipe": lambda reader, node: _joined(reader, node, (node.this, node.expression)),
    "Like": _like(same_case=True),
    "ILike": _like(same_case=False),
    "StartsWith": _starts,
    "Cast": _cast,
    "TryCast": _cast,
}

FUNCTIONS = ("CAST", "CONCAT", "LEFT", "LENGTH", "LOWER", "RIGHT", "STARTS_WITH", "SUBSTRING", "TRIM", "UPPER")
