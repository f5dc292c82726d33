"""What the conversions between notions promise, held against their definitions and against readings at 60 digits."""

import math
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf

from dpkit import GDP, RDP, ZCDP, ApproxDP, MeanCDP, PureDP
from dpkit.contracts.accountant import keeps_within
from dpkit.mechanisms.laplace import laplace_rho
from dpkit.numerics.rounding import SMALLEST
from dpkit.privacy.conversions import (
    CONVERSIONS,
    approximate_to_renyi,
    approximate_to_zcdp,
    approximate_to_zcdp_usual,
    epsilon_at_order,
    gaussian_order,
    gdp_to_renyi,
    gdp_to_zcdp,
    mean_cdp_delta,
    mean_cdp_epsilon,
    mean_cdp_to_renyi,
    mean_cdp_to_zcdp,
    pure_to_mean_cdp,
    pure_to_mean_cdp_usual,
    pure_to_zcdp,
    pure_to_zcdp_usual,
    renyi_delta,
    renyi_epsilon,
    zcdp_delta_simple,
    zcdp_epsilon_simple,
)
from dpkit.privacy.filter_amounts import delta_left, delta_with, log_slack, slack_total
from dpkit.privacy.gaussian_dp import gaussian_delta
from dpkit.privacy.losses import LinearCurve, PureCurve

mp.dps = 60
LOSSES = [1e-3, 0.01, 0.15, 0.5, 1.0, 2.0, 5.0, 13.0, 50.0]
EXCESSES = [mpf(10) ** exponent for exponent in np.linspace(-8.0, 6.0, 57)]


def response_ratio(epsilon: float, excess: mpf) -> mpf:
    """D_a / a for randomised response, a = 1 + excess."""
    e, a = mpf(epsilon), 1 + excess
    return mp.log(mp.cosh((a - mpf(1) / 2) * e) / mp.cosh(e / 2)) / excess / a


def laplace_ratio(ratio: float, excess: mpf) -> mpf:
    x, a = mpf(ratio), 1 + excess
    return mp.log(a / (2 * a - 1) * mp.exp(excess * x) + excess / (2 * a - 1) * mp.exp(-a * x)) / excess / a


@pytest.mark.parametrize("epsilon", LOSSES)
def test_the_tight_rho_of_a_pure_loss_holds_at_every_order_and_is_attained(epsilon: float) -> None:
    rho = mpf(pure_to_zcdp(PureDP(epsilon=epsilon)).rho)
    worst = max(response_ratio(epsilon, excess) for excess in EXCESSES)
    assert worst <= rho
    assert rho <= response_ratio(epsilon, mpf(10) ** -25) * (1 + mpf(1e-14))
    assert rho <= mpf(pure_to_zcdp_usual(PureDP(epsilon=epsilon)).rho)


@pytest.mark.parametrize("ratio", LOSSES)
def test_the_tight_rho_of_laplace_noise_holds_at_every_order_and_is_attained(ratio: float) -> None:
    rho = mpf(laplace_rho(ratio))
    assert max(laplace_ratio(ratio, excess) for excess in EXCESSES) <= rho
    assert rho <= laplace_ratio(ratio, mpf(10) ** -25) * (1 + mpf(1e-14))


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, *LOSSES, 700.0, 1e6])
def test_the_constants_are_their_formulas_rounded_up(epsilon: float) -> None:
    e, pure = mpf(epsilon), PureDP(epsilon=epsilon)
    pairs = [
        (pure_to_zcdp(pure).rho, e * mp.tanh(e / 2)),
        (pure_to_zcdp_usual(pure).rho, e * e / 2),
        (pure_to_mean_cdp(pure).mu, e * mp.tanh(e / 2)),
        (laplace_rho(epsilon), e + mp.expm1(-e) if epsilon > 1e-9 else e * e / 2 - e**3 / 6 + e**4 / 24),
        (gdp_to_zcdp(GDP(mu=epsilon)).rho, e * e / 2),
        (gdp_to_renyi(GDP(mu=epsilon)).slope, e * e / 2),
    ]
    if epsilon < 700.0:
        pairs.append((pure_to_mean_cdp_usual(pure).mu, e * mp.expm1(e) / 2))
    for reported, exact in pairs:
        assert exact <= mpf(reported) <= exact * (1 + mpf(1e-14)) + mpf(SMALLEST)


@pytest.mark.parametrize("epsilon", LOSSES)
def test_the_loss_of_randomised_response_is_as_subgaussian_as_claimed(epsilon: float) -> None:
    """E e^(t(L - mu)) <= e^(t^2 tau^2 / 2) with the exact mean; a larger mean is weaker for t > 0."""
    e, p = mpf(epsilon), 1 / (1 + mp.exp(-mpf(epsilon)))
    loss = pure_to_mean_cdp(PureDP(epsilon=epsilon))
    mean = (2 * p - 1) * e
    assert mean <= loss.mu
    for t in (mpf(10) ** exponent for exponent in np.linspace(-6, 3, 19)):
        for sign in (1, -1):
            moment = p * mp.exp(sign * t * (e - mean)) + (1 - p) * mp.exp(sign * t * (-e - mean))
            assert mp.log(moment) <= t * t * mpf(loss.tau) ** 2 / 2


