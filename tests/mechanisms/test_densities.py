"""Densities where they vanish, and where numbers are large; accuracy bounds at the ends of their range."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

import dpkit
from dpkit import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    InvalidValueError,
    Laplace,
    Neighbours,
    RandomizedResponse,
    SymmetricGaussian,
)

NEVER = -math.inf
DISCRETE = pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=2.0), DiscreteGaussian(scale=2.0)])


@DISCRETE
def test_what_is_not_whole_is_impossible(mechanism):
    found = mechanism.log_density([0.5, 1.0, math.nan, math.inf, -math.inf, -2.5], 1)
    assert np.isneginf(found).tolist() == [True, False, True, True, True, True]
    assert float(mechanism.log_density([1.0, 0.5], [1, 2])) == NEVER
    assert float(mechanism.log_density([1.0, 3.0], [1.0, 2.0])) == float(mechanism.log_density([1, 3], [1, 2]))
    with pytest.raises(InvalidValueError, match="integers"):
        mechanism.log_density(1, 0.5)


@DISCRETE
def test_large_integers_keep_their_distance(mechanism):
    """float64 would see no difference between them."""
    for large in (2**60, -(2**60)):
        assert float(mechanism.log_density(large + 3, large)) == float(mechanism.log_density(3, 0))
    assert float(mechanism.log_density(np.uint64(2**60 + 3), np.uint64(2**60))) == float(mechanism.log_density(3, 0))


def test_what_is_no_category_is_impossible():
    mechanism = RandomizedResponse(epsilon=1.0, categories=3)
    found = mechanism.log_density([-1, 0, 1, 2, 3, 2**62], 1)
    assert np.isneginf(found).tolist() == [True, False, False, False, True, True]
    assert np.isneginf(mechanism.log_density([0.5, math.nan], 1)).all()
    with pytest.raises(InvalidValueError, match="categories"):
        mechanism.log_density(0, 3)


def test_what_is_no_index_is_impossible():
    found = Exponential(scale=1.0).log_density([-1, 0, 2, 3, -3], [1.0, 2.0, 3.0])
    assert np.isneginf(found).tolist() == [True, False, False, True, True]
    assert np.isneginf(Exponential(scale=1.0).log_density([0.5, math.nan, math.inf], [1.0, 2.0])).all()
    assert Exponential(scale=1.0).log_density([True, False], [1.0, 2.0]).shape == (2,), "no mask, but two indices"


def test_a_matrix_that_is_not_symmetric_is_impossible():
    value = np.array([[1.0, 0.5], [0.5, -2.0]])
    askew = np.array([[1.0, 0.5], [math.nextafter(0.5, 1.0), -2.0]])
    broken = np.array([[math.nan, 0.5], [0.5, -2.0]])
    found = SymmetricGaussian(scale=1.0).log_density(np.stack([value, askew, broken]), value)
    assert np.isneginf(found).tolist() == [False, True, True]


@pytest.mark.parametrize("mechanism", [Laplace(scale=1.0), Gaussian(scale=1.0)])
def test_what_is_no_number_is_impossible(mechanism):
    assert np.isneginf(mechanism.log_density([math.nan, math.inf, -math.inf], 0.0)).all()


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1.0, 30.0, 40.0, 700.0])
@pytest.mark.parametrize("categories", [2, 3, 2**31])
def test_lies_are_as_rare_as_the_formula_says(epsilon, categories):
    """1 - truth_probability would be 0 from epsilon = 37 on."""
    mechanism = RandomizedResponse(epsilon=epsilon, categories=categories)
    with mpmath.workprec(2000):
        exact = (categories - 1) / (mpmath.exp(epsilon) + categories - 1)
        assert mechanism.lie_probability == pytest.approx(float(exact), rel=1e-14)
        log_lie, log_truth = float(mpmath.log(exact / (categories - 1))), float(mpmath.log(1 - exact))
    assert float(mechanism.log_density(1, 0)) == pytest.approx(log_lie, rel=1e-14, abs=1e-15)
    assert float(mechanism.log_density(0, 0)) == pytest.approx(log_truth, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 36.0])
@pytest.mark.parametrize("count", [1, 2, 17, 1000, 10**6])
@pytest.mark.parametrize("confidence", [1e-20, 0.3, 0.5, 0.99, 1 - 1e-12])
def test_the_accuracy_of_answers_is_the_binomial_quantile(epsilon, count, confidence):
    mechanism = RandomizedResponse(epsilon=epsilon)
    lies = mechanism.accuracy(count, confidence)
    rate, slack = mechanism.lie_probability, 1e-9
    if confidence > 0.5:
        assert stats.binom.sf(lies, count, rate) <= (1 - confidence) * (1 + slack)
        assert lies == 0 or stats.binom.sf(lies - 1, count, rate) >= (1 - confidence) * (1 - slack)
    else:
        assert stats.binom.cdf(lies, count, rate) >= confidence * (1 - slack)
        assert lies == 0 or stats.binom.cdf(lies - 1, count, rate) <= confidence * (1 + slack)


def test_the_accuracy_of_very_many_answers_needs_no_array_of_them():
    assert RandomizedResponse(epsilon=40.0).accuracy(2**50, 0.99) == pytest.approx(
        stats.poisson.isf(0.01, 2**50 * math.exp(-40.0)), abs=1
    )
    half = RandomizedResponse(epsilon=0.0).accuracy((2**25, 2**25), 0.99)
    assert half == pytest.approx(2.0**49 + 2.0**24 * stats.norm.isf(0.01), rel=1e-9)
    with pytest.raises(InvalidValueError, match="answers"):
        RandomizedResponse(epsilon=1.0).accuracy((2**30, 2**30), 0.99)


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


def test_randomised_response_speaks_of_changed_answers_and_says_so():
    """How many answers there are is released as it is: neighbours by default have equally many."""
    mechanism = RandomizedResponse(epsilon=1.0)
    (claim,) = mechanism.claims(at=dpkit.records(1))
    assert claim.neighbours is Neighbours.REPLACE_ONE
    assert not any("absent" in assumption for assumption in claim.assuming)
    (claim,) = mechanism.claims(at=dpkit.records(1), neighbours=Neighbours.ADD_REMOVE)
    assert any("absent record has a fixed category" in assumption for assumption in claim.assuming)


@pytest.mark.parametrize("changed", [1, 2])
def test_answers_that_change_cost_what_the_claim_says(changed):
    """Exact, over every transcript of three answers and every pair of values that differ in `changed` entries."""
    mechanism = RandomizedResponse(epsilon=0.8, categories=3)
    every = np.stack(np.meshgrid(*[np.arange(3)] * 3), axis=-1).reshape(-1, 3)
    (claim,) = mechanism.claims(at=dpkit.records(changed))
    worst = max(
        float(np.abs(mechanism.log_density(every, one) - mechanism.log_density(every, other)).max())
        for one in every
        for other in every
        if np.count_nonzero(one != other) <= changed
    )
    assert claim.loss.epsilon * (1 - 1e-12) <= worst <= claim.loss.epsilon * (1 + 1e-12)
