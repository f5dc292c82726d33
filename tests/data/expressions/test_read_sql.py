"""What is refused, where, and that nothing else happens: hostile texts included."""

import builtins
import subprocess
import sys

import pytest

from dpkit.data.expressions.facts import Fact, ValueKind, number, one_of_texts, truth
from dpkit.data.expressions.read_sql import DEEPEST, FUNCTIONS, LONGEST, read_sql
from dpkit.errors import ExpressionError, MissingExtraError

KNOWN = {
    "age": number(0.0, 100.0, nullable=True, whole=True),
    "a b": number(0.0, 1.0, nullable=False),
    "region": one_of_texts(("north", "south"), nullable=True),
    "member": truth(nullable=False),
    "born": Fact(kind=ValueKind.DATE, lower=0.0, upper=20000.0, nullable=True, whole=True),
    "seen": Fact(kind=ValueKind.TIME, lower=0.0, upper=1e9, nullable=True),
    "city": None,
}

REFUSED = {
    "sum(age) > 3": (0, "several rows"),
    "age > avg(age)": (6, "several rows"),
    "age > 3 and count(*) > 1": (12, "several rows"),
    "row_number() over (order by age)": (13, "window"),
    "age in (select age from t)": (8, "subquery"),
    "exists(select 1)": (0, "subquery"),
    "(select 1) > 2": (1, "subquery"),
    "agee > 3": (0, "no column named 'agee'"),
    "age > 3 and regin = 'north'": (12, "no column named 'regin'"),
    "frobnicate(age) > 3": (0, "no function frobnicate"),
    "age > 3 and sleep(10)": (12, "no function sleep"),
    "pg_read_file('/etc/passwd') = 'x'": (0, "no function"),
    "random() > 0.5": (0, "no function"),
    "current_date > born": (0, "no function"),
    "age > ?": (6, "parameter"),
    "t.age > 3": (0, "table"),
    "age = 'x'": (6, "a number and a text"),
    "region > 3": (0, "a text and a number"),
    "2 between 1 and region": (16, "a text and a number"),
    "region is null and age": (19, "a number"),
    "age + member": (6, "a truth value"),
    "member < member": (0, "no order"),
    "not age": (4, "a number"),
    "case when age then 1 end": (10, "a number"),
    "age >": (4, "not SQL"),
    "age > 3)": (7, "not SQL"),
    "'unclosed": (0, "not SQL"),
    "age > 3; drop table people": (0, "statements"),
    "drop table people": (0, "not understood"),
    "age age": (4, "second name"),
    "age > 1e999": (6, "1e999"),
    "log(age)": (0, "LOG means"),
    "age ^ 2": (0, "not understood"),
    "city = 'Rome'": (0, "cannot be read"),
    "hour(born)": (0, "no hour"),
    "extract(fortnight from born)": (0, "no part"),
    "born > 'yesterday'": (7, "no date"),
    "born + 1.5": (0, "a date and a number"),
    "seen - seen": (0, "a time and a time"),
    "round(age, age)": (11, "depends on the row"),
    "region like region": (12, "depends on the row"),
    "cast(age as json)": (0, "cast"),
    "age = any(array[1, 2])": (6, "subquery"),
    "cast(age as decimal(10, 2))": (0, "stated size"),
    "cast(region as varchar(2))": (0, "stated size"),
    "date_trunc('month', seen, 'UTC') > '2000-01-01'": (0, "zone"),
    "week(born, 1) = 3": (0, "mode"),
    "member = age is null": (13, "beside IS"),
    "lag(age)": (0, "several rows"),
    "age -> 3": (0, ""),
    "*": (0, "not understood"),
    "": (0, "0 statements"),
    "   ": (0, "0 statements"),
    "-- only a comment": (0, "0 statements"),
}


@pytest.mark.parametrize("written", REFUSED)
def test_what_a_row_cannot_answer_alone_is_refused_at_its_place(written):
    start, said = REFUSED[written]
    with pytest.raises(ExpressionError) as caught:
        read_sql(written, KNOWN)
    assert said in caught.value.found, caught.value
    assert caught.value.start == start, caught.value


