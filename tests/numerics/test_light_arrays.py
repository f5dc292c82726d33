"""Distinct values and masked arrays, as numpy tells them."""

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpkit.numerics.noise.noise_inputs import is_masked_array
from dpkit.numerics.special import distinct


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.integers(-3, 3).map(float))))
def test_distinct_floats_are_those_of_numpy(values):
    array = np.array(values, dtype=np.float64)
    assert distinct(array).tolist() == np.unique(array).tolist()


@given(st.lists(st.integers(-5, 5)))
def test_distinct_integers_are_those_of_numpy(values):
    array = np.array(values, dtype=np.int64)
    assert distinct(array).tolist() == np.unique(array).tolist()
    assert distinct(array.reshape(1, -1)).dtype == array.dtype


def test_masked_arrays_are_known_and_nothing_else_is():
    assert is_masked_array(np.ma.array([1.0], mask=[True]))
    assert not is_masked_array(np.ones(2))
    assert not is_masked_array("masked")


def test_looking_loads_nothing():
    code = "import sys, numpy as np; from dpkit.numerics.special import distinct\n"
    code += "from dpkit.numerics.noise.noise_inputs import is_masked_array\n"
    code += "print(is_masked_array(distinct(np.ones(3))), 'numpy.ma' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False False\n"
