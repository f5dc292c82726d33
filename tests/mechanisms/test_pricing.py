"""What a release of each mechanism costs, against closed forms and exact profiles of its own output law."""

import math

import numpy as np
import pytest

import dpkit
from dpkit import DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, Laplace, RandomizedResponse, SymmetricGaussian


def exact_delta(log_p, log_q, epsilon):
    """sup_S P(S) - e^epsilon Q(S), from log masses."""
    return float(np.sum(np.maximum(0.0, np.exp(log_p) - math.exp(epsilon) * np.exp(log_q))))


def test_the_textbook_prices():
    assert dpkit.account(Laplace(scale=2.0).event(at=dpkit.l1(1.0)), "pure").epsilon(delta=0.0) == 0.5
    assert dpkit.account(Exponential(scale=4.0).event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0) == 0.5
    assert dpkit.account(Exponential(scale=4.0, monotone=True).event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0) == 0.25
    assert dpkit.account(RandomizedResponse(epsilon=1.0).event(at=dpkit.records(1)), "pure").epsilon(delta=0.0) == 1.0
    assert dpkit.account(Gaussian(scale=2.0).event(at=dpkit.l2(1.0)), "zcdp").within(dpkit.ZCDP(rho=0.125))
    assert SymmetricGaussian(scale=2.0).event(at=dpkit.rank_one(1.0)) == Gaussian(scale=2.0).event(at=dpkit.l2(1.0))


def test_a_ratio_that_is_no_float_is_rounded_up():
    event = Laplace(scale=3.0).event(at=dpkit.l1(1.0))
    assert event.ratio > 1 / 3 or event.ratio == math.nextafter(1 / 3, 1.0)


def test_bounded_range_beats_the_pure_price_of_many_choices():
    event = dpkit.Repeat(event=Exponential(scale=20.0).event(at=dpkit.linf(1.0)), times=50)
    by_range = dpkit.account(event, "zcdp")
    assert by_range.within(dpkit.ZCDP(rho=50 * 0.1**2 / 8 * (1 + 1e-12)))
    assert {line.rule for line in by_range.explain().lines} == {"bounded-range-zcdp"}
    pure = dpkit.account(dpkit.Repeat(event=dpkit.PureEvent(epsilon=0.1), times=50), "zcdp")
    assert by_range.epsilon(delta=1e-6) < 0.6 * pure.epsilon(delta=1e-6)


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=1.5), DiscreteGaussian(scale=1.5), DiscreteGaussian(scale=0.6)])
@pytest.mark.parametrize("accountant", ["zcdp", "rdp", "best"])
def test_integer_noise_never_costs_more_than_it_is_priced_at(mechanism, shift, accountant):
    outputs = np.arange(-200, 201)
    log_p, log_q = mechanism.log_density(outputs, 0), mechanism.log_density(outputs, shift)
    guarantee = dpkit.account(mechanism.event(at=dpkit.l1(shift)), accountant)
    for delta in (1e-2, 1e-4, 1e-8):
        epsilon = guarantee.epsilon(delta=delta)
        assert exact_delta(log_p, log_q, epsilon) <= delta
        assert exact_delta(log_q, log_p, epsilon) <= delta


def test_discrete_laplace_is_as_bad_as_any_pure_release_and_is_priced_so():
    mechanism, outputs = DiscreteLaplace(scale=2.0), np.arange(-300, 301)
    log_p, log_q = mechanism.log_density(outputs, 0), mechanism.log_density(outputs, 1)
    worst = dpkit.account(mechanism.event(at=dpkit.l1(1)), "advanced")
    for epsilon in (0.1, 0.3, 0.45):
        assert worst.delta(epsilon=epsilon) == pytest.approx(exact_delta(log_p, log_q, epsilon), rel=1e-6)
    continuous = dpkit.account(dpkit.Repeat(event=dpkit.LaplaceEvent(ratio=0.5), times=40), "rdp").epsilon(delta=1e-6)
    discrete = dpkit.account(dpkit.Repeat(event=mechanism.event(at=dpkit.l1(1)), times=40), "rdp").epsilon(delta=1e-6)
    assert discrete > continuous


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


def test_answers_of_many_categories_keep_their_price():
    mechanism = RandomizedResponse(epsilon=0.7, categories=6)
    log_p, log_q = mechanism.log_density(np.arange(6), 0), mechanism.log_density(np.arange(6), 3)
    assert np.max(np.abs(log_p - log_q)) == pytest.approx(0.7)
    guarantee = dpkit.account(mechanism.event(at=dpkit.records(1)), "rdp")
    for epsilon in (0.1, 0.3, 0.6):
        assert exact_delta(log_p, log_q, epsilon) <= guarantee.delta(epsilon=epsilon)
    two = mechanism.event(at=dpkit.records(2))
    assert two.epsilon >= 1.4


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


def test_scalar_counts_are_stamped_and_unsigned_ones_do_not_wrap():
    for mechanism in (DiscreteLaplace(scale=1.0), DiscreteGaussian(scale=1.0)):
        assert getattr(mechanism.release(3, np.random.default_rng(0)), "simulation", False)
        small = mechanism.log_density(np.array([3], np.uint8), np.array([5], np.uint8))
        assert small == pytest.approx(mechanism.log_density(np.array([3]), np.array([5])))


def test_an_asymmetric_matrix_counts_for_no_more_than_its_frobenius_distance():
    released = SymmetricGaussian(scale=1.0)
    zero, one = np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]])
    gap = released.release(one, np.random.default_rng(1), saturate=9.0) - released.release(
        zero, np.random.default_rng(1), saturate=9.0
    )
    assert np.linalg.norm(np.asarray(gap)) <= 1.0


def test_a_choice_depends_on_differences_of_scores_and_signals_nothing():
    choice = Exponential(scale=1.0)
    assert choice.log_density([0, 1], [1e17, 1e17]) == pytest.approx([-math.log(2.0)] * 2)
    with np.errstate(all="raise"):
        assert int(choice.release([0.0, -1000.0], np.random.default_rng(1))) == 0
