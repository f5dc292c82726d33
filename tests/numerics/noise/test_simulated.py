"""The stamp of a simulation survives whatever numpy does, and a broken stamp is told apart."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpkit import NoiseLaw, Simulated, exactly_rounded, secure_generator
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.numerics.noise.randomness import is_simulated, stamped

DERIVED = {
    "an entry": lambda x: x[0, 0],
    "a row": lambda x: x[0],
    "a mask": lambda x: x[x > 1],
    "an iteration": lambda x: next(iter(x)),
    "arithmetic": lambda x: 2.0 * x + 1.0,
    "arithmetic on an entry": lambda x: 1.0 - x[0, 0],
    "numpy's scalar on the left": lambda x: np.float64(2.0) * x[0, 0],
    "a plain array on the left": lambda x: np.ones(3) @ x,
    "a comparison": lambda x: x[0, 0] < 1,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "std": lambda x: x.std(),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(),
    "trace": lambda x: x.trace(),
    "dot": lambda x: x[0].dot(x[0]),
    "take": lambda x: x.take(0),
    "nonzero": lambda x: x.nonzero()[0],
    "searchsorted": lambda x: x[0].searchsorted(0.5),
    "astype": lambda x: x.astype(int),
    "round": lambda x: round(x[0, 0]),
    "builtin sum": lambda x: sum(x[0]),
    "np.stack": lambda x: np.stack([np.zeros((3, 3)), x]),
    "np.concatenate": lambda x: np.concatenate([np.zeros((1, 3)), x]),
    "np.where": lambda x: np.where(True, x, 0.0),
    "np.median": lambda x: np.median(x),
    "np.histogram": lambda x: np.histogram(x)[0],
    "np.split": lambda x: np.split(x, 3)[1],
    "np.linalg.inv": lambda x: np.linalg.inv(x),
    "np.linalg.svd": lambda x: np.linalg.svd(x).S,
    "np.einsum": lambda x: np.einsum("ij,ij", x, x),
    "np.asanyarray": lambda x: np.asanyarray(x),
    "np.add.reduce": lambda x: np.add.reduce(x[0]),
    "a pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "a deep copy": copy.deepcopy,
}


def simulated():
    return (np.eye(3) + np.arange(9.0).reshape(3, 3) / 10).view(Simulated)


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_what_numpy_derives_from_a_simulation_is_stamped(derive):
    derived = derive(simulated())
    assert isinstance(derived, Simulated)
    assert derived.simulation is True
    assert np.array_equal(np.asarray(derived), np.asarray(derive(np.asarray(simulated()))))


def test_a_stamp_that_is_not_passed_on_is_caught():
    """The mutant is what a plain subclass of ndarray does."""

    class Forgetful(np.ndarray):
        simulation = True

    for name in ("an entry", "np.stack", "np.where", "argmax"):
        assert not isinstance(DERIVED[name](simulated().view(Forgetful)), Forgetful)


@settings(deadline=None)  # a busy machine is no counterexample
@given(arrays.arrays(np.float64, st.integers(1, 5), elements=st.floats(-9, 9)), st.data())
def test_numbers_taken_out_behave_as_numbers(array, data):
    index = data.draw(st.integers(-array.size, array.size - 1))
    entry = array.view(Simulated)[index]
    assert float(entry) == array[index]
    assert f"{entry:.3f}" == f"{array[index]:.3f}"
    assert Counter(array.view(Simulated)) == Counter(array.tolist())
    assert [*range(20)][entry.astype(int)] == [*range(20)][int(array[index])]


def test_an_array_with_axes_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(simulated())


def test_what_is_no_array_stays_what_it_is():
    assert np.shape(simulated()) == (3, 3)
    assert np.array_equal(simulated(), simulated()) is True


@pytest.mark.parametrize("lose", [np.asarray, np.array, lambda x: x.tolist(), lambda x: x.flat[0]])
def test_where_the_stamp_is_known_to_be_lost(lose):
    """The documented limits: numpy asks nobody here."""
    assert not isinstance(lose(simulated()), Simulated)


def test_a_list_with_a_stamped_entry_is_a_simulation():
    assert is_simulated([1.0, [2.0, simulated()[0, 0]]])
    assert not is_simulated([1.0, (2.0, np.ones(3))])
    assert isinstance(stamped(np.ones(2), None, value=(simulated()[0, 0], 1.0)), Simulated)


@pytest.mark.parametrize("rng", [None, secure_generator()], ids=["new", "given"])
def test_the_helper_of_plugins_stamps_too(rng):
    law = NoiseLaw(name="a plugin's own", upper=LAPLACE.upper)
    assert not isinstance(exactly_rounded([1.0, 2.0], scale=1.0, law=law, rng=rng), Simulated)
    assert isinstance(exactly_rounded([1.0, 2.0], scale=1.0, law=law, rng=np.random.default_rng(1)), Simulated)
    assert isinstance(exactly_rounded(simulated(), scale=1.0, law=law, rng=rng), Simulated)
    assert isinstance(exactly_rounded([simulated()[0, 0], 1.0], scale=1.0, law=law, rng=rng), Simulated)
