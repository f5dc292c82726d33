"""Columns, constants, conditions and choices, as SQL writes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpkit.data.expressions import tree
from dpkit.data.expressions.facts import ValueKind, any_of, truth
from dpkit.data.expressions.sql_reader import Reader, SqlReader, case, compared
from dpkit.data.expressions.tree import Node

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Expression


def _column(reader: SqlReader, node: Expression) -> Node:
    identifier = node.this
    if node.args.get("table") is not None or not hasattr(identifier, "name"):
        raise reader.error(
            node,
            "found a table's name before a column",
            "columns by their names alone",
            'Put a name with a dot in double quotes: "a.b".',
        )
    name, quoted = str(identifier.name), bool(identifier.args.get("quoted"))
    if name not in reader.known and not quoted:
        same = [other for other in reader.known if other.casefold() == name.casefold()]
        name = same[0] if len(same) == 1 else name
    if name not in reader.known:
        raise reader.unknown_column(name, identifier, quoted=quoted)
    fact = reader.known[name]
    if fact is None:
        raise reader.error(
            identifier, f"the column {name!r} cannot be read by an expression", "columns of numbers, levels, booleans and dates"
        )
    return tree.column(name, fact)


def _literal(reader: SqlReader, node: Expression) -> Node:
    written = str(node.this)
    if node.args.get("is_string"):
        return tree.text(written)
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise reader.error(node, f"found {written[:40]}", "a finite number")
    return tree.constant(value)


def _connected(word: str) -> Reader:
    def read(reader: SqlReader, node: Expression) -> Node:
        what = f"what stands beside {word.upper()}"
        inputs = tuple(reader.read_as(part, ValueKind.BOOLEAN, what=what) for part in node.flatten(unnest=False))
        return Node(operation=word, fact=truth(nullable=any(one.fact.nullable for one in inputs)), inputs=inputs)

    return read


def _not(reader: SqlReader, node: Expression) -> Node:
    inner = reader.read_as(node.this, ValueKind.BOOLEAN, what="what stands after NOT")
    return Node(operation="not", fact=truth(nullable=inner.fact.nullable), inputs=(inner,))


def _comparison(word: str) -> Reader:
    return lambda reader, node: compared(reader, word, (node.this, node.expression))


def _different(reader: SqlReader, node: Expression) -> Node:
    same = compared(reader, "same", (node.this, node.expression))
    return Node(operation="not", fact=truth(nullable=False), inputs=(same,))


def _between(reader: SqlReader, node: Expression) -> Node:
    if node.args.get("symmetric"):
        raise reader.error(node, "found BETWEEN SYMMETRIC", "BETWEEN a AND b")
    value, ends = reader.read(node.this), [node.args["low"], node.args["high"]]
    low, high = (
        compared(reader, word, (node.this, end), [value, reader.read(end)])
        for word, end in zip((">=", "<="), ends, strict=True)
    )
    return Node(operation="and", fact=truth(nullable=low.fact.nullable or high.fact.nullable), inputs=(low, high))


def _in(reader: SqlReader, node: Expression) -> Node:
    listed = node.args.get("expressions") or []
    if any(node.args.get(other) is not None for other in ("query", "unnest", "field")) or not listed:
        raise reader.error(node.args.get("query") or node, "found a subquery or no list", "IN ('a', 'b')")
    value = reader.read(node.this)
    each = [compared(reader, "=", (node.this, item), [value, reader.read(item)]) for item in listed]
    if all(one.operation == "among" for one in each):  # of texts: one look for all of them
        places = tuple(dict.fromkeys(place for one in each for place in one.given))
        unmatched = tuple(dict.fromkeys(text for one in each for text in one.unmatched))
        return Node(operation="among", fact=each[0].fact, inputs=(value,), given=places, unmatched=unmatched)
    constants = [one.inputs[1].value for one in each if one.operation == "=" and one.inputs[0] is value]
    numbers = tuple(code for code in constants if code is not None and not math.isnan(code))
    if len(numbers) == len(each):
        return Node(operation="one of", fact=truth(nullable=value.fact.nullable), inputs=(value,), given=numbers)
    return (
        each[0]
        if len(each) == 1
        else Node(operation="or", fact=truth(nullable=any(one.fact.nullable for one in each)), inputs=tuple(each))
    )


def _is(reader: SqlReader, node: Expression) -> Node:
    against = reader.read(node.expression)
    value = reader.read(node.this)
    if against.kind is ValueKind.NULL:
        return Node(operation="is null", fact=truth(nullable=False), inputs=(value,))
    if against.kind is not ValueKind.BOOLEAN or against.value is None or value.kind not in (ValueKind.BOOLEAN, ValueKind.NULL):
        raise reader.error(
            node, f"found IS between {value.kind.value} and {against.kind.value}", "IS NULL, IS TRUE or IS FALSE"
        )
    return Node(operation="is true" if against.value else "is false", fact=truth(nullable=False), inputs=(value,))


def _case(reader: SqlReader, node: Expression) -> Node:
    branches, subject = node.args["ifs"], node.args.get("this")
    if subject is None:
        conditions = [reader.read_as(one.this, ValueKind.BOOLEAN, what="what stands after WHEN") for one in branches]
    else:
        value = reader.read(subject)
        conditions = [compared(reader, "=", (subject, one.this), [value, reader.read(one.this)]) for one in branches]
    return case(reader, conditions, [one.args["true"] for one in branches], node.args.get("default"))


def _if(reader: SqlReader, node: Expression) -> Node:
    condition = reader.read_as(node.this, ValueKind.BOOLEAN, what="what IF asks")
    return case(reader, [condition], [node.args["true"]], node.args.get("false"))


def _coalesce(reader: SqlReader, node: Expression) -> Node:
    parts = [node.this, *node.expressions]
    inputs = reader.several(parts, what="the values of COALESCE")
    fact = any_of([one.fact for one in inputs], nullable=all(one.fact.nullable for one in inputs))
    return inputs[0] if len(inputs) == 1 else Node(operation="first", fact=fact, inputs=tuple(inputs))


def _nullif(reader: SqlReader, node: Expression) -> Node:
    value = reader.read(node.this)
    equal = compared(reader, "=", (node.this, node.expression), [value, reader.read(node.expression)])
    return Node(operation="case", fact=value.fact.or_null(), inputs=(equal, tree.NULL, value))


READERS: dict[str, Reader] = {
    "Column": _column,
    "Literal": _literal,
    "Boolean": lambda reader, node: tree.truth_value(bool(node.this)),
    "Null": lambda reader, node: tree.NULL,
    "Paren": lambda reader, node: reader.read(node.this),
    "And": _connected("and"),
    "Or": _connected("or"),
    "Not": _not,
    "LT": _comparison("<"),
    "LTE": _comparison("<="),
    "GT": _comparison(">"),
    "GTE": _comparison(">="),
    "EQ": _comparison("="),
    "NEQ": _comparison("<>"),
    "NullSafeEQ": _comparison("same"),
    "NullSafeNEQ": _different,
    "Between": _between,
    "In": _in,
    "Is": _is,
    "Case": _case,
    "If": _if,
    "Coalesce": _coalesce,
    "Nullif": _nullif,
}


FUNCTIONS = ("CASE", "COALESCE", "IF", "NULLIF")
