"""Gaussian noise on symmetric matrices: its density, its norm, and matrices that are not quite symmetric."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpkit
from dpkit import SymmetricGaussian

SYMMETRIC = np.array([[1.0, 0.5], [0.5, -2.0]])


def test_the_symmetric_density_is_that_of_its_free_entries():
    mechanism = SymmetricGaussian(scale=0.7)
    output = np.array([[0.3, -0.2], [-0.2, 1.1]])
    expected = sum(
        stats.norm.logpdf(gap, scale=scale)
        for gap, scale in ((0.3 - 1.0, 0.7), (1.1 + 2.0, 0.7), (-0.2 - 0.5, 0.7 / math.sqrt(2.0)))
    )
    assert float(mechanism.log_density(output, SYMMETRIC)) == pytest.approx(expected)
    stacked = mechanism.log_density(np.stack([output, SYMMETRIC]), SYMMETRIC)
    assert stacked.shape == (2,)
    assert stacked[0] == pytest.approx(expected)


def test_symmetric_noise_is_a_vector_with_the_frobenius_norm(judges):
    draws = SymmetricGaussian(scale=2.0).release_many(SYMMETRIC, 50_000, np.random.default_rng(3)) - SYMMETRIC
    assert np.array_equal(draws, np.swapaxes(draws, 1, 2))
    coordinates = np.stack([draws[:, 0, 0], draws[:, 1, 1], math.sqrt(2.0) * draws[:, 0, 1]])
    for coordinate in coordinates:
        judges.assert_uniform(stats.norm.cdf(np.asarray(coordinate), scale=2.0))
    correlation = np.corrcoef(coordinates) * math.sqrt(50_000)
    assert np.abs(correlation[np.triu_indices(3, 1)]).max() < stats.norm.isf(1e-6 / 6)


def test_a_matrix_that_is_not_symmetric_is_impossible():
    value = np.array([[1.0, 0.5], [0.5, -2.0]])
    askew = np.array([[1.0, 0.5], [math.nextafter(0.5, 1.0), -2.0]])
    broken = np.array([[math.nan, 0.5], [0.5, -2.0]])
    found = SymmetricGaussian(scale=1.0).log_density(np.stack([value, askew, broken]), value)
    assert np.isneginf(found).tolist() == [False, True, True]


def test_an_asymmetric_matrix_counts_for_no_more_than_its_frobenius_distance():
    released = SymmetricGaussian(scale=1.0)
    zero, one = np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]])
    gap = released.release(one, np.random.default_rng(1), saturate=9.0) - released.release(
        zero, np.random.default_rng(1), saturate=9.0
    )
    assert np.linalg.norm(np.asarray(gap)) <= 1.0


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
