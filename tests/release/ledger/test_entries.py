"""What the log says: who, when and what; released values come back as they were."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws.ledger_laws import UNIT, times

import dpkit
from dpkit.numerics.noise.randomness import Simulated
from dpkit.release.ledger.entries import value_of, value_text
from dpkit.release.ledger.ledger import Ledger
from dpkit.testing.strategies import examples


def test_entries_say_who_when_and_what(ledger, tmp_path):
    with Ledger.open(ledger.path, who="ada") as mine:
        mine.reserve("run", times(1), analysis="abc")
        mine.released(mine.charge("run", UNIT, key="0"), 2.5)
        created, reserved, charged, released = mine.entries()
    assert created.kind == "create"
    assert {entry.who for entry in (reserved, charged, released)} == {"ada"}
    assert released.when.endswith("+00:00")
    assert (charged.state, released.state) == ("reserved", "released")
    assert charged.body["analysis"] == "abc"
    assert dpkit.from_json(json.dumps(charged.body["event"])) == UNIT
    assert charged.body["price"] == ["1/1024", "0/1"]
    assert released.charge == charged.seq
    assert len(mine.entries("run")) == 3


numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.none(), st.text(max_size=5))
values = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=4), inner, max_size=4),
    ),
    max_leaves=12,
)


@examples(150)
@given(values)
def test_released_values_come_back_as_they_were(value):
    assert repr(value_of(value_text(value))) == repr(json_order(value))


def json_order(value):
    """Mappings come back with their keys sorted."""
    if isinstance(value, dict):
        return {key: json_order(value[key]) for key in sorted(value)}
    return type(value)(map(json_order, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0.1, math.inf], [math.nan, -0.0]]),
        np.arange(3),
        np.array(2.5),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.float32([0.1]),
        np.array([2**64 - 1], dtype=np.uint64),
        np.array([1.0, 2.0]).view(Simulated),
    ],
    ids=repr,
)
def test_arrays_come_back_with_type_shape_and_stamp(array):
    back = value_of(value_text(array))
    assert type(back) is type(array)
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)
    assert np.array_equal(np.signbit(back), np.signbit(array)) if array.dtype.kind == "f" else True
    scalar = np.float64(0.1)
    assert value_of(value_text(scalar)) == scalar


def test_a_released_nan_raises_nothing(ledger):
    ledger.reserve("run")
    ledger.released(ledger.charge("run", UNIT, key="0"), np.array([math.nan, math.inf]))
    assert math.isnan(ledger.charge("run", UNIT, key="0").value[0])
