"""The reader of parsed SQL: it knows the columns, checks kinds, and refuses with the place of what it refuses."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpkit.contracts.table import Cells
from dpkit.data.columns.cells import Kind, objects, read_numbers, text_of
from dpkit.data.expressions import tree
from dpkit.data.expressions.calendar import DAY, day_of, second_of
from dpkit.data.expressions.facts import Fact, ValueKind, any_of, one_of_texts, truth
from dpkit.data.expressions.tree import Node
from dpkit.errors import ExpressionError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Expression

MOST_TEXTS = 10_000
"""How many texts a value may be."""
LARGEST = 10_000
"""How many operations an expression may hold."""

Reader = Callable[["SqlReader", "Expression"], Node]


class SqlReader:
    """Reads sqlglot's nodes, each by the function that is listed for its type."""

    def __init__(
        self, sql: str, known: Mapping[str, Fact | None], *, readers: Mapping[str, Reader], functions: Sequence[str]
    ) -> None:
        self.sql = sql
        self.known = known
        self._readers = readers
        self._functions = functions

    def read(self, node: Expression) -> Node:
        """The checked tree of one node and all below it."""
        name = type(node).__name__
        reader = self._readers.get(name)
        if reader is None:
            raise self._refused(node)
        self._check_parts(node, name)
        found = reader(self, node)
        if node.args.get("negate"):  # NOT LIKE, as some versions of sqlglot give it
            found = Node(operation="not", fact=truth(nullable=found.fact.nullable), inputs=(found,))
        if found.size > LARGEST:
            raise self.error(node, f"it holds more than {LARGEST} operations", hint="Name parts of it with `let`.")
        return found

    def _check_parts(self, node: Expression, name: str) -> None:
        """Refuse a node with a part that no reader looks at: what is passed over might change what is meant."""
        for part, value in node.args.items():
            if value is None or value is False or value == [] or part in _ALWAYS_READ or part in _READ.get(name, ()):
                continue
            raise self.error(node, f"found {_spelt(self, node)} with {part!r}, which is not understood here", "it without that")

    def read_as(self, node: Expression, *kinds: ValueKind, what: str) -> Node:
        """The same, of one of these kinds, or NULL."""
        return self.expect(self.read(node), node, *kinds, what=what)

    def expect(self, found: Node, node: Expression, *kinds: ValueKind, what: str) -> Node:
        """Refuse a value of another kind."""
        if found.kind is ValueKind.NULL or found.kind in kinds:
            return found
        allowed = " or ".join(kind.value for kind in kinds)
        raise self.error(node, f"{what} is {found.kind.value}", allowed, _how_to_convert(found.kind, kinds))

    def several(self, nodes: Sequence[Expression], *, what: str, ordered: bool = False) -> list[Node]:
        """Values of one kind, texts with one list."""
        return self.alike([self.read(node) for node in nodes], nodes, what=what, ordered=ordered)

    def alike(self, found: Sequence[Node], nodes: Sequence[Expression], *, what: str, ordered: bool = False) -> list[Node]:
        """Values made comparable: of one kind, texts as places in one list, dates as times where one is a time.

        The list of texts is in the order in which they were written, or where `ordered` in that of the alphabet.
        """
        kinds = [node.kind for node in found if node.kind is not ValueKind.NULL]
        if ValueKind.DATE in kinds or ValueKind.TIME in kinds:
            found = [self._as_moment(one, node) for one, node in zip(found, nodes, strict=True)]
            if any(one.kind is ValueKind.TIME for one in found):
                found = [as_time(one) if one.kind is ValueKind.DATE else one for one in found]
        elif ValueKind.TEXT in kinds:
            found = [number_as_level(one) for one in found]
        kinds = [node.kind for node in found if node.kind is not ValueKind.NULL]
        for place, one in enumerate(found):
            if one.kind not in (ValueKind.NULL, kinds[0]):
                hint = _how_to_convert(one.kind, (kinds[0],)) or _how_to_convert(kinds[0], (one.kind,))
                raise self.error(nodes[place], f"{what} are {kinds[0].value} and {one.kind.value}", "one kind", hint)
        if kinds and kinds[0] is ValueKind.TEXT:
            texts = list(dict.fromkeys(text for one in found for text in one.fact.texts))
            texts = sorted(texts) if ordered else texts
            self.limited(len(texts), nodes[0])
            return [as_places(one, texts) for one in found]
        return list(found)

    def _as_moment(self, one: Node, node: Expression) -> Node:
        """A constant text beside dates is a date, or a time, as ISO writes it."""
        if one.kind is not ValueKind.TEXT or one.value is None:
            return one
        written = one.fact.texts[int(one.value)]
        for kind, code in ((ValueKind.DATE, day_of(written)), (ValueKind.TIME, second_of(written))):
            if code is not None:
                return tree.constant(code, kind)
        raise self.error(node, "this text is no date", "a date such as '2024-12-31', or a time such as '2024-12-31 23:59:59'")

    def limited(self, texts: int, node: Expression) -> None:
        """Refuse a value that may be any of very many texts."""
        if texts > MOST_TEXTS:
            raise self.error(node, f"it may be any of {texts} texts", f"at most {MOST_TEXTS}")

    def constant(self, node: Expression | None, *, what: str, otherwise: float | None = None) -> float:
        """A number that does not depend on the row."""
        if node is None and otherwise is not None:
            return otherwise
        found = None if node is None else self.read(node)
        value = None if found is None else found.value
        if value is None or math.isnan(value) or found is None or found.kind is not ValueKind.NUMBER:
            raise self.error(node, f"{what} depends on the row", "a number")
        return value

    def error(self, node: Expression | None, found: str, allowed: str = "", hint: str = "") -> ExpressionError:
        """A refusal at the place of a node."""
        return ExpressionError(found=found, allowed=allowed, hint=hint, start=self._start(node))

    def unknown_column(self, name: str, node: Expression, *, quoted: bool) -> ExpressionError:
        """There is no such column; texts in the wrong quotes look like one."""
        near = difflib.get_close_matches(name, list(self.known), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else ""
        levels = [column for column, fact in self.known.items() if fact is not None and name in fact.texts]
        if quoted or levels:
            level = f" {name!r} is a level of {levels[0]!r}." if levels else ""
            hint = f"Texts stand in single quotes: '{name}'.{level} {'' if levels else hint}".strip()
        return self.error(node, f"there is no column named {name!r}", ", ".join(self.known), hint)

    def _start(self, node: Expression | None) -> int:
        """Where a node begins: what sqlglot noted of it or of what is below it; else the word that it is written with."""
        if node is None:
            return 0
        own = node.meta.get("start")
        if isinstance(own, int):
            return own
        name = type(node).__name__
        word = _WORDS.get(name, name)
        place = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.sql, re.IGNORECASE)
        if place is not None and (name in _WORDS or name in _STATEMENTS):
            return place.start()
        below = [start for inner in node.walk() if isinstance(start := inner.meta.get("start"), int)]
        return min(below) if below else 0 if place is None else place.start()

    def _refused(self, node: Expression) -> ExpressionError:
        from sqlglot import expressions

        name = _spelt(self, node)
        alone = "an expression that each row answers alone"
        if isinstance(node, expressions.AggFunc | expressions.Window):
            kind = "a window" if isinstance(node, expressions.Window) else f"{name}, which looks at several rows"
            return self.error(node, f"found {kind}", alone)
        if isinstance(node, expressions.Query | expressions.Subquery | expressions.SubqueryPredicate):
            return self.error(node, "found a subquery", alone)
        if isinstance(node, expressions.Alias):
            return self.error(node.args.get("alias"), "found a second name", "one expression", "Is an operator missing?")
        if isinstance(node, expressions.Placeholder | expressions.Parameter | expressions.SessionParameter):
            return self.error(node, "found a parameter", "columns and constants")
        if isinstance(node, expressions.Func):
            near = difflib.get_close_matches(name.upper(), self._functions, n=1)
            hint = (
                _INSTEAD.get(type(node).__name__) or _INSTEAD.get(name.upper()) or (f"Did you mean {near[0]}?" if near else "")
            )
            return self.error(node, f"there is no function {name}", ", ".join(self._functions), hint)
        hint = _INSTEAD.get(type(node).__name__, "")
        return self.error(
            node, f"found {name}, which is not understood here", "columns, constants, operators and functions", hint
        )