@pytest.mark.parametrize(("mu", "tau"), [(0.5, 1.0), (0.1, 1.0), (3.0, 0.2), (0.0, 1e-8), (1e5, 1e3)])
def test_a_mean_concentrated_loss_lies_below_its_line(mu: float, tau: float) -> None:
    loss = MeanCDP(mu=mu, tau=tau)
    orders = np.array([1.0 + 1e-9, 1.5, 2.0, 30.0, 1e6])
    for order, bound in zip(orders, mean_cdp_to_renyi(loss).at(orders), strict=True):
        exact = mpf(mu) + (mpf(float(order)) - 1) * mpf(tau) ** 2 / 2
        assert exact <= mpf(float(bound)) <= exact * (1 + mpf(1e-13)) + mpf(tau) ** 2 * mpf(1e-13)
        assert exact <= mpf(mean_cdp_to_zcdp(loss).rho) * mpf(float(order))


@pytest.mark.parametrize(("mu", "tau"), [(0.5, 1.0), (3.0, 0.2), (0.0, 1e-8), (1e5, 1e3), (1e-3, 1e-160)])
def test_subgaussian_tails_are_rounded_up_both_ways(mu: float, tau: float) -> None:
    loss = MeanCDP(mu=mu, tau=tau)
    for delta in (1e-300, 1e-12, 1e-6, 0.5, 0.999):
        exact = mpf(mu) + mpf(tau) * mp.sqrt(-2 * mp.log(mpf(delta)))
        epsilon = mean_cdp_epsilon(loss, delta=delta)
        assert exact <= mpf(epsilon) <= exact * (1 + mpf(1e-14))
        gap = (mpf(epsilon) - mpf(mu)) / mpf(tau)
        assert mp.exp(-gap * gap / 2) <= mpf(mean_cdp_delta(loss, epsilon=epsilon))
    assert mean_cdp_delta(loss, epsilon=mu) == 1.0
    assert mean_cdp_delta(loss, epsilon=mu / 2.0) == 1.0


@pytest.mark.parametrize("rho", [1e-320, 1e-12, 0.1, 1.0, 1e6])
def test_the_simple_reading_of_rho(rho: float) -> None:
    for delta in (1e-300, 1e-6, 0.999):
        exact = mpf(rho) + 2 * mp.sqrt(mpf(rho) * -mp.log(mpf(delta)))
        epsilon = zcdp_epsilon_simple(rho, delta=delta)
        assert exact <= mpf(epsilon) <= exact * (1 + mpf(1e-14))
        tail = mp.exp(-((mpf(epsilon) - mpf(rho)) ** 2) / (4 * mpf(rho)))
        assert tail <= mpf(zcdp_delta_simple(rho, epsilon=epsilon))
    assert 0.0 < zcdp_delta_simple(rho, epsilon=1e200) <= 1e-300


def test_an_approximate_loss_keeps_its_delta_as_slack() -> None:
    loss = ApproxDP(epsilon=0.7, delta=1e-3)
    assert approximate_to_zcdp(loss) == ZCDP(rho=pure_to_zcdp(PureDP(epsilon=0.7)).rho, delta=1e-3)
    assert approximate_to_zcdp_usual(loss) == ZCDP(rho=pure_to_zcdp_usual(PureDP(epsilon=0.7)).rho, delta=1e-3)
    table = RDP(orders=(2.0,), epsilons=(float(approximate_to_renyi(loss).at(np.array([2.0]))[0]),))
    assert not keeps_within(loss, table), "a budget without slack does not cover a loss with delta"
    assert keeps_within(loss, RDP(orders=table.orders, epsilons=table.epsilons, delta=1e-3))
    assert keeps_within(PureDP(epsilon=0.7), table)


@pytest.mark.parametrize("delta", [SMALLEST, 1e-300, 1e-17, 1e-6, 0.5, 0.999, 1 - 2.0**-53])
@pytest.mark.parametrize("count", [1, 3, 1000, 10**12])
def test_slacks_multiply_and_are_rounded_up(delta: float, count: int) -> None:
    with mp.workdps(400):
        exact = -mp.expm1(count * mp.log1p(-mpf(delta)))
    total = slack_total(log_slack(delta) * count)
    assert min(exact, mpf(1)) <= mpf(total) <= exact * (1 + mpf(1e-13)) + 4 * count * mpf(SMALLEST)


@pytest.mark.parametrize("slack", [0.0, 1e-300, 1e-6, 0.3])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.3, 0.999])
def test_what_the_slack_leaves_and_the_slack_are_within_delta(delta: float, slack: float) -> None:
    left = delta_left(delta, slack)
    if left >= 0.0:
        assert mpf(slack) + (1 - mpf(slack)) * mpf(left) <= mpf(delta)
        assert mpf(delta_with(left, slack)) <= mpf(delta) * (1 + mpf(1e-15))
    else:
        assert slack > delta


def test_every_arrow_names_its_theorem() -> None:
    assert len({arrow.name for arrow in CONVERSIONS}) == len(CONVERSIONS)
    assert all(math.isfinite(len(str(arrow.because))) for arrow in CONVERSIONS)


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
