"""What reviews of `pld` found, each against the exact answer: it must not come back."""

import math

import pytest

import dpkit
from dpkit import PLD, GaussianEvent, LaplaceEvent, Repeat, Subsample
from dpkit.accountants.pld.accountant import LossDistributionAccountant


def test_mass_of_the_other_side_counts_however_small_it_is():
    accountant = LossDistributionAccountant()
    state = accountant.repeat(accountant.lift(PLD(losses=(5e-13,), masses=(1.0,))), 10**6)
    assert accountant.epsilon(state, delta=1e-7) == math.inf
    assert accountant.delta(state, epsilon=1.0) >= 4.999998e-7


def test_a_table_that_lacks_a_little_mass_may_have_it_anywhere():
    accountant = LossDistributionAccountant()
    state = accountant.repeat(accountant.lift(PLD(losses=(0.0,), masses=(1.0 - 5e-13,))), 10**6)
    assert accountant.delta(state, epsilon=1.0) >= 4.9e-7


def test_a_lower_end_is_not_above_the_truth_for_a_tiny_infinite_mass():
    accountant = LossDistributionAccountant()
    state = accountant.lift(PLD(losses=(0.0,), masses=(1.0 - 2e-12,), infinity_mass=2e-12))
    assert accountant.epsilon(state, delta=2.0003e-12) == 0.0


def test_more_releases_than_a_contour_can_hold_are_bounded_all_the_same():
    guarantee = dpkit.account(Repeat(event=LaplaceEvent(ratio=1e-8), times=10**14), "pld")
    # the loss has variance k x^2 = 0.01 or less: never below what its Gaussian limit costs
    assert 0.3 < guarantee.epsilon(delta=1e-6) < 1.0


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "width", "wide"),
    [(0.001, 0.6, 1000, 5e-7, 1e-5), (0.001, 0.6, 1000, 3e-5, 1e-4), (0.0001, 0.6, 10_000, 3e-5, 1e-4)],
)
def test_lower_ends_of_rarely_sampled_losses_are_near_at_every_width(rate, sigma, steps, width, wide):
    event = Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=1.0 / sigma)), times=steps)
    lower, upper = dpkit.account(event, LossDistributionAccountant(width=width)).interval(delta=1e-6)
    assert upper - wide < lower < upper
    others = [dpkit.account(event, LossDistributionAccountant(width=other)).epsilon(delta=1e-6) for other in (1e-5, 1e-4)]
    assert lower <= min(others)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta", "below", "above", "wide"),
    [
        # dp-accounting's optimistic and pessimistic answers, steps of 1e-6 and 1e-5
        (1e-4, 2.0, 100, 1e-8, 0.002224473, 0.002274499, 1e-6),
        (1e-3, 1.0, 1000, 1e-12, 0.876697768, 0.898242232, 1e-6),
        (1e-5, 1.0, 1_000_000, 1e-5, 0.0, 0.036903168, 1e-6),
    ],
)
def test_rare_samples_are_held_from_both_sides(rate, sigma, steps, delta, below, above, wide):
    event = Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=1.0 / sigma)), times=steps)
    lower, upper = dpkit.account(event, "pld").interval(delta=delta)
    assert below <= upper <= lower + wide
    assert lower <= above
