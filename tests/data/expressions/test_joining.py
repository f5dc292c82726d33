"""Values from public tables: what rows find there, what they do not, and what is refused."""

import math

import numpy as np
import pytest

import dpkit
from dpkit.data.expressions.joining import join
from dpkit.data.tables.open_source import open_table

PUBLIC = {"code": ["a", "b", "7"], "people": [10, 20, None], "kind": ["x", "y", "x"], "big": [True, False, True]}
COLUMNS = (
    dpkit.Number(name="people", lower=0, upper=15),
    dpkit.Category(name="kind", levels=("x", "y")),
    dpkit.Boolean(name="big"),
)


def joined(schema, table=PUBLIC, *, on="code", key="code", columns=COLUMNS):
    return join(schema, open_table(table), on=on, key=key, columns=columns, name="public")


AGE = dpkit.Number(name="age", lower=0, upper=9, whole=True)


def codes(schema, rows, *names):
    return np.concatenate(list(dpkit.open_source(rows, schema).blocks(names, 2)))


def test_a_row_looks_its_own_values_up():
    schema = joined(dpkit.Schema(columns=(AGE,)))
    rows = {"age": [1, 2, 3, 4], "code": ["b", 7, "zzz", "a"]}
    found = codes(schema, rows, "people", "kind", "big")
    assert found[0].tolist() == [15.0, 1.0, 0.0]  # clipped to its bounds
    assert math.isnan(found[1, 0])
    assert found[1, 1:].tolist() == [0.0, 1.0]
    assert np.isnan(found[2]).all()
    assert found[3].tolist() == [10.0, 0.0, 1.0]
    assert schema.select(("kind",))[0].levels == ("x", "y")
    assert schema.extended(where="kind = 'x' and people > 5").reads(("age",)) == ("age", "code")


def test_a_declared_key_keeps_its_levels():
    schema = joined(
        dpkit.Schema(columns=(dpkit.Category(name="code", levels=("b", "other"), unknown="other", missing="other"),))
    )
    found = codes(schema, {"code": ["b", "x", None]}, "kind")
    assert found[0] == 1.0
    assert np.isnan(found[1:]).all()
    assert schema.may_drop(("kind",))


def test_whole_numbers_are_keys():
    schema = joined(dpkit.Schema(columns=(AGE,)), {"age": [3, 4], "people": [1, 2]}, on="age", key="age", columns=COLUMNS[:1])
    found = codes(schema, {"age": [4, 3, 5]}, "people")
    assert found[:2, 0].tolist() == [2.0, 1.0]
    assert math.isnan(found[2, 0])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({**PUBLIC, "code": ["a", "a", "b"]}, "the key 'a' twice"),
        ({**PUBLIC, "code": ["a", None, "b"]}, "an empty key"),
        ({name: [] for name in PUBLIC}, "no row"),
        ({"code": ["a"], "people": [1]}, "kind"),
        ({"id": ["a"], "people": [1]}, "code"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(table, said):
    with pytest.raises(dpkit.InvalidValueError, match=said):
        joined(dpkit.Schema(columns=(AGE,)), table)


def test_a_key_must_be_a_level_or_a_whole_number():
    schema = dpkit.Schema(columns=(dpkit.Number(name="code", lower=0, upper=1),))
    with pytest.raises(dpkit.InvalidValueError, match="a category, a whole number"):
        joined(schema)


def test_other_contents_are_another_join():
    schema = dpkit.Schema(columns=(AGE,))
    assert joined(schema) == joined(schema)
    assert joined(schema) != joined(schema, {**PUBLIC, "people": [10, 21, None]})
