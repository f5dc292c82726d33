"""A recipe holds values with their types, and arrays bit for bit."""

import json

import numpy as np
import pytest

from dpkit import SerialisationError
from dpkit.auditing.certificates.recipe import decode, encode


@pytest.mark.parametrize(
    "value", [None, True, 3, 2.5, float("inf"), "text", [1, (2.0, "x")], {"a": [1.0]}, np.int64(4)], ids=repr
)
def test_a_recipe_holds_values_with_their_types(value):
    again = decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert again == value
    assert type(again) is type(value)


def test_a_recipe_holds_arrays_bit_for_bit():
    array = np.array([[0.1, -0.0, np.nan], [np.inf, 5e-324, -1.0]])
    again = decode(json.loads(json.dumps(encode(array), allow_nan=False)))
    assert again.tobytes() == array.tobytes()
    assert encode(object()) is None
    assert encode([object()]) is None
    for broken in ({}, {"is": "array", "dtype": "O", "shape": [1], "value": [1]}, {"is": "what", "value": 1}, 3):
        with pytest.raises(SerialisationError):
            decode(broken)
