"""Noisy max: laws as they are known, exact samplers, claims that hold and are tight, and weaker ones that an audit refutes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit import ZCDP, Exponential, Neighbours, NoisyMax, NoisyMaxEvent, PureDP
from dpkit.mechanisms.noisy_max import flip_law
from dpkit.testing.strategies import examples

NOISES = ("exponential", "gumbel", "laplace")
SCORES = st.lists(st.floats(-5.0, 5.0), min_size=2, max_size=5)


def brute_force_flip(scores, scale):
    """Every order, candidate by candidate."""
    taken = np.exp((np.array(scores) - max(scores)) / scale)
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for place in order:
            law[place] += left * taken[place] / len(orders)
            left *= 1.0 - taken[place]
    return law


@examples(40)
@given(scores=SCORES, scale=st.floats(0.1, 10.0))
def test_the_law_of_permute_and_flip_is_that_of_its_definition(scores, scale):
    law = flip_law(np.array(scores), scale)
    assert np.allclose(law, brute_force_flip(scores, scale), rtol=1e-9, atol=1e-12)
    assert math.isclose(law.sum(), 1.0, rel_tol=1e-12)


@pytest.mark.parametrize("noise", NOISES)
def test_the_law_is_a_law_and_the_sampler_has_it(noise):
    mechanism, scores = NoisyMax(scale=1.5, noise=noise), np.array([0.0, 1.0, -0.5, 1.0])
    law = np.exp(mechanism.log_density(np.arange(4), scores))
    assert math.isclose(law.sum(), 1.0, rel_tol=1e-9)
    n = 2000
    counts = np.bincount(mechanism.release_many(scores, n, np.random.default_rng(3)), minlength=4)
    assert np.all(np.abs(counts - n * law) <= 6.0 * np.sqrt(n * law * (1 - law)))


def test_gumbel_noise_is_the_exponential_mechanism():
    scores = np.array([0.0, 1.0, 3.0])
    ours, theirs = NoisyMax(scale=2.0, noise="gumbel"), Exponential(scale=2.0)
    assert np.array_equal(ours.log_density(np.arange(3), scores), theirs.log_density(np.arange(3), scores))


@pytest.mark.parametrize("noise", NOISES)
@examples(25)
@given(scores=SCORES, moves=st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=5), scale=st.floats(0.5, 5.0))
def test_no_pair_of_scores_loses_more_than_is_claimed(noise, scores, moves, scale):
    mechanism = NoisyMax(scale=scale, noise=noise)
    claimed = dpkit.account(mechanism.event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0)
    one, other = np.array(scores), np.array(scores) + np.array(moves[: len(scores)])
    places = np.arange(len(scores))
    lost = mechanism.log_density(places, one) - mechanism.log_density(places, other)
    assert np.max(np.abs(lost)) <= claimed + 1e-7


@pytest.mark.parametrize("noise", NOISES)
def test_the_claim_is_nearly_attained(noise):
    mechanism = NoisyMax(scale=1.0, noise=noise)
    one, other = np.array([20.0, 0.0]), np.array([19.0, 1.0])
    lost = mechanism.log_density(1, other) - mechanism.log_density(1, one)
    assert 1.8 <= lost <= 2.0 + 1e-9


def test_prices_follow_noise_relation_and_direction():
    def priced(accountant="pure", neighbours=Neighbours.ADD_REMOVE, **fields):
        return dpkit.account(NoisyMaxEvent(ratio=0.5, **fields), accountant, neighbours)

    assert priced(noise="laplace").epsilon(delta=0.0) == 1.0
    assert priced(noise="laplace", monotone=True).epsilon(delta=0.0) == 0.5
    assert priced(noise="laplace", monotone=True, neighbours=Neighbours.REPLACE_ONE).epsilon(delta=0.0) == 1.0
    assert priced(noise="gumbel", accountant="zcdp").within(ZCDP(rho=0.125))
    assert not priced(noise="exponential", accountant="zcdp").within(ZCDP(rho=0.125))


def test_an_audit_refutes_half_of_the_claim_and_not_the_claim():
    mechanism, pair = NoisyMax(scale=1.0), (np.array([3.0, 0.0, 0.0]), np.array([2.0, 1.0, 1.0]))
    for epsilon, refuted in ((1.0, True), (2.0, False)):
        claim = dpkit.Claim(
            loss=PureDP(epsilon=epsilon), neighbours=Neighbours.ADD_REMOVE, because=dpkit.Citation(key="caller", locator="test")
        )
        found = dpkit.audit(mechanism, claim=claim, pair=pair, rng=1, samples=20_000)
        assert any(certificate.refuted for certificate in found) is refuted


@pytest.mark.parametrize("wrong", [{"noise": "cauchy"}, {"monotone": 1}, {"scale": 0.0}])
def test_what_is_no_noise_is_refused(wrong):
    with pytest.raises(dpkit.InvalidValueError):
        NoisyMax(**{"scale": 1.0, **wrong})
    with pytest.raises(dpkit.InvalidValueError):
        NoisyMaxEvent(**{"ratio": -1.0, "noise": "laplace"})


def test_a_ledger_pays_for_a_choice_and_knows_it_again(tmp_path):
    budget = dpkit.ApproxDP(epsilon=3.0, delta=1e-6)
    with dpkit.Ledger.create(tmp_path / "l.ledger", budget=budget, dataset="d") as ledger:
        ledger.reserve("run")
        ledger.charge("run", NoisyMaxEvent(ratio=0.25, noise="exponential"), key="choice")
        assert ledger.spent() == ZCDP(rho=ledger.spent().rho)
    event = NoisyMaxEvent(ratio=0.25, noise="laplace", monotone=True)
    assert dpkit.from_json(dpkit.to_json(event)) == event
    assert dpkit.interchange.read("noisy-max(ratio=0.25, noise=exponential)").event.noise == "exponential"
