"""What reviews of `pld` found, each against the exact answer: it must not come back."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

import dpkit
from dpkit import PLD, LaplaceEvent, PureEvent, Repeat
from dpkit.accountants.pld.accountant import LossDistributionAccountant


def true_delta(epsilons, at):
    """delta of a composition of worst-case pure releases, by enumeration at 60 digits."""
    context = mpmath.mp.clone()
    context.dps = 60
    total = context.mpf(0)
    for signs in product((1, -1), repeat=len(epsilons)):
        loss = sum((sign * Fraction(epsilon) for sign, epsilon in zip(signs, epsilons, strict=True)), Fraction(0))
        mass = context.mpf(1)
        for sign, epsilon in zip(signs, epsilons, strict=True):
            mass /= 1 + context.exp(-sign * context.mpf(epsilon))
        gap = context.mpf(loss.numerator) / loss.denominator - context.mpf(at)
        if gap > 0:
            total += mass * -context.expm1(-gap)
    return total


@pytest.mark.parametrize("delta", [1e-12, 1e-20, 1e-29])
def test_a_chernoff_bound_at_a_steep_tilt_is_a_bound(delta):
    """At steep tilts the peak of the kernel cancelled in all its digits, and the bound fell below the truth."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        epsilons = [float(epsilon) for epsilon in 10.0 ** rng.uniform(-12, -1, size=2)]
        guarantee = dpkit.account([PureEvent(epsilon=epsilon) for epsilon in epsilons], "pld")
        epsilon = guarantee.epsilon(delta=delta)
        assert true_delta(epsilons, epsilon) <= delta
        inside = epsilon * (1.0 - 1e-4)
        assert guarantee.delta(epsilon=inside) >= true_delta(epsilons, inside)


def test_the_peak_of_the_kernel_keeps_its_digits():
    from dpkit.accountants.pld.moments import log_kernel_peak

    for tilt in (1e-3, 1.0, 1e3, 1e8, 1e15):
        exact = mpmath.mp.clone()
        exact.dps = 60
        t = exact.mpf(tilt)
        truth = t * exact.log(t) - (1 + t) * exact.log(1 + t)
        assert float(log_kernel_peak(np.array([tilt]))[0]) == pytest.approx(float(truth), rel=1e-14)


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
