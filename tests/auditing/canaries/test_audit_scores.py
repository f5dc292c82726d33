"""One run, many canaries: true claims stand, whatever outputs tell of all canaries together; false ones fall."""

import json

import numpy as np
import pytest
from scipy.stats import binom

import dpkit
from dpkit import GDP, ApproxDP, Gaussian, InvalidValueError, PureDP, account, audit_scores, draw_canaries, l2
from dpkit.privacy.gaussian_dp import gaussian_epsilon


def independent(noise):
    return lambda coins, rng: coins + noise(rng, coins.size)


def all_at_once(chance):
    """Everything with probability `chance`, else nothing: the worst that delta allows."""
    return lambda coins, rng: coins + 0.0 if rng.random() < chance else rng.random(coins.size)


def response(epsilon):
    return lambda coins, rng: np.where(rng.random(coins.size) < 1.0 / (1.0 + np.exp(epsilon)), 1.0 - coins, coins)


NULLS = [
    (independent(lambda rng, n: rng.normal(size=n)), GDP(mu=1.0), {}),
    (independent(lambda rng, n: rng.normal(size=n)), ApproxDP(epsilon=gaussian_epsilon(1.0, delta=1e-3), delta=1e-3), {}),
    (independent(lambda rng, n: rng.laplace(size=n)), 1.0, {}),
    (response(2.0), PureDP(epsilon=2.0), {}),
    (all_at_once(0.05), (0.0, 0.05), {}),
    (lambda coins, rng: rng.random() + 0.0 * coins, 0.0, {}),
]


@pytest.mark.parametrize("place", range(len(NULLS)))
@pytest.mark.parametrize("canaries", [1, 12, 100])
def test_true_claims_stand(place, canaries):
    scored, claim, options = NULLS[place]
    rng, runs, wrong = np.random.default_rng([7, place, canaries]), 40, 0
    for _ in range(runs):
        coins = rng.integers(2, size=canaries)
        scores = scored(coins, rng)
        found = audit_scores(scores[coins == 1], scores[coins == 0], claim=claim, confidence=0.9, **options)
        wrong += found.refuted
    assert wrong <= binom.isf(1e-7, runs, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(NULLS)))
def test_two_thousand_runs_alarm_no_more_often_than_they_may(place):
    scored, claim, options = NULLS[place]
    rng, runs, wrong = np.random.default_rng([11, place]), 2_000, 0
    for run in range(runs):
        coins = rng.integers(2, size=(5, 40, 200)[run % 3])
        scores = scored(coins, rng)
        wrong += audit_scores(scores[coins == 1], scores[coins == 0], claim=claim, confidence=0.95, **options).refuted
    assert wrong <= 0.05 * runs


def test_a_false_claim_falls_and_the_bound_is_below_the_truth():
    canaries = draw_canaries(1_000, rng=3)
    scores = np.array(canaries.coins) + np.random.default_rng(4).normal(scale=0.5, size=1_000)
    found = canaries.audit(scores, claim=GDP(mu=0.7))
    assert found.verdict == "refuted" == canaries.audit(scores, claim=(2.0, 1e-5), family="gaussian").verdict
    assert gaussian_epsilon(0.7, delta=1e-5) < found.epsilon_lower < gaussian_epsilon(2.0, delta=1e-5)
    assert found.epsilon_lower < found.ceiling
    assert found.members == len(canaries.members)
    general = canaries.audit(scores, claim=ApproxDP(epsilon=0.5, delta=1e-5))
    assert general.family == "any"
    assert 0.5 < general.epsilon_lower < found.epsilon_lower
    assert canaries.audit(scores, claim=account(Gaussian(scale=5.0).event(at=l2(1.0)))).refuted


def test_the_ceiling_is_what_perfect_scores_show():
    coins = np.arange(400) < 200
    found = audit_scores(np.ones(200), np.zeros(200), claim=20.0)
    assert found.verdict == "inconclusive"
    assert found.epsilon_lower == found.ceiling > 3.0
    assert "400 canaries" in str(found)
    assert "fair coin" in str(found)
    assert json.loads(found.to_json())["ceiling"] == found.ceiling
    assert audit_scores(coins[coins], coins[~coins], claim=2.0).refuted


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"member_scores": [[1.0]]}, "member_scores"),
        ({"other_scores": [float("nan")]}, "other_scores"),
        ({"other_scores": ["sesame"]}, "other_scores"),
        ({"claim": "sesame"}, "claim"),
        ({"claim": 1.0, "family": "gaussian"}, "family"),
        ({"family": "laplace"}, "family"),
        ({"confidence": 1.0}, "confidence"),
        ({"member_scores": [], "other_scores": []}, "member_scores"),
    ],
)
def test_wrong_input_is_named_without_data(given, field):
    with pytest.raises(InvalidValueError, match=field) as refused:
        audit_scores(**{"member_scores": [1.0], "other_scores": [0.0], "claim": 1.0, **given})
    assert "sesame" not in str(refused.value)


def test_public_names():
    assert {"audit_scores", "draw_canaries", "ScoreCertificate", "Canaries"} <= set(dpkit.__all__)
