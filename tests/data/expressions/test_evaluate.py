"""What expressions come to, against a row-by-row evaluator and against sqlite; and the promises made before any row is read."""

import math
import random
import sqlite3

import numpy as np
import pytest
from data.expressions.random_sql import LEVELS, NUMBERS, TEXTS, TRUTHS, by_row, number, rows, sql, text, truth

from dpkit.data.expressions import evaluate
from dpkit.data.expressions.evaluate import OPERATIONS, is_false, is_true, values
from dpkit.data.expressions.facts import ValueKind, one_of_texts
from dpkit.data.expressions.facts import number as number_fact
from dpkit.data.expressions.facts import truth as truth_fact
from dpkit.data.expressions.read_sql import read_sql
from dpkit.errors import ExpressionError

KNOWN = {
    **{name: number_fact(-10.0, 10.0, nullable=True) for name in NUMBERS},
    **{name: truth_fact(nullable=True) for name in TRUTHS},
    **{name: one_of_texts(levels, nullable=True) for name, levels in LEVELS.items()},
}


def coded(listed):
    """Rows as columns of codes."""

    def code(name, value):
        return math.nan if value is None else float(LEVELS[name].index(value)) if name in TEXTS else float(value)

    return {name: np.array([code(name, row[name]) for row in listed]) for name in (*NUMBERS, *TRUTHS, *TEXTS)}


def answers(node, listed):
    with np.errstate(all="ignore"):
        found = np.broadcast_to(values(node, coded(listed)), (len(listed),))
    if node.kind is ValueKind.TEXT:
        return [None if math.isnan(code) else node.fact.texts[int(code)] for code in found]
    if node.kind is ValueKind.BOOLEAN:
        return [None if math.isnan(code) else bool(code) for code in found]
    return [None if math.isnan(code) else float(code) for code in found]


def by_sqlite(tree, listed):
    with sqlite3.connect(":memory:") as base:
        base.execute("PRAGMA case_sensitive_like = ON")
        names = (*NUMBERS, *TRUTHS, *TEXTS)
        typed = [f"{name} {'REAL' if name in NUMBERS else 'TEXT' if name in TEXTS else ''}" for name in names]
        base.execute(f"CREATE TABLE t ({', '.join(typed)})")
        base.executemany(
            f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", [[row[name] for name in names] for row in listed]
        )
        written = tree if isinstance(tree, str) else sql(tree, sqlite=True)
        found = [one for (one,) in base.execute(f"SELECT {written} FROM t ORDER BY rowid")]
    base.close()
    return found


@pytest.mark.parametrize("written", ["month >= 9", "9 <= month", "month between 9 and 12", "not month < 9", "month > 8.5"])
def test_levels_that_are_numbers_stand_in_the_order_of_numbers(written):
    levels = tuple(map(str, range(1, 13)))
    tree = read_sql(written, {"month": one_of_texts(levels, nullable=True)})
    codes = np.array([*range(12), math.nan])
    assert is_true(tree, {"month": codes}).tolist() == [place >= 8 for place in range(12)] + [False]


def drawn(seed):
    rng = random.Random(seed)
    return rng, rng.choice([number, truth, truth, text])(rng, rng.choice([1, 2, 3, 4]))


def same(one, other):
    if one is None or other is None:
        return one is other
    return one == other or (isinstance(one, float) and (abs(one - other) <= 1e-12 * max(abs(one), 1.0) or one == other))


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_every_row_is_answered_as_python_and_as_sqlite_answer_it(start):
    for seed in range(start, start + 100):
        rng, tree = drawn(seed)
        listed = rows(rng, 12)
        node = read_sql(sql(tree), KNOWN)
        found = answers(node, listed)
        expected = [by_row(tree, row) for row in listed]
        other = by_sqlite(tree, listed)
        if node.kind is ValueKind.BOOLEAN:
            other = [None if one is None else bool(one) for one in other]
        assert all(map(same, found, expected)), (sql(tree), found, expected)
        assert all(map(same, found, other)), (sql(tree), found, other)


AS_PEOPLE_WRITE = """
k not like 'n%' | not k like 'n%' | k not like '%o%' and p | k not in ('north', 'x') | not k in ('north') or q | a not in (1, 2)
a not between 0 and 2 | not a between b and 2 and p | k is not null and l is null | not p is null | p is not true
not a > b | not a > b and p | not p = q | p and q or a > 1 and not b < 0 | p or q and a > 1 | a + b * w > 1 - a / 2 or p
- a > b | - a * - b > 1 | a - b - w > 0 | a / b / 2 < 1 | a - - b > 0 | p = a > b | a > b = p
k || l = 'northsouth' | k || 'x' like '%hx' | a + 1 between b and w + 2
case when p then a else b end > 1 | case k when 'north' then 1 end is null | not case when p then q end
a = 1 or a = 2 or a is null | (p = q) is null | p = (q is null) | (a > b) is true | a in (1, 2) is null
k like 'n%' is null | a between 0 and 2 is true
"""


@pytest.mark.parametrize("written", AS_PEOPLE_WRITE.strip().splitlines())
def test_what_belongs_together_without_parentheses_belongs_together_in_sqlite(written):
    listed = rows(random.Random(7), 60)
    for one in written.replace(" || ", "\0").split(" | "):
        text_ = one.replace("\0", " || ")
        found, other = answers(read_sql(text_, KNOWN), listed), by_sqlite(text_, listed)
        assert found == [None if value is None else bool(value) for value in other], text_