HOSTILE = [
    "(" * 5000 + "1" + ")" * 5000,
    "not " * 2000 + "member",
    "- " * 3000 + "age",
    "case when member then " * 500 + "1" + " end" * 500,
    "abs(" * 900 + "age" + ")" * 900,
    "nullif(" * 50 + "age" + ", 1)" * 50,
    "'" + "x" * LONGEST + "'",
    "concat(region, region, region, region, region, region, region, region, region, region, region, region, region, region)",
    "age + " * 200 + "age",
    "\x00", "\ud800", "age > \u202e 3", "__import__('os').system('true')",
    "age.__class__", "{{ age }}", "%(age)s", "$1 > 2", "@@version",
]  # fmt: skip


@pytest.mark.parametrize("written", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_refused_and_nothing_else_happens(written):
    with pytest.raises(ExpressionError):
        read_sql(written, KNOWN)


def test_many_conditions_are_one():
    node = read_sql(" and ".join(f"age <> {place}" for place in range(300)), KNOWN)
    assert node.depth == 3 < DEEPEST


def test_nothing_is_evaluated_as_python(monkeypatch):
    for name in ("eval", "exec", "compile"):
        monkeypatch.setattr(builtins, name, lambda *given, **named: pytest.fail("Python was asked to evaluate"))
    read_sql("age > 3 and upper(region) like 'N%' or year(born) = 2000", KNOWN)


def test_names_are_found_as_sql_finds_them():
    assert read_sql("AGE > 3", KNOWN).columns == {"age"}
    assert read_sql('"a b" > 3', KNOWN).columns == {"a b"}
    with pytest.raises(ExpressionError, match="single quotes: 'norden'"):
        read_sql('region = "norden"', KNOWN)


@pytest.mark.parametrize("name", ["union", "when", "case", "desc", "any"])
def test_a_column_with_the_name_of_a_word_of_sql_is_quoted_and_the_error_says_so(name):
    known = {"age": KNOWN["age"], name: KNOWN["age"]}
    with pytest.raises(ExpressionError) as refused:
        read_sql(f"{name} > 0", known)
    assert f'write it in double quotes, "{name}"' in str(refused.value)
    assert read_sql(f'"{name}" > 0', known) is not None
    with pytest.raises(ExpressionError) as other:
        read_sql("age > > 3", known)
    assert "double quotes" not in str(other.value)


def test_every_function_that_is_offered_is_understood():
    forms = {
        "CASE": "case when member then 1 else 2 end", "COALESCE": "coalesce(age, 1)", "IF": "if(member, 1, 2)",
        "NULLIF": "nullif(age, 1)",
        "GREATEST": "greatest(age, 1)", "LEAST": "least(age, 1)", "MOD": "mod(age, 3)", "POWER": "power(age, 2)",
        "CAST": "cast(age as text)", "CONCAT": "concat(region, 'x')", "LEFT": "left(region, 2)", "RIGHT": "right(region, 2)",
        "STARTS_WITH": "starts_with(region, 'n')", "SUBSTRING": "substring(region, 1, 2)", "DATE": "date('2020-02-29')",
        "DATE_TRUNC": "date_trunc('month', born)", "DATEDIFF": "datediff('day', born, seen)",
        "EXTRACT": "extract(dow from born)",
    }  # fmt: skip
    of_texts, of_times = ("LENGTH", "LOWER", "TRIM", "UPPER"), ("HOUR", "MINUTE", "SECOND")
    of_dates = ("DAY", "DAYOFWEEK", "DAYOFYEAR", "MONTH", "QUARTER", "WEEK", "YEAR")
    for name in FUNCTIONS:
        argument = "region" if name in of_texts else "seen" if name in of_times else "born" if name in of_dates else "age"
        assert read_sql(forms.get(name, f"{name}({argument})"), KNOWN).columns <= set(KNOWN)


def test_without_sqlglot_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtraError, match=r"dpkit\[sql\]"):
        read_sql("age > 3", KNOWN)


def test_sqlglot_is_loaded_by_an_expression_alone():
    code = "import sys, dpkit; dpkit.Schema; import dpkit.data.expressions.read_sql; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
