"""Who holds which keys: by person, each key once, whatever the order and the batches."""

import numpy as np

import dpkit
from dpkit.data.columns.count_key_holders import count_key_holders


def found(rows, *, at_most=3):
    held = count_key_holders(rows, at_most=at_most, key=bytes(32))
    return {text: people.tolist() for text, people in zip(held.texts, held.people, strict=True)}


def test_rows_count_for_themselves_without_persons():
    assert found([(None, ["a", "b", None, "a"]), (None, ["a"])]) == {"a": [3], "b": [1]}
    assert found([]) == {}


def test_a_person_holds_a_key_once_and_is_sorted_by_how_many():
    rows = [(["p", "p", "q", None], ["a", "a", "a", "z"]), (["q", "r", "p"], ["b", None, "a"])]
    assert found(rows) == {"a": [1, 1, 0], "b": [0, 1, 0]}
    turned = [(persons[::-1], texts[::-1]) for persons, texts in rows[::-1]]
    assert found(turned) == found(rows)


def test_a_source_tells_only_of_rows_that_are_used():
    table = {"who": ["p"] * 5 + ["q"], "city": ["a", "b", "c", "d", "e", "a"], "x": [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]}
    schema = dpkit.Schema(columns=(dpkit.Text(name="city"), dpkit.Number(name="x", lower=0, upper=1)))
    unit = dpkit.PrivacyUnit(column="who", at_most=2)
    held = dpkit.open_source(table, schema, unit=unit).key_holders("city")
    assert held.people.sum() <= 3
    assert held.people.shape[1] == 2
    filtered = dpkit.open_source(table, schema.extended(where="x = 1")).key_holders("city")
    assert dict(zip(filtered.texts, filtered.people[:, 0].tolist(), strict=True)) == {"a": 2, "c": 1, "e": 1}


def test_texts_have_codes_of_their_own_and_nothing_raises():
    column = dpkit.Text(name="city")
    cells = dpkit.Cells(values=np.array(["a", "b", "a", None, "", 3, 3.0, float("nan"), b"\xff", "x" * 10_000], dtype=object))
    codes = column.encode(cells)
    assert codes[0] == codes[2] != codes[1]
    assert codes[5] == codes[6]
    assert np.isnan(codes[[3, 4, 7]]).all()
    assert ((codes[[0, 1, 5, 8, 9]] >= 0) & (codes[[0, 1, 5, 8, 9]] < 2.0**52)).all()


def test_a_person_and_a_key_are_the_same_however_a_number_is_written():
    table = {"who": ["7", "7.0", "8.0", "8"], "key": ["1.0", "1", "2", "2.0"], "x": ["1", "1", "1", "1"]}
    schema = dpkit.Schema(columns=(dpkit.Text(name="key"), dpkit.Number(name="x", lower=0, upper=1)))
    source = dpkit.open_source(table, schema, unit=dpkit.PrivacyUnit(column="who", at_most=1))
    held = source.key_holders("key")
    assert dict(zip(held.texts, held.people.sum(axis=1).tolist(), strict=True)) == {"1": 1, "2": 1}
    (block,) = source.blocks(("key", "x"), 10)
    assert np.count_nonzero(~np.isnan(block[:, 0])) == 2
