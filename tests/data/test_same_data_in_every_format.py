"""A law: the same data gives the same codes from every format."""

import dataclasses

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from dpkit.data.columns.cells import plain_spelling
from dpkit.data.columns.kinds import Boolean, Category, Number
from dpkit.data.columns.schema import Schema
from dpkit.data.tables.open_source import open_source
from dpkit.testing.strategies import examples

LEVELS = ("0", "1", "2", "1.5", "1000", "-3")
SCHEMA = Schema(
    columns=(
        Category(name="group", levels=LEVELS),
        Boolean(name="flag"),
        Number(name="size", lower=-1e6, upper=1e6),
    )
)
FORMATS = ("csv", "csv.gz", "csv.zst", "parquet", "pandas", "polars", "arrow", "columns")


def codes(data, schema=SCHEMA, **form):
    found = np.concatenate([*open_source(data, schema, **form).blocks(schema.names, 100), np.zeros((0, 3))])
    return found.tolist()


def in_format(frame, kind, folder):
    if kind.startswith("csv"):
        path = folder / f"rows.{kind}"
        packing = {"gz": "gzip", "zst": "zstd"}.get(kind.removeprefix("csv."))
        with pyarrow.output_stream(str(path), compression=packing) as file:
            file.write(frame.to_csv(index=False).encode())
        return path
    if kind == "parquet":
        parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), folder / "rows.parquet")
        return folder / "rows.parquet"
    made = {
        "pandas": lambda: frame,
        "polars": lambda: polars.from_pandas(frame),
        "arrow": lambda: pyarrow.Table.from_pandas(frame),
    }
    return made.get(kind, lambda: {name: frame[name].tolist() for name in frame})()


NUMBERS = st.sampled_from([0.0, 1.0, 2.0, 1.5, 1000.0, -3.0, 7.0, None, -0.0, 1e15])


@examples(15)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=80))
def test_numbers_are_the_same_levels_truths_and_sizes_everywhere(tmp_path_factory, rows):
    frame = pd.DataFrame(rows, columns=["group", "flag", "size"], dtype="float64")
    folder = tmp_path_factory.mktemp("formats")
    found = {kind: codes(in_format(frame, kind, folder)) for kind in FORMATS}
    for kind in FORMATS:
        np.testing.assert_array_equal(found[kind], found["pandas"], err_msg=kind)


@pytest.mark.parametrize(("text", "level"), [("1.0", 1), ("1.", 1), ("1e3", 4), ("1.50", 3), ("-3.00", 5), ("2", 2)])
def test_a_number_in_a_csv_is_the_level_that_it_spells(text, level):
    assert codes({"group": [text], "flag": ["1.0"], "size": ["1.0"]}) == [[float(level), 1.0, 1.0]]


@pytest.mark.parametrize("text", ["01", "1.0.0", "+1", "1_0", "0x1", "1,0", " 1.0", "1e", ".5", "v1.0"])
def test_what_is_spelt_otherwise_is_another_text(text):
    assert plain_spelling(text) == text
    assert np.isnan(codes({"group": [text], "flag": [text], "size": ["1"]})[0][0])


def test_texts_that_are_both_declared_stay_apart():
    schema = Schema(columns=(Category(name="group", levels=("1.1", "1.10", "2.0")), *SCHEMA.columns[1:]))
    rows = {"group": ["1.1", "1.10", "1.100", "2", 2.0, "2.00"], "flag": ["0.0"] * 6, "size": [0] * 6}
    first = [row[0] for row in codes(rows, schema)]
    assert first[:2] == [0.0, 1.0]
    assert np.isnan(first[2]) or first[2] == 0.0
    assert first[3:] == [2.0, 2.0, 2.0]


def test_a_decimal_comma_is_read_where_it_is_declared():
    schema = Schema(columns=(*SCHEMA.columns[:2], Number(name="size", lower=0, upper=9999, decimal=",")))
    rows = {"group": ["1"] * 6, "flag": ["1"] * 6, "size": ["1,5", "2", "1.234,5", "1.5", 2.5, "1,2,3"]}
    np.testing.assert_array_equal([row[2] for row in codes(rows, schema)], [1.5, 2.0, np.nan, np.nan, 2.5, np.nan])
    np.testing.assert_array_equal([row[2] for row in codes({**rows, "size": ["1,5"] * 6})], [np.nan] * 6)


def test_a_decimal_comma_is_read_in_levels_and_truths_too():
    columns = (
        Category(name="group", levels=LEVELS, decimal=","),
        Boolean(name="flag", decimal=","),
        Number(name="size", lower=0, upper=9, decimal=","),
    )
    rows = {
        "group": ["1,0", "1,50", "2", 2.0, "1.0", "1,0,0"],
        "flag": ["1,0", "0,0", "true", 1.0, "1.0", "1,5"],
        "size": ["1,0"] * 6,
    }
    found = np.array(codes(rows, Schema(columns=columns)))
    np.testing.assert_array_equal(found[:, 0], [1.0, 3.0, 2.0, 2.0, np.nan, np.nan])
    np.testing.assert_array_equal(found[:, 1], [1.0, 0.0, 1.0, 1.0, np.nan, np.nan])


@examples(15)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=40))
def test_numbers_with_a_decimal_comma_are_the_same_levels_truths_and_sizes(tmp_path_factory, rows):
    frame = pd.DataFrame(rows, columns=["group", "flag", "size"], dtype="float64")
    path = tmp_path_factory.mktemp("formats") / "rows.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False)
    schema = Schema(columns=tuple(dataclasses.replace(column, decimal=",") for column in SCHEMA.columns))
    np.testing.assert_array_equal(codes(path, schema, delimiter=";"), codes(frame))
