"""The optimal reading of a Rényi curve against a minimisation at 60 digits."""

import math
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf

from dpkit.privacy.conversions import epsilon_at_order, gaussian_order, renyi_delta, renyi_epsilon
from dpkit.privacy.gaussian import gaussian_delta
from dpkit.privacy.losses import LinearCurve, PureCurve

mp.dps = 60
RHOS = [1e-8, 1e-3, 0.1, 1.0, 30.0, 1e4]
DELTAS = [1e-300, 1e-30, 1e-6, 0.1, 0.9]


def epsilon_of(divergence: mpf, excess: mpf, delta: float) -> mpf:
    """CKS20, Prop 12, at one order."""
    return divergence + mp.log(excess / (1 + excess)) - (mp.log(mpf(delta)) + mp.log1p(excess)) / excess


def smallest_epsilon(rho: float, delta: float) -> mpf:
    """Golden-section search over ln(order - 1) for a line through 0, where the bound has one valley."""
    low, high = mp.log(mpf(10) ** -12), mp.log(mpf(10) ** 12)
    golden = (mp.sqrt(5) - 1) / 2
    value = lambda u: epsilon_of(mpf(rho) * (1 + mp.exp(u)), mp.exp(u), delta)  # noqa: E731
    for _ in range(110):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if value(left) < value(right) else (left, high)
    return max(mpf(0), value((low + high) / 2))


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_rho_is_read_at_the_best_order(rho: float, delta: float) -> None:
    exact = smallest_epsilon(rho, delta)
    reported, order = renyi_epsilon(LinearCurve(slope=rho), delta=delta)
    assert exact * (1 - mpf(10) ** -30) <= mpf(reported) <= exact * (1 + mpf(1e-12)) + mpf(1e-12) * mpf(rho)
    assert order > 1.0


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_reading_is_a_bound_at_its_own_order(rho: float, delta: float) -> None:
    reported, order = renyi_epsilon(LinearCurve(slope=rho), delta=delta)
    assert mpf(reported) >= epsilon_of(mpf(rho) * mpf(order), mpf(order) - 1, delta)
    smaller, order = renyi_delta(LinearCurve(slope=rho), epsilon=reported)
    a = mpf(order)
    exact = mp.exp((a - 1) * (a * mpf(rho) - mpf(reported)) + a * mp.log1p(-1 / a) - mp.log(a - 1))
    assert min(exact, mpf(1)) <= mpf(smaller)
    if reported > 0.0:
        assert smaller <= delta * (1 + 1e-9)


@pytest.mark.parametrize("mu", [1e-3, 0.3, 2.0, 30.0])
def test_a_gaussian_read_through_its_curve_is_never_below_its_profile(mu: float) -> None:
    curve = LinearCurve(slope=0.5 * mu * mu * (1 + 1e-15))
    for spread in (0.0, 1.0, 5.0, 20.0):
        epsilon = mu * (mu / 2 + spread)
        assert renyi_delta(curve, epsilon=epsilon)[0] >= gaussian_delta(mu, epsilon=epsilon) * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 20.0, 700.0])
def test_a_pure_curve_is_never_read_above_its_largest_loss(epsilon: float) -> None:
    for delta in DELTAS:
        assert renyi_epsilon(PureCurve(epsilon=epsilon), delta=delta)[0] <= epsilon * (1 + 1e-12)
    assert renyi_delta(PureCurve(epsilon=epsilon), epsilon=epsilon * (1 + 1e-9))[0] <= 1e-9


@pytest.mark.parametrize("rho", [1e-300, 1e-12, 1.0, 40.0, 1e6, 1e30, 1e300])
def test_a_delta_is_a_probability_and_falls(rho: float) -> None:
    deltas = [renyi_delta(LinearCurve(slope=rho), epsilon=e)[0] for e in (0.0, 1e-3, 1.0, 4.0, 30.0, 1e3, 1e7, 1e300)]
    assert all(0.0 <= delta <= 1.0 for delta in deltas)
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(deltas))


def test_nothing_is_read_as_nothing() -> None:
    assert renyi_epsilon(LinearCurve(slope=0.0), delta=0.0)[0] == 0.0
    assert renyi_delta(LinearCurve(slope=0.0), epsilon=0.0)[0] == 0.0
    assert renyi_epsilon(LinearCurve(slope=1e-300), delta=0.0)[0] == math.inf


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-12), (8.0, 1e-3), (50.0, 1e-300)])
def test_what_an_order_allows_is_read_back_within_the_budget(epsilon: float, delta: float) -> None:
    order = gaussian_order(epsilon, delta)
    allowed = epsilon_at_order(order, epsilon=epsilon, delta=delta)
    assert allowed is not None
    assert epsilon_of(mpf(allowed), mpf(order) - 1, delta) <= mpf(epsilon)
    assert epsilon_of(mpf(allowed) * (1 + mpf(1e-12)) + mpf(1e-12) * epsilon, mpf(order) - 1, delta) > mpf(epsilon)
    assert epsilon_at_order(1.0 + 1e-6, epsilon=epsilon, delta=delta) is None
    assert np.isfinite(order)