def _spelt(reader: SqlReader, node: Expression) -> str:
    start, end = node.meta.get("start"), node.meta.get("end")
    if isinstance(start, int) and isinstance(end, int):
        return reader.sql[start : end + 1]
    return str(node.key).upper()


_WORDS = {
    "Window": "OVER",
    "Select": "SELECT",
    "Subquery": "SELECT",
    "Exists": "EXISTS",
    "CurrentDate": "CURRENT_DATE",
    "CurrentTimestamp": "CURRENT_TIMESTAMP",
    "CurrentTime": "CURRENT_TIME",
    "Placeholder": "?",
    "Parameter": "@",
    "Any": "ANY",
    "All": "ALL",
    "Extract": "EXTRACT",
    "Cast": "CAST",
}
"""How nodes are written of which sqlglot does not note the place."""

_ALWAYS_READ = ("this", "expression", "expressions", "negate", "safe", "ignore_nulls", "is_nvl")
"""What all readers look at, and how sqlglot notes that databases differ: errors are NULL here, as is LEAST(1, NULL)."""

_READ: Mapping[str, Sequence[str]] = {
    "Between": ("low", "high", "symmetric"),
    "Case": ("ifs", "default"),
    "Cast": ("to",),
    "Ceil": ("decimals", "to"),
    "Column": ("table",),
    "Date": ("zone",),
    "DateDiff": ("unit",),
    "DateTrunc": ("unit",),
    "Floor": ("decimals", "to"),
    "If": ("true", "false"),
    "In": ("query", "unnest", "field"),
    "Interval": ("unit",),
    "Literal": ("is_string",),
    "Round": ("decimals", "truncate"),
    "Substring": ("start", "length"),
    "TimestampTrunc": ("unit",),
    "Trim": ("position", "collation"),
    "Trunc": ("decimals", "to"),
    "TryCast": ("to",),
}
"""The other parts that a node's own reader looks at."""

