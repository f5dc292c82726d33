"""Columns that are given by name: whatever holds them, their values count, their gaps are missing, and the rest is refused."""

import numpy as np
import pytest

import dpkit
from dpkit import Neighbours, Number, Schema
from dpkit.errors import SourceError

SCHEMA = Schema(columns=(Number(name="x", lower=0.0, upper=10.0),))
CANARY = 8675309.25


def total(data, **options):
    rows = dpkit.Query(
        name="sum", columns=("x",), rows=lambda block: np.stack([np.ones(len(block)), block[:, 0]], axis=1), shape=(2,),
        grid=2.0**-10, bound=16.0, sensitivity=lambda relation: (dpkit.l1(11.0), dpkit.l2(11.0)),
        because=dpkit.Citation(key="dpkit", locator="tests"),
    )  # fmt: skip
    (found,) = dpkit.BlockEngine(dpkit.open_source(data, SCHEMA, **options)).evaluate([rows])
    return found.nearest().tolist()


def test_a_pandas_series_in_a_mapping():
    pandas = pytest.importorskip("pandas")
    assert total({"x": pandas.Series([1.0, 2.0, None, 4.0])}) == [3.0, 7.0]
    assert total({"x": pandas.Series([1, 2, None, 4], dtype="Int64", index=[9, 9, 0, 1])}) == [3.0, 7.0]
    assert total({"x": pandas.Series(["1", "?", "4"], dtype="string")}) == [2.0, 5.0]
    assert total({"x": pandas.array([1, None, 4], dtype="Int64")[[0, 2]].to_numpy(dtype=object)}) == [2.0, 5.0]


def test_a_polars_series_and_an_arrow_array_in_a_mapping():
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    assert total({"x": polars.Series([1.0, None, 4.0])}) == [2.0, 5.0]
    assert total({"x": arrow.array([1.0, None, 4.0])}) == [2.0, 5.0]
    assert total({"x": arrow.chunked_array([[1.0], [None, 4.0]])}) == [2.0, 5.0]


def test_a_masked_cell_is_missing_and_its_value_is_not_read():
    masked = np.ma.masked_array([1.0, CANARY, 4.0], mask=[False, True, False])
    assert total({"x": masked}) == [2.0, 5.0]
    assert total(masked[:, None], names=["x"]) == [2.0, 5.0]
    assert total(np.ma.masked_array([1, 2], mask=False)[:, None], names=["x"]) == [2.0, 3.0]
    records = np.ma.array([(1.0,), (CANARY,)], mask=[(False,), (True,)], dtype=[("x", "f8")])
    assert total(records) == [1.0, 1.0]
    assert total({"x": [1.0, np.ma.masked, 4.0]}) == [2.0, 5.0]


@pytest.mark.parametrize("column", [5, CANARY, "text", b"bytes", {1.0, 2.0}, {"a": 1}, iter([1.0]), None, object()])
def test_what_is_no_column_is_refused_by_its_type_alone(column):
    with pytest.raises(SourceError, match="the column 'x' is of the type") as caught:
        dpkit.open_source({"x": column}, SCHEMA, neighbours=Neighbours.REPLACE_ONE)
    assert str(CANARY) not in str(caught.value)
