"""Moments of composed losses: bounds from them hold at steep tilts, against the exact answer."""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

import dpkit
from dpkit import PureEvent


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
