"""The exponential mechanism: what choices cost, against the exact profile of their law, and what is no choice."""

import math

import numpy as np
import pytest
from mechanisms.profiles import exact_delta

import dpkit
from dpkit import Exponential
from dpkit.mechanisms.exponential import BoundedRangePair


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
        BoundedRangePair(range=2.0),
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


@pytest.mark.parametrize("width", [1e-3, 0.3, 1.0, 6.0])
def test_the_pair_of_a_range_is_the_worst_of_two_losses_and_no_worse(width):
    epsilons = np.linspace(-1.2 * width, 1.2 * width, 25)
    tops = np.linspace(0.0, width, 40_001)[:, None]
    above = -np.expm1(tops - width) / -np.expm1(-width)
    profiles = above * np.maximum(0.0, -np.expm1(epsilons - tops))
    profiles += (1.0 - above) * np.maximum(0.0, -np.expm1(epsilons - tops + width))
    direction = BoundedRangePair(range=width).forward()
    assert direction.profile(epsilons)[0] == pytest.approx(profiles.max(axis=0), rel=1e-7, abs=1e-12 * width)
    losses = np.linspace(-width, width, 200_001)
    weights = np.exp(0.5 * losses) / np.sum(np.exp(0.5 * losses))
    for place, epsilon in enumerate(epsilons):
        known = float(np.sum(weights * np.maximum(0.0, -np.expm1(epsilon - losses))))
        assert known == pytest.approx(direction.profile(epsilons)[0][place], rel=1e-3, abs=1e-4 * width)
        under_q = float(np.sum(weights * np.exp(-losses) * (losses > epsilon)))
        assert under_q == pytest.approx(direction.slope(epsilons)[place], abs=1e-4)
    moment = np.log(np.sum(weights * np.exp(1.7 * losses)))
    assert direction.log_moment(np.array([1.7 + 0j]))[0].real == pytest.approx(moment, abs=1e-4)


def test_many_choices_never_cost_more_than_the_pair_says():
    """Two choices one after the other: all nine outcomes of the worst scores, against the composed pair."""
    scale, width = 2.0, 1.0
    log_p = Exponential(scale=scale).log_density(np.arange(3), [0.0, 0.0, 0.0])
    event = Exponential(scale=scale).event(at=dpkit.linf(1.0))
    guarantee = dpkit.account(dpkit.Repeat(event=event, times=2), "pld")
    for moved in ([1.0, -1.0, -1.0], [1.0, 1.0, -1.0], [1.0, 0.0, -1.0]):
        log_q = Exponential(scale=scale).log_density(np.arange(3), moved)
        both_p, both_q = ((one[:, None] + one[None, :]).ravel() for one in (log_p, log_q))
        for epsilon in (0.1, 0.5, 1.0, 1.5):
            assert exact_delta(both_p, both_q, epsilon) <= guarantee.delta(epsilon=epsilon)
    assert guarantee.epsilon(delta=1e-3) < 2.0 * width
