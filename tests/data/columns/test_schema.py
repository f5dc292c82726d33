"""A schema encodes the columns that are asked for, in that order."""

import numpy as np
import pytest

from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.cells import objects
from dpkit.data.columns.kinds import Boolean, Category, Number
from dpkit.data.columns.schema import Schema
from dpkit.errors import InvalidValueError, UnknownNameError


def cells(*items):
    return Cells(values=objects(items))


def test_a_schema_encodes_the_columns_that_are_asked_for_in_that_order():
    schema = Schema(columns=(Number(name="x", lower=0, upper=4), Boolean(name="y"), Category(name="z", levels=("a", "b"))))
    batch = Batch(rows=2, cells={"x": cells(1, 2), "z": cells("b", None)})
    assert np.array_equal(schema.encode(batch, ["z", "x"]), [[1.0, 1.0], [np.nan, 2.0]], equal_nan=True)
    assert schema.sample(()).tolist() == [[0, 0, 0], [2, 0, 0], [4, 1, 1]]
    assert schema.may_drop(["x"])
    with pytest.raises(UnknownNameError, match="Did you mean 'x'"):
        schema.select(["xx"])


def test_a_derived_column_may_have_bounds_of_its_own():
    schema = Schema(columns=(Number(name="x", lower=0, upper=4),))
    inverse = schema.extended(let={"y": {"sql": "1 / x", "upper": 2, "lower": 0}}).facts["y"]
    assert inverse is not None
    assert (inverse.lower, inverse.upper) == (0.0, 2.0)
    for wrong in ({"sql": "1 / x", "uper": 2}, {"upper": 2}, 3):
        with pytest.raises(InvalidValueError, match="for each name SQL"):
            schema.extended(let={"y": wrong})


def test_an_empty_level_is_refused_as_what_it_is():
    with pytest.raises(InvalidValueError, match="at least one character"):
        Category(name="z", levels=("a", ""))
