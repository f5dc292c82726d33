"""Noise is added to exact totals: of any length, on the grid, and integers to integers."""

from fractions import Fraction

import numpy as np
import pytest

import dpkit
from dpkit.mechanisms.discrete import DiscreteLaplace
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.mechanisms.laplace import Laplace
from dpkit.numerics.exact_sums import ExactSum
from dpkit.numerics.noise.randomness import Simulated
from dpkit.release.noise import release_exactly


@pytest.mark.parametrize(
    "mechanism", [Laplace(scale=3.0), Gaussian(scale=1e-3), Laplace(scale=2.0**21), DiscreteLaplace(scale=2.0)]
)
def test_a_total_too_long_for_a_float_is_released_as_if_it_were_not(mechanism):
    shift = 3 * 2**60  # whole multiples of every grid here, so only the noise may differ, and not with the same seed
    grid = 1.0 if isinstance(mechanism, DiscreteLaplace) else 2.0**-10
    small = ExactSum.of_steps(np.array([5, -7]), grid=grid)
    large = small
    for _ in range(3):
        for _ in range(128):
            large = large.plus(ExactSum.of_steps(np.array([2**53, 2**53]), grid=grid))
    one = release_exactly(small, mechanism, np.random.default_rng(4))
    other = release_exactly(large, mechanism, np.random.default_rng(4))
    assert isinstance(one, Simulated)
    assert isinstance(other, Simulated)
    step = Fraction(mechanism.grid)
    for near, far in zip(one.tolist(), other.tolist(), strict=True):
        moved = Fraction(near) + shift * Fraction(grid)
        assert moved % step == 0
        assert far == (moved if isinstance(mechanism, DiscreteLaplace) else float(moved))
    plain = mechanism.release(small.nearest().astype(np.int64) if grid == 1.0 else small.nearest(), np.random.default_rng(4))
    assert one.tolist() == plain.tolist()


def test_integer_noise_on_a_single_count_is_a_single_integer():
    noisy = release_exactly(ExactSum.of_steps(7, grid=1.0), DiscreteLaplace(scale=1e-9), np.random.default_rng(0))
    assert (int(noisy), noisy.shape, noisy.dtype.kind) == (7, (), "i")
    assert isinstance(noisy, Simulated)


CITATION = dpkit.Citation(key="dpkit", locator="tests")


def test_integer_noise_on_fractions_is_refused_before_anything_is_charged():
    from dpkit.release.noise import check_delivery

    query = dpkit.Query(
        name="half", columns=("x",), rows=lambda block: block[:, 0], shape=(), grid=0.5, bound=1.0,
        sensitivity=lambda relation: (dpkit.l1(1.0),), because=CITATION,
    )  # fmt: skip
    with pytest.raises(dpkit.InvalidValueError, match="not whole numbers"):
        check_delivery(query, dpkit.DiscreteLaplace(scale=2.0))
    check_delivery(query, dpkit.Laplace(scale=2.0))
