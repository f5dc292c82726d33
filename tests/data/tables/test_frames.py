"""Frames of pandas and polars: missing and odd cells change no other row."""

import numpy as np
import pytest
from data.level_counts import totals

import dpkit
from dpkit import Category, Schema


def test_integers_of_128_bits_in_a_polars_frame_are_read():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": polars.Series([1, None, 10**30], dtype=polars.Int128)})
    source = dpkit.open_source(frame, dpkit.Schema(columns=(dpkit.Number(name="x", lower=0, upper=5),)))
    np.testing.assert_array_equal(np.concatenate(list(source.blocks(("x",), 10)))[:, 0], [1.0, np.nan, 5.0])


def test_a_null_does_not_change_other_rows_of_polars():
    polars = pytest.importorskip("polars")
    schema = Schema(columns=(Category(name="c", levels=(str(2**53 + 1), "other")),))
    whole = [2**53 + 1] * 50
    assert totals(polars.DataFrame({"c": whole}), schema)[0] == 50
    assert totals(polars.DataFrame({"c": [*whole, None]}), schema)[0] == 50


def test_a_date_that_python_cannot_hold_raises_nothing():
    polars = pytest.importorskip("polars")
    schema = Schema(columns=(Category(name="c", levels=("a", "b")),))
    frame = polars.DataFrame({"c": polars.Series([2**30 + 12345, 0], dtype=polars.Int32).cast(polars.Date)})
    assert totals(frame, schema).tolist() == [0.0, 0.0]