@pytest.mark.parametrize("written", ["p = q is null", "a > b is true", "p is null = q", "not a = b is not null"])
def test_a_comparison_beside_is_wants_parentheses(written):
    """Databases read (p = q) IS NULL; parsers differ."""
    with pytest.raises(ExpressionError, match=r"beside IS.*parentheses"):
        read_sql(written, KNOWN)


def test_what_is_promised_holds():
    """Bounds, texts and NULLs: of every outcome, and of a condition that it is never both true and false."""
    for seed in range(1000, 1300):
        rng, tree = drawn(seed)
        listed = rows(rng, 20)
        node = read_sql(sql(tree), KNOWN)
        with np.errstate(all="ignore"):
            found = np.broadcast_to(values(node, coded(listed)), (20,))
            known = found[~np.isnan(found)]
            assert node.fact.nullable or not np.isnan(found).any(), sql(tree)
            assert ((known >= node.fact.lower) & (known <= node.fact.upper)).all(), sql(tree)
            assert not node.fact.whole or (known == np.rint(known)).all(), sql(tree)
            if node.kind is ValueKind.BOOLEAN:
                assert not (is_true(node, coded(listed)) & is_false(node, coded(listed))).any()


NUMERIC = [
    "a * b", "a / b", "a * a", "(a + 11) / (b + 11)", "mod(a, b)", "power(a, 2)", "power(a, 3)", "power(abs(a), b)",
    "power(a, b)", "exp(a)", "ln(a)", "log10(a + 11)", "log2(abs(b))", "sqrt(a)", "floor(a * b)", "ceil(a / 3)", "trunc(a)",
    "sign(b)",
    "round(a, 1)", "round(a * 100, -1)", "a - b * w", "exp(exp(a))", "1 / (a * 1e300 * 1e300)", "greatest(a, b, w)",
    "least(a, 0)", "exp(a) - exp(b)", "power(exp(a), a) - power(exp(b), b)", "case when a > b then a else w end",
    "coalesce(a / b, 7)",
]  # fmt: skip


@pytest.mark.parametrize("written", NUMERIC)
def test_bounds_hold_for_hard_numbers_too(written):
    rng = np.random.default_rng(1)
    node = read_sql(written, KNOWN)
    ends = np.array([-10.0, 10.0, 0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-300, np.nan, 9.999999999999998, 0.1])
    given = {name: np.concatenate([rng.choice(ends, 500), rng.uniform(-10, 10, 500)]) for name in NUMBERS}
    with np.errstate(all="ignore"):
        found = np.broadcast_to(values(node, given), (1000,))
    known = found[~np.isnan(found)]
    assert ((known >= node.fact.lower) & (known <= node.fact.upper)).all()
    assert node.fact.nullable or known.size == 1000


@pytest.mark.parametrize("written", [*NUMERIC, "k = l", "k in ('north', 'South', '1', 'x_y', 'u', 'v')", "upper(k) || l"])
def test_a_row_has_the_same_bits_alone_and_in_every_block(written):
    rng = np.random.default_rng(2)
    given = {name: rng.uniform(-10, 10, 257) for name in NUMBERS}
    given |= {name: rng.choice([0.0, 1.0, 2.0, np.nan], 257) for name in TEXTS}
    node = read_sql(written, KNOWN)
    with np.errstate(all="ignore"):
        whole = values(node, given)
        for start, stop in [(0, 1), (1, 2), (5, 8), (100, 257), (256, 257)]:
            part = values(node, {name: np.ascontiguousarray(codes[start:stop]) for name, codes in given.items()})
            assert part.tobytes() == whole[start:stop].tobytes()


def test_division_by_zero_is_null():
    assert answers(read_sql("a / b", KNOWN), [dict.fromkeys((*NUMBERS, *TRUTHS, *TEXTS)) | {"a": 1.0, "b": 0.0}]) == [None]
    assert answers(read_sql("ln(b)", KNOWN), [dict.fromkeys((*NUMBERS, *TRUTHS, *TEXTS)) | {"b": 0.0}]) == [None]
    assert answers(read_sql("power(b, -1)", KNOWN), [dict.fromkeys((*NUMBERS, *TRUTHS, *TEXTS)) | {"b": 0.0}]) == [None]


def test_every_operation_can_be_evaluated():
    assert {"case", "+", "and", "among", "one of", "months later"} <= set(OPERATIONS)


@pytest.mark.parametrize(
    "wrong", [{"<>": ("<>", "not equal, NaN included")}, {"or": ("or", "or without NULL")}], ids=["differs", "or"]
)
def test_the_comparison_with_sqlite_finds_a_mutant(monkeypatch, wrong):
    """An evaluator without the third truth value is found."""
    (operation,) = wrong
    holds, fails = evaluate._CONDITIONS[operation]
    broken = {
        "<>": (lambda node, given: values(node.inputs[0], given) != values(node.inputs[1], given), fails),
        "or": (holds, lambda node, given: ~holds(node, given)),
    }
    monkeypatch.setitem(evaluate._CONDITIONS, operation, broken[operation])
    tree = ("not", ("or", ("column", "p"), ("<>", ("column", "a"), ("number", 1))))
    listed = rows(random.Random(3), 60)
    found = answers(read_sql(sql(tree), KNOWN), listed)
    assert found != [None if one is None else bool(one) for one in by_sqlite(tree, listed)]
