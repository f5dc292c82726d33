"""Suggestions by name are plausible declarations, and unknown names get none."""

import pytest
import yaml

from dpkit.cli.suggested_columns import _BY_NAME, declared_by_type, suggested_by_name


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("age", "[0, 120]"),
        ("Age", "[0, 120]"),
        ("Latitude", "[-90, 90]"),
        ("is_smoker", "boolean"),
        ("Birth year", "[1900, 2030]"),
        ("pct_fat", "[0, 100]"),
        ("wage", ""),
        ("stage", ""),
        ("", ""),
    ],
)
def test_a_name_suggests(name, declared):
    assert suggested_by_name(name) == declared


@pytest.mark.parametrize("declared", sorted({declared for _, declared in _BY_NAME}))
def test_every_suggestion_is_yaml_with_bounds_in_order(declared):
    found = yaml.safe_load(f"x: {declared}")["x"]
    if isinstance(found, list):
        assert found[0] < found[1]


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        ("bool", "boolean"),
        ("date32[day]", "date"),
        ("timestamp[us]", "time"),
        ("int64", "[LOWER, UPPER]"),
        ("double", "[LOWER, UPPER]"),
    ],
)
def test_a_type_declares_what_it_alone_can(kind, declared):
    assert declared_by_type(kind) == declared
