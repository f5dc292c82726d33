"""What holds of densities and accuracies of several mechanisms: what is no number is impossible, and shapes are checked."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpkit import DiscreteGaussian, DiscreteLaplace, Gaussian, InvalidValueError, Laplace, RandomizedResponse, SymmetricGaussian


@pytest.mark.parametrize("mechanism", [Laplace(scale=1.0), Gaussian(scale=1.0)])
def test_what_is_no_number_is_impossible(mechanism):
    assert np.isneginf(mechanism.log_density([math.nan, math.inf, -math.inf], 0.0)).all()


@pytest.mark.parametrize("count", [1, 10**6, 2**70, 10**400])
@pytest.mark.parametrize("confidence", [1e-300, 0.5, 1 - 2.0**-53])
def test_accuracy_works_for_any_number_of_entries(count, confidence):
    with mpmath.workprec(4000):
        tail = -mpmath.expm1(mpmath.log(confidence) / count)
        laplace = float(-mpmath.log(tail))
    assert Laplace(scale=1.0).accuracy(count, confidence) == pytest.approx(laplace, rel=1e-11, abs=1e-6)
    gaussian = Gaussian(scale=1.0).accuracy(count, confidence)
    log_tail = math.log(2.0) + float(stats.norm.logsf(gaussian))
    assert log_tail == pytest.approx(-laplace, rel=1e-3, abs=1e-5)
    discrete = DiscreteLaplace(scale=100.0).accuracy(count, confidence)
    assert discrete == pytest.approx(100.0 * laplace, rel=1e-3, abs=2.0)
    assert DiscreteGaussian(scale=100.0).accuracy(count, confidence) >= 100.0 * gaussian - 1.0


@pytest.mark.parametrize("shape", [-1, (-2, -2), (2, -1), 1.5, (1.5, 1.5), (2.0, 2.0), True, (True, True), "22", None])
@pytest.mark.parametrize("mechanism", [SymmetricGaussian(scale=1.0), Laplace(scale=1.0), RandomizedResponse(epsilon=1.0)])
def test_a_shape_is_made_of_whole_numbers(mechanism, shape):
    with pytest.raises(InvalidValueError):
        mechanism.accuracy(shape, 0.9)
