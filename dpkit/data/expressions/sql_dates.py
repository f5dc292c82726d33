"""Dates and times: parts, beginnings of months and the like, intervals, differences. Times have no zone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpkit.data.expressions import calendar, tree
from dpkit.data.expressions.calendar import DAY, FIRST, LAST
from dpkit.data.expressions.facts import Fact, ValueKind, number
from dpkit.data.expressions.sql_reader import Reader, SqlReader, as_time
from dpkit.data.expressions.tree import Node

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Expression

KINDS = (ValueKind.DATE, ValueKind.TIME, ValueKind.SPAN)
CASTS = {
    "DATE": ValueKind.DATE,
    **dict.fromkeys(("TIMESTAMP", "DATETIME", "TIMESTAMPNTZ", "TIMESTAMP_NTZ"), ValueKind.TIME),
}
_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": DAY, "week": 7.0 * DAY}
_MONTHS = {"month": 1.0, "quarter": 3.0, "year": 12.0}
_NAMES = {
    "dayofweek": "dow",
    "day_of_week": "dow",
    "weekday": "dow",
    "dayofweekiso": "isodow",
    "dayofmonth": "day",
    "dayofyear": "doy",
    "weekofyear": "week",
    "isoweek": "week",
}


def _moment(kind: ValueKind, lower: float, upper: float, *, nullable: bool, whole: bool) -> Fact:
    unit = DAY if kind is ValueKind.TIME else 1.0
    first, last = FIRST * unit, (LAST + (1.0 if kind is ValueKind.TIME else 0.0)) * unit
    low, high = (min(max(end, first), last) for end in (lower, upper))
    return Fact(kind=kind, lower=low, upper=high, nullable=nullable, whole=whole)


def _kept_in_calendar(node: Node) -> Node:
    """Clipped to the years 1 to 9999."""
    fact = _moment(node.kind, node.fact.lower, node.fact.upper, nullable=node.fact.nullable, whole=node.fact.whole)
    return Node(operation="clip", fact=fact, inputs=(node,))


def days(node: Node) -> Node:
    """The day that a date is, or a time is in."""
    if node.kind is not ValueKind.TIME:
        return node
    fact = node.fact
    quotient = Node(
        operation="/",
        fact=number(fact.lower / DAY, fact.upper / DAY, nullable=fact.nullable),
        inputs=(node, tree.constant(DAY)),
    )
    bounds = Fact(
        kind=ValueKind.DATE,
        lower=math.floor(fact.lower / DAY),
        upper=math.floor(fact.upper / DAY),
        nullable=fact.nullable,
        whole=True,
    )
    return Node(operation="floor", fact=bounds, inputs=(quotient,))


def shifted(reader: SqlReader, node: Expression, one: Node, other: Node, *, sign: float) -> Node:
    """A date or time and an interval or days; or the days between two dates."""
    if ValueKind.NULL in (one.kind, other.kind):
        return tree.NULL
    if sign < 0.0 and one.kind is other.kind is ValueKind.DATE:
        bounds = one.fact.lower - other.fact.upper, one.fact.upper - other.fact.lower
        nullable = one.fact.nullable or other.fact.nullable
        return Node(operation="-", fact=number(*bounds, nullable=nullable, whole=True), inputs=(one, other))
    if sign > 0.0 and one.kind in (ValueKind.SPAN, ValueKind.NUMBER):
        one, other = other, one
    if one.kind in (ValueKind.DATE, ValueKind.TIME) and other.kind is ValueKind.SPAN:
        months, seconds = (sign * float(part) for part in other.given)
        return _later(_months_later(one, months) if months else one, seconds)
    if one.kind is ValueKind.DATE and other.kind is ValueKind.NUMBER and other.fact.whole and other.fact.is_bounded:
        ends = sorted((sign * other.fact.lower, sign * other.fact.upper))
        fact = _unclipped(ValueKind.DATE, one, ends[0], ends[1], nullable=other.fact.nullable)
        return _kept_in_calendar(Node(operation="+" if sign > 0 else "-", fact=fact, inputs=(one, other)))
    hint = "Between times: DATEDIFF('hour', begin, end)." if one.kind is other.kind else ""
    allowed = "date - date, date + whole days, or a date or time and INTERVAL '3' DAY"
    raise reader.error(node, f"found {one.kind.value} and {other.kind.value}", allowed, hint)


def _unclipped(kind: ValueKind, one: Node, low: float, high: float, *, nullable: bool) -> Fact:
    lower, upper = one.fact.lower + low, one.fact.upper + high
    return Fact(kind=kind, lower=lower, upper=upper, nullable=one.fact.nullable or nullable, whole=one.fact.whole)


def _later(one: Node, seconds: float) -> Node:
    if seconds == 0.0:
        return one
    if one.kind is ValueKind.DATE and seconds % DAY:
        one = as_time(one)
    step = seconds / DAY if one.kind is ValueKind.DATE else seconds
    fact = _unclipped(one.kind, one, step, step, nullable=False)
    return _kept_in_calendar(Node(operation="+", fact=fact, inputs=(one, tree.constant(step))))


def _months_later(one: Node, months: float) -> Node:
    day = days(one)
    ends = calendar.months_later(np.array([day.fact.lower, day.fact.upper]), np.array([months, months]))
    bounds = _moment(ValueKind.DATE, float(ends[0]), float(ends[1]), nullable=one.fact.nullable, whole=True)
    later = Node(operation="months later", fact=bounds, inputs=(day, tree.constant(months)))
    if one.kind is ValueKind.DATE:
        return later
    clock = Node(operation="-", fact=number(0.0, DAY, nullable=one.fact.nullable), inputs=(one, as_time(day)))
    fact = _moment(ValueKind.TIME, bounds.lower * DAY, (bounds.upper + 1.0) * DAY, nullable=one.fact.nullable, whole=False)
    return Node(operation="+", fact=fact, inputs=(as_time(later), clock))


def _interval(reader: SqlReader, node: Expression) -> Node:
    written, unit = node.this, node.args.get("unit")
    text = str(getattr(written, "this", "")).strip()
    name = str(getattr(unit, "this", unit) or "").lower()
    parts = text.split()
    if not name and len(parts) == 2:
        text, name = parts[0], parts[1].lower()
    name = name.removesuffix("s")
    sign = -1.0 if type(written).__name__ == "Neg" else 1.0
    if sign < 0.0:
        text = str(getattr(written.this, "this", ""))
    if not re.fullmatch(r"[-+]?[0-9]{1,9}", text) or (name not in _SECONDS and name not in _MONTHS):
        raise reader.error(
            node,
            "this interval is not understood",
            "INTERVAL '3' DAY: a whole number of years, months, weeks, days, hours, minutes or seconds",
        )
    count = sign * float(text)
    given = (count * _MONTHS[name], 0.0) if name in _MONTHS else (0.0, count * _SECONDS[name])
    return Node(operation="constant", fact=Fact(kind=ValueKind.SPAN, lower=0.0, upper=0.0, nullable=False), given=given)


def _part(name: str) -> Reader:
    return lambda reader, node: _part_of(reader, node, node.this, name)


def _part_of(reader: SqlReader, node: Expression, inner: Expression, name: str) -> Node:
    found = reader.read_as(inner, ValueKind.DATE, ValueKind.TIME, what=f"what {name.upper()} is taken of")
    if found.kind is ValueKind.NULL:
        return found
    if name in (*calendar.OF_A_CLOCK, "epoch"):
        if found.kind is ValueKind.DATE and name != "epoch":
            raise reader.error(node, f"a date has no {name}", "a time")
        source = as_time(found) if found.kind is ValueKind.DATE else found
    else:
        source = days(found)
    lower, upper = calendar.RANGES[name]
    if name in ("year", "epoch"):
        ends = calendar.part(np.array([source.fact.lower, source.fact.upper]), name)
        lower, upper = float(ends[0]), float(ends[1])
    return Node(
        operation="part", fact=number(lower, upper, nullable=found.fact.nullable, whole=True), inputs=(source,), given=(name,)
    )


def _unit_name(node: object) -> str:
    """A unit as it was written: a word or a text."""
    inner = getattr(node, "this", node)
    name = str(getattr(inner, "this", inner)).lower()
    return _NAMES.get(name, name.removesuffix("s") if name not in calendar.RANGES else name)


def _extract(reader: SqlReader, node: Expression) -> Node:
    name = _unit_name(node.this)
    if name not in calendar.RANGES:
        raise reader.error(node, f"there is no part {name!r}", ", ".join(calendar.RANGES))
    return _part_of(reader, node, node.expression, name)


def _truncated(reader: SqlReader, node: Expression) -> Node:
    name = _unit_name(node.args.get("unit"))
    found = reader.read_as(node.this, ValueKind.DATE, ValueKind.TIME, what="what DATE_TRUNC takes")
    if found.kind is ValueKind.NULL:
        return found
    if name not in calendar.UNITS or (found.kind is ValueKind.DATE and name in calendar.OF_A_CLOCK):
        raise reader.error(node, f"there is no unit {name!r} of {found.kind.value}", ", ".join(calendar.UNITS))
    source = found if name in calendar.OF_A_CLOCK else days(found)
    ends = calendar.truncated(np.array([source.fact.lower, source.fact.upper]), name)
    fact = Fact(kind=source.kind, lower=float(ends[0]), upper=float(ends[1]), nullable=found.fact.nullable, whole=True)
    cut = Node(operation="truncated", fact=fact, inputs=(source,), given=(name,))
    return as_time(cut) if found.kind is ValueKind.TIME and source.kind is ValueKind.DATE else cut


def _between(reader: SqlReader, node: Expression) -> Node:
    """DATEDIFF(end, begin) in days, or DATEDIFF('month', begin, end): how many beginnings of a unit lie between."""
    parts = [node.this, node.expression, node.args.get("unit")]
    name = _unit_name(parts[0])
    if parts[2] is not None:
        if name not in ("day", "week", *_MONTHS, *calendar.OF_A_CLOCK) or name in ("week", "quarter"):
            raise reader.error(node, "found other units", "DATEDIFF('day', begin, end), or year, month, hour, minute, second")
        begin, end = _as_column(parts[1]), _as_column(parts[2])
    else:
        name, begin, end = "day", parts[1], parts[0]
    counted = [_count_of(reader, one, name) for one in (end, begin)]
    bounds = counted[0].fact.lower - counted[1].fact.upper, counted[0].fact.upper - counted[1].fact.lower
    nullable = any(one.fact.nullable for one in counted)
    return Node(operation="-", fact=number(*bounds, nullable=nullable, whole=True), inputs=tuple(counted))


def _as_column(node: Expression | None) -> Expression:
    """sqlglot takes the third argument for a word."""
    from sqlglot import expressions

    assert node is not None
    return expressions.column(str(node.this).lower()) if isinstance(node, expressions.Var) else node


def _count_of(reader: SqlReader, node: Expression, name: str) -> Node:
    """How many units there were since the epoch."""
    found = reader.alike([reader.read(node), tree.constant(0.0, ValueKind.DATE)], [node, node], what="what is compared")[0]
    if found.kind not in (ValueKind.DATE, ValueKind.TIME):
        raise reader.error(node, f"found {found.kind.value}", "a date or a time")
    day = days(found)
    if name == "day":
        return day
    if name in calendar.OF_A_CLOCK:
        size, time = _SECONDS[name], as_time(found) if found.kind is ValueKind.DATE else found
        quotient = Node(
            operation="/",
            fact=number(time.fact.lower / size, time.fact.upper / size, nullable=time.fact.nullable),
            inputs=(time, tree.constant(size)),
        )
        bounds = math.floor(quotient.fact.lower), math.floor(quotient.fact.upper)
        return Node(operation="floor", fact=number(*bounds, nullable=time.fact.nullable, whole=True), inputs=(quotient,))
    years = Node(operation="part", fact=_years_of(day), inputs=(day,), given=("year",))
    if name == "year":
        return years
    twelve = number(12.0 * years.fact.lower, 12.0 * years.fact.upper, nullable=day.fact.nullable, whole=True)
    of_years = Node(operation="*", fact=twelve, inputs=(years, tree.constant(12.0)))
    month = Node(
        operation="part", fact=number(1.0, 12.0, nullable=day.fact.nullable, whole=True), inputs=(day,), given=("month",)
    )
    total = number(twelve.lower + 1.0, twelve.upper + 12.0, nullable=day.fact.nullable, whole=True)
    return Node(operation="+", fact=total, inputs=(of_years, month))


def _years_of(day: Node) -> Fact:
    ends = calendar.part(np.array([day.fact.lower, day.fact.upper]), "year")
    return number(float(ends[0]), float(ends[1]), nullable=day.fact.nullable, whole=True)


def cast(reader: SqlReader, node: Expression, inner: Node, kind: ValueKind) -> Node:
    """A date or time from a text as ISO writes it, or from the other of both."""
    if inner.kind is kind:
        return inner
    if inner.kind is ValueKind.TIME:
        return days(inner)
    if inner.kind is ValueKind.DATE:
        return as_time(inner)
    if inner.kind is not ValueKind.TEXT:
        raise reader.error(node, f"found a cast of {inner.kind.value} to {kind.value}")
    read: Callable[[str], float | None] = calendar.day_of if kind is ValueKind.DATE else calendar.second_of
    codes = [read(one) for one in inner.fact.texts]
    if inner.value is not None:
        code = codes[int(inner.value)]
        if code is None:
            raise reader.error(node.this, f"this text is not {kind.value}", "2024-12-31, or 2024-12-31 23:59:59")
        return tree.constant(code, kind)
    known = [code for code in codes if code is not None]
    fact = Fact(
        kind=kind,
        lower=min(known, default=0.0),
        upper=max(known, default=0.0),
        nullable=inner.fact.nullable or len(known) < len(codes),
        whole=True,
    )
    return Node(
        operation="table", fact=fact, inputs=(inner,), given=tuple(float("nan") if code is None else code for code in codes)
    )


def _date(reader: SqlReader, node: Expression) -> Node:
    if node.args.get("expressions") or node.args.get("zone") is not None:
        raise reader.error(node, "DATE with more than one value", "DATE('2024-12-31')")
    return cast(reader, node, reader.read(node.this), ValueKind.DATE)


READERS: dict[str, Reader] = {
    **{name.capitalize(): _part(name) for name in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")},
    "DayOfWeek": _part("dow"),
    "DayOfWeekIso": _part("isodow"),
    "DayOfMonth": _part("day"),
    "DayOfYear": _part("doy"),
    "WeekOfYear": _part("week"),
    "Extract": _extract,
    "DateTrunc": _truncated,
    "TimestampTrunc": _truncated,
    "DateDiff": _between,
    "Interval": _interval,
    "Date": _date,
    "TsOrDsToDate": _date,
}

FUNCTIONS = (
    "DATE",
    "DATE_TRUNC",
    "DATEDIFF",
    "DAY",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "EXTRACT",
    "HOUR",
    "MINUTE",
    "MONTH",
    "QUARTER",
    "SECOND",
    "WEEK",
    "YEAR",
)
