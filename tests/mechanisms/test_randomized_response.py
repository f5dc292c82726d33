"""Randomised response: what an answer costs, how often it lies, and what is no category."""

import math

import mpmath
import numpy as np
import pytest
from mechanisms.profiles import exact_delta
from scipy import stats

import dpkit
from dpkit import InvalidValueError, Neighbours, RandomizedResponse


def test_what_is_no_category_is_impossible():
    mechanism = RandomizedResponse(epsilon=1.0, categories=3)
    found = mechanism.log_density([-1, 0, 1, 2, 3, 2**62], 1)
    assert np.isneginf(found).tolist() == [True, False, False, False, True, True]
    assert np.isneginf(mechanism.log_density([0.5, math.nan], 1)).all()
    with pytest.raises(InvalidValueError, match="categories"):
        mechanism.log_density(0, 3)


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


def test_answers_of_many_categories_keep_their_price():
    mechanism = RandomizedResponse(epsilon=0.7, categories=6)
    log_p, log_q = mechanism.log_density(np.arange(6), 0), mechanism.log_density(np.arange(6), 3)
    assert np.max(np.abs(log_p - log_q)) == pytest.approx(0.7)
    guarantee = dpkit.account(mechanism.event(at=dpkit.records(1)), "rdp")
    for epsilon in (0.1, 0.3, 0.6):
        assert exact_delta(log_p, log_q, epsilon) <= guarantee.delta(epsilon=epsilon)
    two = mechanism.event(at=dpkit.records(2))
    assert two.epsilon >= 1.4
