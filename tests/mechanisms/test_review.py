"""What reviews found, each as it was found: it must not come back."""

from fractions import Fraction

import numpy as np
import pytest

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.numerics.noise.randomness import Simulated


def test_unequal_mirrored_entries_move_by_no_more_than_the_matrix():
    """The average of mirrored entries is taken exactly: rounded, it moved by sqrt(2) times the Frobenius distance."""

    def released(entry):
        matrix = [[0.0, 2.0**53], [entry, 0.0]]
        mechanism = dpkit.SymmetricGaussian(scale=1.0)
        return np.asarray(mechanism.release(matrix, np.random.default_rng(0), saturate=2.0**60))

    steps = [(released(2.0**53 + 4) - released(2.0**53 + 2)).ravel(), (released(2.0**53 + 6) - released(2.0**53 + 4)).ravel()]
    # the same noise, so the outputs move as the exact averages do, but for the rounding of the answer itself
    assert min(np.linalg.norm(step) for step in steps) <= 2.0
    assert np.linalg.norm(steps[0] + steps[1]) <= 4.0


def test_averages_of_mirrored_entries_are_exact():
    from dpkit.mechanisms.symmetric_gaussian import _averages

    above, below = np.array([1.0, 2.0**53, 5e-324, 1e300]), np.array([1.0, 2.0**53 + 2, 0.0, 1.0])
    assert _averages(above, below) == {
        1: Fraction(2**53 + 1),
        2: Fraction(5e-324) / 2,
        3: (Fraction(1e300) + 1) / 2,
    }


def test_values_between_floats_are_rounded_exactly():
    grid, rng = 2.0**-20, np.random.default_rng
    plain = dpkit.exactly_rounded([0.25, 7.0], scale=1.0, law=LAPLACE, rng=rng(3))
    same = dpkit.exactly_rounded([0.0, 7.0], scale=1.0, law=LAPLACE, rng=rng(3), between={0: Fraction(1, 4)})
    assert np.array_equal(np.asarray(plain), np.asarray(same))
    third = dpkit.exactly_rounded([0.0, 7.0], scale=1.0, law=LAPLACE, rng=rng(3), between={0: Fraction(1, 3)})
    assert abs(float(third[0]) - float(plain[0]) - (1 / 3 - 1 / 4)) <= grid


def test_rounding_keeps_the_stamp():
    stamped = np.arange(3.0).view(Simulated)
    assert isinstance(stamped.round(1), Simulated)
    assert isinstance(stamped[0].round(), Simulated)


@pytest.mark.parametrize("method", "sum mean std var prod cumsum max min clip round copy ravel transpose".split())
def test_no_method_of_an_array_loses_the_stamp(method):
    stamped = np.arange(4.0).reshape(2, 2).view(Simulated)
    arguments = (0.0, 1.0) if method == "clip" else ()
    assert isinstance(getattr(stamped, method)(*arguments), Simulated)


@pytest.mark.parametrize("value", [[np.float32(1), 2**53 + 1], [True, 1.0, 2**60], [np.bool_(True), 1.5, -(2**70)]])
def test_a_saturating_release_raises_on_no_number(value):
    output = dpkit.Laplace(scale=1.0).release(value, np.random.default_rng(0), saturate=100.0)
    assert np.all(np.abs(np.asarray(output)) < 200.0)


def test_half_a_tiny_range_is_not_nothing():
    claims = dpkit.Exponential(scale=1e10, monotone=True).claims(at=dpkit.linf(1e-320))
    for claim in claims:
        assert getattr(claim.loss, "epsilon", 1.0) > 0.0
        assert getattr(claim.loss, "rho", 1.0) > 0.0


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
