"""What is public of a declared dataset, without a row."""

import pytest

import dpkit
from dpkit import Neighbours

SCHEMA = dpkit.Schema(
    columns=(
        dpkit.Number(name="age", lower=0, upper=100),
        dpkit.Category(name="city", levels=("north", "south")),
        dpkit.Boolean(name="works"),
    )
)


def test_ranges_levels_and_truths_are_those_of_the_columns():
    setting = dpkit.DeclaredSetting(schema=SCHEMA)
    assert setting.columns == ("age", "city", "works")
    assert setting.range("age") == (0.0, 100.0)
    assert setting.levels("city") == ("north", "south")
    assert setting.levels("age") == ()
    assert [setting.kind(name) == "boolean" for name in setting.columns] == [False, False, True]
    with pytest.raises(dpkit.DpkitError, match="age, city, works"):
        setting.range("income")


def test_the_number_of_rows_is_public_where_nobody_comes_or_goes():
    assert dpkit.DeclaredSetting(schema=SCHEMA, neighbours=Neighbours.REPLACE_ONE, rows=7).size_is_public
    hidden = dpkit.DeclaredSetting(schema=SCHEMA, rows=7)
    assert (hidden.size_is_public, hidden.size) == (False, 7)
    with pytest.raises(dpkit.InvalidValueError):
        dpkit.DeclaredSetting(schema=SCHEMA, rows=0)
