"""The exponential mechanism: what choices cost, against the exact profile of their law, and what is no choice."""

import math

import numpy as np
import pytest
from mechanisms.profiles import exact_delta

import dpkit
from dpkit import Exponential


def test_bounded_range_beats_the_pure_price_of_many_choices():
    event = dpkit.Repeat(event=Exponential(scale=20.0).event(at=dpkit.linf(1.0)), times=50)
    by_range = dpkit.account(event, "zcdp")
    assert by_range.within(dpkit.ZCDP(rho=50 * 0.1**2 / 8 * (1 + 1e-12)))
    assert {line.rule for line in by_range.explain().lines} == {"bounded-range-zcdp"}
    pure = dpkit.account(dpkit.Repeat(event=dpkit.PureEvent(epsilon=0.1), times=50), "zcdp")
    assert by_range.epsilon(delta=1e-6) < 0.6 * pure.epsilon(delta=1e-6)


@pytest.mark.parametrize("monotone", [False, True])
def test_choices_never_cost_more_than_they_are_priced_at(monotone):
    rng = np.random.default_rng(7)
    mechanism = Exponential(scale=1.5, monotone=monotone)
    guarantee = dpkit.account(mechanism.event(at=dpkit.linf(1.0)), "zcdp")
    pure = dpkit.account(mechanism.event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0)
    for trial in range(200):
        scores = rng.normal(size=6) * rng.choice([0.1, 1.0, 10.0])
        moved = scores + (rng.integers(0, 2, size=6) if monotone else rng.choice([-1.0, 1.0], size=6))
        log_p, log_q = (mechanism.log_density(np.arange(6), at) for at in (scores, moved))
        assert np.max(np.abs(log_p - log_q)) <= pure * (1 + 1e-12), trial
        for epsilon in (0.05, 0.2, 0.5):
            assert exact_delta(log_p, log_q, epsilon) <= guarantee.delta(epsilon=epsilon)


def test_monotone_scores_are_cheaper_under_add_remove_only():
    mechanism = Exponential(scale=1.0, monotone=True)
    event = mechanism.event(at=dpkit.linf(1.0))
    added = dpkit.account(event, "pure", dpkit.Neighbours.ADD_REMOVE).epsilon(delta=0.0)
    replaced = dpkit.account(event, "pure", dpkit.Neighbours.REPLACE_ONE)
    assert added == 1.0
    moved = float(mechanism.log_density(0, [1.0, 19.0]) - mechanism.log_density(0, [0.0, 20.0]))
    assert 1.99 < moved <= replaced.epsilon(delta=0.0) == 2.0
    assert {claim.loss for claim in mechanism.claims(at=dpkit.linf(1.0), neighbours=dpkit.Neighbours.REPLACE_ONE)} == {
        dpkit.PureDP(epsilon=2.0),
        dpkit.ZCDP(rho=0.5),
    }


def test_a_choice_depends_on_differences_of_scores_and_signals_nothing():
    choice = Exponential(scale=1.0)
    assert choice.log_density([0, 1], [1e17, 1e17]) == pytest.approx([-math.log(2.0)] * 2)
    with np.errstate(all="raise"):
        assert int(choice.release([0.0, -1000.0], np.random.default_rng(1))) == 0


def test_half_a_tiny_range_is_not_nothing():
    claims = dpkit.Exponential(scale=1e10, monotone=True).claims(at=dpkit.linf(1e-320))
    for claim in claims:
        assert getattr(claim.loss, "epsilon", 1.0) > 0.0
        assert getattr(claim.loss, "rho", 1.0) > 0.0


def test_what_is_no_index_is_impossible():
    found = Exponential(scale=1.0).log_density([-1, 0, 2, 3, -3], [1.0, 2.0, 3.0])
    assert np.isneginf(found).tolist() == [True, False, False, True, True]
    assert np.isneginf(Exponential(scale=1.0).log_density([0.5, math.nan, math.inf], [1.0, 2.0])).all()
    assert Exponential(scale=1.0).log_density([True, False], [1.0, 2.0]).shape == (2,), "no mask, but two indices"
