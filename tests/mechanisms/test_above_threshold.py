"""Above threshold: the law by its integral, an exact sampler that has it, and a claim that holds, is near, and is tried."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit import AboveThreshold, AboveThresholdEvent, Neighbours, PureDP
from dpkit.testing.strategies import examples

ANSWERS = st.lists(st.floats(-4.0, 4.0), min_size=1, max_size=5)


def test_the_sampler_has_the_law():
    mechanism, answers = AboveThreshold(scale=2.0, threshold=0.5), np.array([-1.0, 1.0, 0.0])
    law = np.exp(mechanism.log_density(np.arange(4), answers))
    assert math.isclose(law.sum(), 1.0, rel_tol=1e-9)
    n = 3000
    counts = np.bincount(mechanism.release_many(answers, n, np.random.default_rng(5)), minlength=4)
    assert np.all(np.abs(counts - n * law) <= 6.0 * np.sqrt(n * law * (1 - law)))


def test_the_law_is_that_of_plain_sampling():
    rng = np.random.default_rng(11)
    n, answers = 400_000, np.array([-1.0, 1.0, 0.0])
    above = answers + rng.laplace(scale=2.0, size=(n, 3)) > 0.5 + rng.laplace(scale=1.0, size=(n, 1))
    first = np.where(above.any(axis=1), above.argmax(axis=1), 3)
    law = np.exp(AboveThreshold(scale=2.0, threshold=0.5).log_density(np.arange(4), answers))
    assert np.allclose(np.bincount(first, minlength=4) / n, law, atol=6.0 * 0.5 / math.sqrt(n))


@examples(30)
@given(answers=ANSWERS, moves=st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=5), monotone=st.booleans())
def test_no_pair_of_answers_loses_more_than_is_claimed(answers, moves, monotone):
    mechanism = AboveThreshold(scale=3.0, threshold_scale=2.0, monotone=monotone)
    claimed = dpkit.account(mechanism.event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0)
    moved = np.abs(moves) if monotone else np.array(moves)
    one, places = np.array(answers), np.arange(len(answers) + 1)
    other = one + moved[: one.size]
    lost = mechanism.log_density(places, one) - mechanism.log_density(places, other)
    assert np.max(np.abs(lost)) <= claimed + 1e-7


def test_prices_are_those_of_the_theorem():
    def epsilon(neighbours=Neighbours.ADD_REMOVE, **fields):
        event = AboveThresholdEvent(threshold_ratio=0.5, answer_ratio=0.25, **fields)
        return dpkit.account(event, "pure", neighbours).epsilon(delta=0.0)

    assert epsilon() == 1.0
    assert epsilon(monotone=True) == 0.75
    assert epsilon(monotone=True, neighbours=Neighbours.REPLACE_ONE) == 1.0
    assert AboveThreshold(scale=4.0).event(at=dpkit.linf(1.0)) == AboveThresholdEvent(threshold_ratio=0.5, answer_ratio=0.25)


def test_an_audit_refutes_less_than_half_of_the_claim_and_not_the_claim():
    mechanism, pair = AboveThreshold(scale=2.0), (np.array([0.0, 0.0, 0.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0]))
    places = np.arange(5)
    truth = float(np.max(np.abs(mechanism.log_density(places, pair[0]) - mechanism.log_density(places, pair[1]))))
    for epsilon, refuted in ((0.5 * truth, True), (2.0, False)):
        claim = dpkit.Claim(
            loss=PureDP(epsilon=epsilon), neighbours=Neighbours.ADD_REMOVE, because=dpkit.Citation(key="caller", locator="test")
        )
        found = dpkit.audit(mechanism, claim=claim, pair=pair, rng=1, samples=20_000)
        assert any(certificate.refuted for certificate in found) is refuted


@pytest.mark.parametrize("wrong", [{"threshold": math.inf}, {"threshold_scale": -1.0}, {"monotone": "yes"}, {"scale": 0.0}])
def test_wrong_fields_are_refused(wrong):
    with pytest.raises(dpkit.InvalidValueError):
        AboveThreshold(**{"scale": 1.0, **wrong})