_STATEMENTS = ("Drop", "Create", "Insert", "Update", "Delete", "Command")

_INSTEAD = {
    "BitwiseXor": "A power is POWER(x, 2).",
    "CurrentDate": "What is today changes: write the date.",
    "CurrentTimestamp": "What is now changes: write the time.",
    "DATEADD": "Write d + INTERVAL '3' DAY.",
    "IntDiv": "Write FLOOR(a / b).",
    "Rand": "Rows are not drawn by chance here.",
    "STRFTIME": "Write YEAR(d), MONTH(d) or EXTRACT(dow FROM d).",
}


def _how_to_convert(found: ValueKind, wanted: Sequence[ValueKind]) -> str:
    if found is ValueKind.BOOLEAN and ValueKind.NUMBER in wanted:
        return "CASE WHEN ... THEN 1 ELSE 0 END makes a number of it."
    if found is ValueKind.NUMBER and ValueKind.BOOLEAN in wanted:
        return "Compare it: x <> 0."
    if found is ValueKind.TEXT and ValueKind.NUMBER in wanted:
        return "CAST(x AS DOUBLE) reads a number from a text; numbers stand without quotes."
    if found is ValueKind.TEXT and (ValueKind.DATE in wanted or ValueKind.TIME in wanted):
        return "Write DATE '2024-12-31'."
    return ""


def number_as_level(node: Node) -> Node:
    """A constant number beside texts is the level that is spelt like it: levels may be numbers."""
    if node.kind is ValueKind.NUMBER and node.value is not None:
        return tree.text(text_of(node.value) or "")
    return node


def as_places(node: Node, texts: Sequence[str]) -> Node:
    """The same texts, as places in another list."""
    if node.kind is not ValueKind.TEXT or node.fact.texts == tuple(texts):
        return node
    places = {text: float(place) for place, text in enumerate(texts)}
    fact = one_of_texts(texts, nullable=node.fact.nullable)
    if node.value is not None:
        code = places[node.fact.texts[0]]
        return Node(
            operation="constant",
            fact=Fact(kind=fact.kind, lower=code, upper=code, nullable=False, whole=True, texts=fact.texts),
            given=(code,),
        )
    return Node(operation="table", fact=fact, inputs=(node,), given=tuple(places[text] for text in node.fact.texts))


def as_time(node: Node) -> Node:
    """A date as the time at which it begins."""
    fact = node.fact
    times = Fact(kind=ValueKind.TIME, lower=fact.lower * DAY, upper=fact.upper * DAY, nullable=fact.nullable, whole=fact.whole)
    return Node(operation="*", fact=times, inputs=(node, tree.constant(DAY)))


