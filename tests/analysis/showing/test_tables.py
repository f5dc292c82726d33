"""Answers as tables: the columns of groups, then estimate, lower and upper, for every form of answer."""

import csv
import io
import json

import pytest

from dpkit.analysis.showing.tables import AnswerTable, main_table, split_tables

INTERVAL = ("estimate", "lower", "upper")


@pytest.mark.parametrize(
    ("answer", "columns", "first"),
    [
        ({"estimate": 3.0, "lower": 2.0, "upper": 5.0, "error": 2.0}, INTERVAL, (3.0, 2.0, 5.0)),
        ({"estimate": 3.0, "lower": 2.0, "upper": 5.0, "count": 9.5}, (*INTERVAL, "count"), (3.0, 2.0, 5.0, 9.5)),
        ({"estimate": 3.0}, INTERVAL, (3.0, None, None)),
        (
            {"cells": ["f", "m"], "estimates": [1.0, 2.0], "lower": [0.0, 1.0], "upper": [2.0, 3.0]},
            ("cell", *INTERVAL),
            ("f", 1.0, 0.0, 2.0),
        ),
        (
            {"probabilities": [0.5], "estimates": [40.0], "error": 0.1},
            ("probability", *INTERVAL),
            (0.5, 40.0, None, None),
        ),  # in rank
        (
            {"columns": ["region", "sex", *INTERVAL], "rows": [["north", True, 1.0, 0.0, 2.0]], "margins": []},
            ("region", "sex", *INTERVAL),
            ("north", True, 1.0, 0.0, 2.0),
        ),
        ({"columns": ["a", "b"], "estimate": [[1.0, 0.5], [0.5, 2.0]]}, ("column", "a", "b"), ("a", 1.0, 0.5)),
        (
            {"coefficients": [2.0], "features": ["age"], "intervals": [[1.0, 3.0]], "intercept": 7.0},
            ("coefficient", *INTERVAL),
            ("age", 2.0, 1.0, 3.0),
        ),
        ({"coefficients": {"age": 2.0}}, ("coefficient", *INTERVAL), ("age", 2.0, None, None)),
        ({"total": 5.0, "parts": [1, 4]}, ("name", "value"), ("total", 5.0)),
        (5.0, ("name", "value"), ("answer", 5.0)),
        (None, ("name", "value"), ("answer", None)),
    ],
)
def test_every_form_has_its_table(answer, columns, first):
    found = main_table(answer)
    assert found.columns == columns
    assert found.rows[0] == first
    assert all(len(row) == len(columns) for row in found.rows)


def test_an_error_becomes_an_interval_that_is_not_narrower():
    (row,) = main_table({"estimate": 0.3, "error": 0.1}).rows
    assert row[1] <= 0.3 - 0.1
    assert row[2] >= 0.3 + 0.1


def test_margins_follow_and_the_rest_is_kept():
    inner = {"columns": list(INTERVAL), "rows": [[1.0, 0.0, 2.0]], "confidence": 0.95, "margins": []}
    tables, rest = split_tables({**inner, "columns": ["sex", *INTERVAL], "rows": [["f", 1.0, 0.0, 2.0]], "margins": [inner]})
    assert [one.columns for one in tables] == [("sex", *INTERVAL), INTERVAL]
    assert rest == {"confidence": 0.95}


@pytest.mark.parametrize(
    "odd",
    [{"columns": ["a"], "rows": [[1, 2]]}, {"estimates": [1.0], "cells": ["a", "b"]}, {"estimate": "much"}, {"rows": 3}, []],
)
def test_what_has_no_form_is_not_forced_into_one(odd):
    assert split_tables(odd) == ([], odd)
    assert main_table(odd).columns == ("name", "value")


def test_a_key_that_a_spreadsheet_would_run_is_a_text():
    table = AnswerTable(columns=("key", "estimate"), rows=(("=cmd()", 1.5), ("@x", 2.0), ("-7", -3.0), ("plain", 1.0)))
    assert table.csv().splitlines()[1:] == ["'=cmd(),1.5", "'@x,2.0", "-7,-3.0", "plain,1.0"]


def test_csv_and_parquet_hold_the_same():
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = AnswerTable(columns=("group, of", "estimate", "upper"), rows=(('a "b"\nc', 0.1 + 0.2, None), ("d", 2, 1.5)))
    read = list(csv.reader(io.StringIO(table.csv())))
    assert read == [["group, of", "estimate", "upper"], ['a "b"\nc', repr(0.1 + 0.2), ""], ["d", "2", "1.5"]]
    found = parquet.read_table(pyarrow.BufferReader(table.parquet())).to_pydict()
    assert found == {"group, of": ['a "b"\nc', "d"], "estimate": [0.1 + 0.2, 2.0], "upper": [None, 1.5]}


def test_a_result_writes_its_tables_and_replaces_nothing(loaded, folder):
    result = loaded().plan().run()
    (first,) = result.write_tables(folder)
    assert first.name == "analysis-ages.csv"
    assert first.read_text().startswith("name,value\n")
    before = first.read_bytes()
    assert result.write_tables(folder) == (first,)
    (second,) = loaded().plan().run().write_tables(folder)
    assert (second.name, first.read_bytes()) == ("analysis-ages-2.csv", before)
    (other,) = result.write_tables(folder / "new", format="parquet")
    assert other.read_bytes()[:4] == b"PAR1"
    with pytest.raises(ValueError, match="format"):
        result.write_tables(folder, format="xlsx")
    assert json.loads(json.dumps(result.table("ages").rows))
