"""The recursion never calls impossible what runs can do, and is the binomial's where the claim is pure."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpkit.auditing.betting.profile import Point
from dpkit.auditing.canaries.one_run_bound import largest_refuted, least_by_gaussian, least_by_points, may_be_right


def pure(epsilon, delta=0.0):
    return least_by_points((Point(epsilon=epsilon, delta=delta),))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize(("guesses", "right"), [(10, 10), (40, 35), (100, 80)])
def test_randomised_response_is_possible_at_its_own_probability(epsilon, guesses, right):
    level = binom.sf(right - 1, guesses, 1.0 / (1.0 + math.exp(-epsilon)))
    for canaries in (guesses, 3 * guesses):
        assert may_be_right(pure(epsilon), canaries=canaries, guesses=guesses, right=right, level=level * (1.0 - 1e-6))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_a_pure_claim_is_refuted_where_the_binomial_is_far_below(epsilon):
    # of all guesses right the recursion is exact: q^c
    level = binom.pmf(30, 30, 1.0 / (1.0 + math.exp(-epsilon)))
    assert not may_be_right(pure(epsilon), canaries=30, guesses=30, right=30, level=level * 1.01)


def test_what_reveals_everything_with_probability_delta_is_possible():
    for least in (pure(1.0, 0.01), least_by_gaussian(2.0)):
        assert may_be_right(least, canaries=1000, guesses=1000, right=1000, level=0.0099 if least(0.01) == 0.0 else 1e-12)
    assert not may_be_right(pure(1.0), canaries=1000, guesses=1000, right=1000, level=0.0099)


def test_gaussian_scores_are_possible_at_their_own_probability():
    rng, mu, canaries, guesses = np.random.default_rng(1), 1.0, 60, 12
    coins = rng.integers(2, size=(20_000, canaries))
    scores = mu * coins + rng.normal(size=coins.shape)
    guessed = np.argsort(scores, axis=1)[:, -guesses:]
    right = np.take_along_axis(coins, guessed, axis=1).sum(axis=1)
    for v in range(6, guesses + 1):
        seen = float(np.mean(right >= v))
        if seen > 1e-3:  # 6 standard deviations below what was seen
            level = seen - 6.0 * math.sqrt(seen / 20_000)
            assert level <= 0.0 or may_be_right(least_by_gaussian(mu), canaries=canaries, guesses=guesses, right=v, level=level)


def test_more_right_guesses_refute_more():
    found = [
        largest_refuted(least_by_gaussian, 0.0, canaries=500, guesses=100, right=right, level=1e-3) for right in (60, 80, 100)
    ]
    assert found == sorted(found)
    assert found[0] == 0.0 < found[-1]
    assert largest_refuted(pure, 0.0, canaries=100, guesses=100, right=100, level=1e-3) == pytest.approx(
        -math.log(math.expm1(-math.log(1e-3) / 100)), abs=1e-4
    )
