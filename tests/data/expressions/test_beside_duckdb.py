"""Expressions as people write them, row by row beside DuckDB: what binds tighter, NULL, texts, dates and times."""

import datetime
import math
import random

import numpy as np
import pytest
from data.expressions.written_sql import DATES, LEVELS, NUMBERS, TIMES, TRUTHS, WHOLE, Writer, rows

from dpkit import Boolean, Category, Date, Number, Schema, Time
from dpkit.data.expressions.derived import derive, require
from dpkit.data.expressions.facts import ValueKind
from dpkit.errors import ExpressionError

duckdb = pytest.importorskip("duckdb")

EPOCH = datetime.datetime(1970, 1, 1)
TYPES = dict.fromkeys((*NUMBERS, *WHOLE), "double") | dict.fromkeys(TRUTHS, "boolean") | dict.fromkeys(LEVELS, "text")
TYPES |= dict.fromkeys(DATES, "date") | dict.fromkeys(TIMES, "timestamp")
KNOWN = Schema(
    columns=(
        *(Number(name=name, lower=-10, upper=10) for name in NUMBERS),
        *(Number(name=name, lower=-9, upper=9, whole=True) for name in WHOLE),
        *(Boolean(name=name) for name in TRUTHS),
        *(Category(name=name, levels=levels) for name, levels in LEVELS.items()),
        *(Date(name=name, lower="1900-01-01", upper="2030-01-01") for name in DATES),
        *(Time(name=name, lower="1900-01-01 00:00:00", upper="2030-01-01 00:00:00") for name in TIMES),
    )
).facts


def code(name, value):
    if value is None:
        return math.nan
    if name in LEVELS:
        return float(LEVELS[name].index(value))
    if name in DATES:
        return float((value - EPOCH.date()).days)
    return (value - EPOCH).total_seconds() if name in TIMES else float(value)


def answers(written, listed):
    """By dpkit: as a derived column, or as a condition where it is one and may be no column."""
    coded = {name: np.array([code(name, row[name]) for row in listed]) for name in TYPES}
    column = derive("new", written, KNOWN)
    found = column.codes(coded, len(listed))
    assert ((found >= column.fact.lower) & (found <= column.fact.upper) | np.isnan(found)).all(), written
    if column.fact.kind is ValueKind.BOOLEAN:
        assert (require(written, KNOWN).holds(coded, len(listed)) == (found == 1.0)).all(), written
    return [None if math.isnan(one) else shown(column.fact, float(one)) for one in found]


def shown(fact, value):
    if fact.kind is ValueKind.TEXT:
        return fact.texts[int(value)]
    if fact.kind is ValueKind.DATE:
        return EPOCH.date() + datetime.timedelta(days=value)
    if fact.kind is ValueKind.TIME:
        return EPOCH + datetime.timedelta(seconds=value)
    return value != 0.0 if fact.kind is ValueKind.BOOLEAN else value


def alike(one, other):
    if one is None or other is None or isinstance(one, str | bool | datetime.date):
        return one == other
    return math.isclose(one, float(other), rel_tol=1e-9, abs_tol=1e-9)


@pytest.fixture(scope="module")
def asked():
    listed = rows(random.Random(3), 50)
    with duckdb.connect() as base:
        base.execute("SET ieee_floating_point_ops = false")  # a division by zero is NULL
        base.execute(f"CREATE TABLE r (place int, {', '.join(f'{name} {kind}' for name, kind in TYPES.items())})")
        marks = ", ".join("?" * (len(TYPES) + 1))
        base.executemany(
            f"INSERT INTO r VALUES ({marks})", [[i, *(row[name] for name in TYPES)] for i, row in enumerate(listed)]
        )
        yield listed, lambda written: [one for (one,) in base.execute(f"SELECT {written} FROM r ORDER BY place").fetchall()]


def test_every_row_is_answered_as_duckdb_answers_it(asked):
    listed, by_duckdb = asked
    rng, compared, refused = random.Random(21), 0, 0
    for _ in range(1500):
        writer = Writer(rng, parentheses=rng.choice([0.2, 0.5, 1.0]))
        kind = rng.choice([writer.number, writer.truth, writer.truth, writer.text, writer.date])
        written = kind(rng.choice([1, 2, 3]))
        try:
            found = answers(written, listed)
        except ExpressionError:
            refused += 1
            continue
        try:
            other = by_duckdb(written)
        except duckdb.Error:  # it raises on a zero behind %, and on what it takes for text
            continue
        compared += 1
        assert all(map(alike, found, other)), (written, found, other)
    assert compared > 1000
    assert refused < 400
