"""What the conversions into concentrated and Rényi losses promise, held against their definitions."""

import math

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
    zcdp_delta_simple,
    zcdp_epsilon_simple,
)
from dpkit.privacy.gauges import delta_left, delta_with, log_slack, slack_total

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
