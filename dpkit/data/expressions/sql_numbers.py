"""Arithmetic and functions of numbers, each with the range of what it gives and when it is NULL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpkit.data.expressions import intervals, sql_dates, tree
from dpkit.data.expressions.evaluate import rounded
from dpkit.data.expressions.facts import Fact, ValueKind, any_of, number
from dpkit.data.expressions.intervals import Range
from dpkit.data.expressions.sql_reader import Reader, SqlReader
from dpkit.data.expressions.tree import Node

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Expression


def _range(node: Node) -> Range:
    return (node.fact.lower, node.fact.upper) if node.kind is not ValueKind.NULL else (0.0, 0.0)


def computed(operation: str, inputs: Sequence[Node], bounds: Range, *, nullable: bool = False, whole: bool = False) -> Node:
    """A number. It may be NULL where an operand may be, or where one may be infinite: infinities cancel to nothing."""
    may_be_null = nullable or any(one.fact.nullable or not one.fact.is_bounded for one in inputs)
    return Node(operation=operation, fact=number(*bounds, nullable=may_be_null, whole=whole), inputs=tuple(inputs))


def _numbers(reader: SqlReader, nodes: Sequence[Expression], *, what: str) -> list[Node]:
    return [reader.read_as(node, ValueKind.NUMBER, what=what) for node in nodes]


def _all_whole(inputs: Sequence[Node]) -> bool:
    return all(one.fact.whole for one in inputs)


def _sum(reader: SqlReader, node: Expression) -> Node:
    inputs = [reader.read(node.this), reader.read(node.expression)]
    if any(one.kind in sql_dates.KINDS for one in inputs):
        return sql_dates.shifted(reader, node, *inputs, sign=1.0)
    for one, part in zip(inputs, (node.this, node.expression), strict=True):
        reader.expect(one, part, ValueKind.NUMBER, what="what is added")
    return computed("+", inputs, intervals.add(*map(_range, inputs)), whole=_all_whole(inputs))


def _difference(reader: SqlReader, node: Expression) -> Node:
    one, other = inputs = [reader.read(node.this), reader.read(node.expression)]
    if any(one.kind in sql_dates.KINDS for one in inputs):
        return sql_dates.shifted(reader, node, *inputs, sign=-1.0)
    for value, part in zip(inputs, (node.this, node.expression), strict=True):
        reader.expect(value, part, ValueKind.NUMBER, what="what is subtracted")
    return computed("-", inputs, intervals.add(_range(one), intervals.negative(_range(other))), whole=_all_whole(inputs))


def _product(reader: SqlReader, node: Expression) -> Node:
    inputs = _numbers(reader, (node.this, node.expression), what="what is multiplied")
    bounds = intervals.multiply(*map(_range, inputs))
    same = inputs[0] == inputs[1]
    if same and inputs[0].fact.is_bounded:  # a square is never negative
        bounds = intervals.magnitude(bounds) if bounds[0] >= 0.0 else (0.0, bounds[1])
    return computed("*", inputs, bounds, whole=_all_whole(inputs))


def _quotient(reader: SqlReader, node: Expression) -> Node:
    inputs = _numbers(reader, (node.this, node.expression), what="what is divided")
    one, other = map(_range, inputs)
    return computed("/", inputs, intervals.divide(one, other), nullable=intervals.holds_zero(other))


def _remainder(reader: SqlReader, node: Expression) -> Node:
    inputs = _numbers(reader, (node.this, node.expression), what="what is divided")
    one, other = map(_range, inputs)
    nullable = intervals.holds_zero(other)
    return computed("%", inputs, intervals.remainder(one, other), nullable=nullable, whole=_all_whole(inputs))


def _negative(reader: SqlReader, node: Expression) -> Node:
    (inner,) = _numbers(reader, (node.this,), what="what stands after the minus")
    if inner.value is not None and inner.kind is ValueKind.NUMBER:
        return tree.constant(-inner.value + 0.0)
    return computed("negative", (inner,), intervals.negative(_range(inner)), whole=inner.fact.whole)


def _one(operation: str, bounds: Callable[[Range], Range], *, whole: Callable[[Fact], bool] = lambda fact: False) -> Reader:
    """A function of one number that always has a value."""

    def read(reader: SqlReader, node: Expression) -> Node:
        (inner,) = _numbers(reader, (node.this,), what=f"what {operation.upper()} takes")
        return computed(operation, (inner,), bounds(_range(inner)), whole=whole(inner.fact))

    return read


def _rising(function: Callable[[float], float]) -> Callable[[Range], Range]:
    return lambda bounds: intervals.rising(function, bounds)


def _to_whole(operation: str, function: Callable[[float], float]) -> Reader:
    """FLOOR, CEIL and TRUNC of a number without digits."""
    plain = _one(operation, _rising(function), whole=lambda fact: True)

    def read(reader: SqlReader, node: Expression) -> Node:
        if node.args.get("decimals") is not None or node.args.get("to") is not None:
            raise reader.error(node, f"{operation.upper()} with digits", f"{operation.upper()}(x)", "ROUND takes digits.")
        return plain(reader, node)

    return read


def _round(reader: SqlReader, node: Expression) -> Node:
    (inner,) = _numbers(reader, (node.this,), what="what ROUND takes")
    digits = reader.constant(node.args.get("decimals"), what="the number of digits", otherwise=0.0)
    if not digits.is_integer() or abs(digits) > 15.0 or node.args.get("truncate") is not None:
        raise reader.error(node, "ROUND with other digits", "a whole number from -15 to 15")
    return rounded_to(inner, digits)


def rounded_to(inner: Node, digits: float) -> Node:
    """Halves away from zero."""
    bounds = intervals.rising(lambda value: float(rounded(np.float64(value), digits)), _range(inner))  # type: ignore[arg-type]
    found = computed("round", (inner,), bounds, whole=digits <= 0.0)
    return Node(operation="round", fact=found.fact, inputs=(inner,), given=(digits,))


def _root(reader: SqlReader, node: Expression) -> Node:
    (inner,) = _numbers(reader, (node.this,), what="what SQRT takes")
    lower, upper = _range(inner)
    bounds = intervals.rising(math.sqrt, (max(lower, 0.0), max(upper, 0.0)))
    return computed("sqrt", (inner,), bounds, nullable=lower < 0.0)


def _exponential(reader: SqlReader, node: Expression) -> Node:
    (inner,) = _numbers(reader, (node.this,), what="what EXP takes")
    lower, upper = intervals.rising(lambda value: float(np.exp(value)), _range(inner), loosely=True)
    return computed("exp", (inner,), (max(lower, 0.0), upper))


def _logarithm_of(reader: SqlReader, node: Expression, operation: str) -> Node:
    (inner,) = _numbers(reader, (node,), what="what a logarithm takes")
    lower, upper = _range(inner)
    function = {"ln": np.log, "log10": np.log10, "log2": np.log2}[operation]
    bounds = intervals.rising(lambda value: float(function(max(value, 0.0))), (lower, upper), loosely=True)
    return computed(operation, (inner,), bounds if upper > 0.0 else (0.0, 0.0), nullable=lower <= 0.0)


def _logarithm(reader: SqlReader, node: Expression) -> Node:
    bases = {10.0: "log10", 2.0: "log2"}
    base = None if node.args.get("expression") is None else reader.constant(node.this, what="the base of a logarithm")
    if base not in bases:
        raise reader.error(node, "LOG means one thing here and another there", "LN(x), LOG10(x) or LOG2(x)")
    return _logarithm_of(reader, node.expression, bases[base])


def _power(reader: SqlReader, node: Expression) -> Node:
    inputs = _numbers(reader, (node.this, node.expression), what="what POWER takes")
    base, exponent = map(_range, inputs)
    fixed = exponent[0] == exponent[1] and exponent[0].is_integer()
    nullable = (base[0] < 0.0 and not fixed) or (intervals.holds_zero(base) and exponent[0] < 0.0)
    return computed("power", inputs, intervals.power(base, exponent), nullable=nullable)


def _extreme(operation: str, bounds: Callable[[list[Range]], Range]) -> Reader:
    """LEAST and GREATEST: NULL where one value is."""

    def read(reader: SqlReader, node: Expression) -> Node:
        inputs = reader.several([node.this, *node.expressions], what=f"the values of {operation.upper()}", ordered=True)
        kinds = [one.kind for one in inputs if one.kind is not ValueKind.NULL]
        if kinds and kinds[0] is ValueKind.BOOLEAN:
            raise reader.error(node, "truth values have no order", "numbers, texts or dates")
        fact = any_of([one.fact for one in inputs])
        if kinds and kinds[0] is not ValueKind.TEXT:
            lower, upper = bounds([_range(one) for one in inputs if one.kind is not ValueKind.NULL])
            fact = Fact(kind=fact.kind, lower=lower, upper=upper, nullable=fact.nullable, whole=fact.whole)
        return Node(operation=operation, fact=fact, inputs=tuple(inputs))

    return read


READERS: dict[str, Reader] = {
    "Add": _sum,
    "Sub": _difference,
    "Mul": _product,
    "Div": _quotient,
    "Mod": _remainder,
    "Neg": _negative,
    "Abs": _one("abs", intervals.magnitude, whole=lambda fact: fact.whole),
    "Sign": _one("sign", _rising(lambda value: float(np.sign(value))), whole=lambda fact: True),
    "Floor": _to_whole("floor", lambda value: float(np.floor(value))),
    "Ceil": _to_whole("ceil", lambda value: float(np.ceil(value))),
    "Trunc": _to_whole("trunc", lambda value: float(np.trunc(value))),
    "Round": _round,
    "Sqrt": _root,
    "Exp": _exponential,
    "Ln": lambda reader, node: _logarithm_of(reader, node.this, "ln"),
    "Log": _logarithm,
    "Pow": _power,
    "Least": _extreme("least", intervals.least),
    "Greatest": _extreme("greatest", intervals.greatest),
}

FUNCTIONS = (
    "ABS",
    "CEIL",
    "EXP",
    "FLOOR",
    "GREATEST",
    "LEAST",
    "LN",
    "LOG10",
    "LOG2",
    "MOD",
    "POWER",
    "ROUND",
    "SIGN",
    "SQRT",
    "TRUNC",
)
