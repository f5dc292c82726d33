"""What goes into a release: stamps are passed on, bad input is refused in our words, and no key is drawn before that."""

import math

import numpy as np
import pytest

import dpkit
from dpkit import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    InvalidValueError,
    Laplace,
    RandomizedResponse,
    Simulated,
    SymmetricGaussian,
)
from dpkit.numerics.noise import secure_bits
from dpkit.numerics.noise.exact_rounding import LAPLACE

CASES = {
    "laplace": (Laplace(scale=2.0), np.array([1.0, -3.5])),
    "gaussian": (Gaussian(scale=2.0), np.array([1.0, -3.5])),
    "symmetric": (SymmetricGaussian(scale=2.0), np.array([[1.0, 0.5], [0.5, -2.0]])),
    "discrete laplace": (DiscreteLaplace(scale=2.0), np.array([1, -3])),
    "discrete gaussian": (DiscreteGaussian(scale=2.0), np.array([1, -3])),
    "exponential": (Exponential(scale=2.0), np.array([1.0, 2.0])),
    "permute and flip": (dpkit.NoisyMax(scale=2.0), np.array([1.0, 2.0])),
    "laplace max": (dpkit.NoisyMax(scale=2.0, noise="laplace"), np.array([1.0, 2.0])),
    "above threshold": (dpkit.AboveThreshold(scale=2.0), np.array([1.0, 2.0])),
    "randomized response": (RandomizedResponse(epsilon=1.5), np.array([0, 1])),
}
EVERY = pytest.mark.parametrize(("mechanism", "value"), CASES.values(), ids=CASES)
INTEGERS = pytest.mark.parametrize(
    "mechanism", [DiscreteLaplace(scale=1.0), DiscreteGaussian(scale=1.0), RandomizedResponse(epsilon=1.0, categories=5)]
)


@EVERY
@pytest.mark.parametrize("rng", [None, dpkit.secure_generator()], ids=["new", "given"])
def test_what_is_released_of_a_simulation_is_a_simulation_though_its_bits_are_secure(mechanism, value, rng):
    assert isinstance(mechanism.release(value.view(Simulated), rng), Simulated)
    assert isinstance(mechanism.release_many(value.view(Simulated), 3, rng), Simulated)
    assert isinstance(mechanism.release(list(value.view(Simulated)), rng), Simulated)
    assert not isinstance(mechanism.release(value, rng), Simulated)
    assert not isinstance(mechanism.release_many(value, 3, rng), Simulated)


@EVERY
def test_an_entry_of_a_simulated_release_is_stamped(mechanism, value):
    draws = mechanism.release_many(value, 3, np.random.default_rng(1))
    assert isinstance(draws.ravel()[0], Simulated)
    assert isinstance(np.stack([draws[0], draws[1]]), Simulated)


@pytest.fixture
def _no_keys(monkeypatch):
    def refuse(bits):
        raise AssertionError("a key was drawn")

    monkeypatch.setattr(secure_bits.secrets, "randbits", refuse)


BAD = [[math.nan, 1.0], [[1], [1, 2]], "text", [1, None], np.ma.array([0, 1], mask=[True, False]), 2**70]


@EVERY
@pytest.mark.usefixtures("_no_keys")
@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_a_bad_value_is_refused_before_a_key_is_drawn(mechanism, value, bad):
    for release in (mechanism.release, lambda given: mechanism.release_many(given, 2)):
        with pytest.raises(InvalidValueError) as caught:
            release(bad)
        assert caught.value.__cause__ is None
    with pytest.raises(AssertionError, match="key"):
        mechanism.release(value)


@EVERY
def test_masked_arrays_are_refused_with_a_remedy(mechanism, value):
    for saturate in (None, 10.0):
        with pytest.raises(InvalidValueError, match=r"masked array.*Fill"):
            mechanism.release(np.ma.array(value, mask=False), saturate=saturate)


@INTEGERS
@pytest.mark.parametrize("saturate", [math.nan, math.inf, "10", True, 0.5, 0, -3])
def test_a_limit_for_integers_is_checked(mechanism, saturate):
    with pytest.raises(InvalidValueError, match="saturate"):
        mechanism.release([1, 2], np.random.default_rng(1), saturate=saturate)


@INTEGERS
@pytest.mark.parametrize("wild", [[2**70, 1], [2**63, -1], [-(2**63) - 1, 2**63], 2**200])
def test_integers_beyond_a_machine_word_saturate_or_are_refused(mechanism, wild):
    released = mechanism.release(wild, np.random.default_rng(1), saturate=100)
    assert np.abs(released).max() < 200
    with pytest.raises(InvalidValueError, match="larger magnitude"):
        mechanism.release(wild, np.random.default_rng(1))


@pytest.mark.parametrize("wild", [[2**70, 1.0], [2**63, -1], 2**200])
def test_integers_beyond_float64_saturate_on_the_curator_s_path(wild):
    for mechanism in (Laplace(scale=1.0), Gaussian(scale=1.0)):
        released = mechanism.release(wild, np.random.default_rng(1), saturate=100.0)
        assert np.abs(released).max() < 200


@pytest.mark.parametrize(
    "call",
    [
        lambda: dpkit.Laplace(scale=1.0).release_many(0.0, 2**62),
        lambda: dpkit.exactly_rounded(0.0, scale=1.0, law=LAPLACE, rng=np.random.Generator),
        lambda: dpkit.Laplace(scale=1.0).event(at=3),
    ],
)
def test_wrong_use_gets_an_error_of_its_own(call):
    with pytest.raises(dpkit.InvalidValueError, match="Expected"):
        call()