def compared(reader: SqlReader, word: str, nodes: Sequence[Expression], found: Sequence[Node] | None = None) -> Node:
    """A comparison of two values."""
    read = [reader.read(node) for node in nodes] if found is None else found
    if word in ("=", "<>") and (member := _level_compared(read)) is not None:
        listed, nullable = member
        return listed if word == "=" else Node(operation="not", fact=truth(nullable=nullable), inputs=(listed,))
    read = _as_numbers_in_order(reader, word, read, nodes)
    one, other = reader.alike(read, nodes, what="what is compared", ordered=True)
    if one.kind is ValueKind.BOOLEAN and word not in ("=", "<>", "same"):
        raise reader.error(nodes[0], "truth values have no order", "= and <>")
    nullable = word != "same" and (one.fact.nullable or other.fact.nullable)
    return Node(operation=word, fact=truth(nullable=nullable), inputs=(one, other))


def _as_numbers_in_order(reader: SqlReader, word: str, found: Sequence[Node], nodes: Sequence[Expression]) -> Sequence[Node]:
    """Levels beside a number, where one comes before the other, as the numbers that they are: as a text '10' is before '9'."""
    kinds = [node.kind for node in found]
    if word not in _ORDERED or ValueKind.TEXT not in kinds or ValueKind.NUMBER not in kinds:
        return found
    place = kinds.index(ValueKind.TEXT)
    if found[place].value is not None:
        return found
    numbers = numbers_in(found[place].fact.texts)
    if any(math.isnan(one) for one in numbers):
        hint = "CAST(x AS DOUBLE) reads a number from a text; a text stands in single quotes."
        raise reader.error(nodes[place], "what is compared are a text and a number", "one kind", hint)
    return [tabled(node, numbers) if node.kind is ValueKind.TEXT else node for node in found]


_ORDERED = ("<", "<=", ">", ">=")


def numbers_in(texts: Sequence[str]) -> list[float]:
    """The number that each text spells; NaN where it is none."""
    codes, kinds = read_numbers(Cells(values=objects(texts)))
    return [float(code) for code in np.where((kinds == Kind.NUMBER) & np.isfinite(codes), codes, np.nan)]


def tabled(inner: Node, codes: Sequence[float], kind: ValueKind = ValueKind.NUMBER) -> Node:
    """A number for each text; NaN is NULL."""
    known = [code for code in codes if code == code]
    lower, upper = (min(known), max(known)) if known else (0.0, 0.0)
    fact = Fact(
        kind=kind,
        lower=lower,
        upper=upper,
        nullable=inner.fact.nullable or len(known) < len(codes),
        whole=all(float(code).is_integer() for code in known),
    )
    return Node(operation="table", fact=fact, inputs=(inner,), given=tuple(codes))


def _level_compared(found: Sequence[Node]) -> tuple[Node, bool] | None:
    """A text compared with a constant one: faster by its place in the list of texts."""
    values = [
        number_as_level(one) if other.kind is ValueKind.TEXT else one for one, other in zip(found, reversed(found), strict=True)
    ]
    for one, other in (values, values[::-1]):
        if one.kind is ValueKind.TEXT and one.value is None and other.kind is ValueKind.TEXT and other.value is not None:
            text = other.fact.texts[int(other.value)]
            return among(one, [text], unmatched=() if text in one.fact.texts else (text,)), one.fact.nullable
    return None


def among(node: Node, texts: Sequence[str], *, unmatched: tuple[str, ...] = ()) -> Node:
    """Whether a text is one of these."""
    given = tuple(float(place) for place, text in enumerate(node.fact.texts) if text in texts)
    return Node(operation="among", fact=truth(nullable=node.fact.nullable), inputs=(node,), given=given, unmatched=unmatched)


def case(reader: SqlReader, conditions: Sequence[Node], nodes: Sequence[Expression], otherwise: Expression | None) -> Node:
    """The value of the first condition that is true, or else another one, or NULL."""
    *chosen, last = reader.alike(
        [*(reader.read(node) for node in nodes), tree.NULL if otherwise is None else reader.read(otherwise)],
        [*nodes, nodes[0] if otherwise is None else otherwise],
        what="the values of CASE",
    )
    inputs = [one for pair in zip(conditions, chosen, strict=True) for one in pair]
    return Node(operation="case", fact=any_of([one.fact for one in (*chosen, last)]), inputs=(*inputs, last))
