"""The subsampled Gaussian's Rényi curve against the binomial formula, quadrature at 60 digits, and a peer."""

import math

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from mpmath import mp, mpf

from dpkit import GaussianEvent, Repeat, Subsample, account
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianCurve, SubsampledGaussianPair

mp.dps = 60
TIGHT = 1e-9


def reported(rate: float, ratio: float, order: float) -> mpf:
    return mpf(float(SubsampledGaussianCurve(rate=rate, ratio=ratio).at(np.array([order]))[0]))


def binomial(rate: float, ratio: float, order: int) -> mpf:
    """ln sum_k C(a,k) (1-q)^(a-k) q^k e^(k(k-1)x^2/2) / (a-1): exact at whole orders, less 1 term by term."""
    q, x = mpf(rate), mpf(ratio)
    choose, total = mpf(order), mpf(0)
    for k in range(2, order + 1):
        choose = choose * (order - k + 1) / k
        total += choose * (1 - q) ** (order - k) * q**k * mp.expm1(mpf(k) * (k - 1) * x * x / 2)
    return mp.log1p(total) / (order - 1)


def quadrature(rate: float, ratio: float, order: float, *, reverse: bool = False) -> mpf:
    """The divergence of the mixture from the Gaussian, or the reverse, by a fine trapezoid rule on the excess over 1."""
    q, x, a = mpf(rate), mpf(ratio), mpf(order)
    power = 1 - a if reverse else a

    def integrand(w: mpf) -> mpf:
        growth = q * mp.expm1(x * w - x * x / 2)
        return mp.npdf(w) * ((1 + growth) ** power - 1 - power * growth)

    low, high = mpf(-16), (0 if reverse else a * x) + x + 16
    step = min(mpf(1) / 6, 1 / (4 * x))
    nodes = int((high - low) / step) + 1
    return mp.log1p(step * mp.fsum(integrand(low + i * step) for i in range(nodes + 1))) / (a - 1)


@pytest.mark.parametrize("rate", [1e-6, 1e-3, 0.05, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("ratio", [1e-12, 1e-8, 1e-4, 0.02, 0.3, 1.0, 3.0, 10.0])
def test_whole_orders_match_the_binomial_formula(rate: float, ratio: float) -> None:
    for order in (2, 3, 8, 21, 64, 256):
        exact = binomial(rate, ratio, order)
        assert exact <= reported(rate, ratio, float(order)) <= exact * (1 + mpf(TIGHT)), order


@pytest.mark.parametrize(("rate", "ratio"), [(0.01, 0.02), (0.01, 1.0), (0.3, 10.0), (1e-6, 0.1)])
def test_large_orders_match_it_too(rate: float, ratio: float) -> None:
    exact = binomial(rate, ratio, 4000)
    assert exact <= reported(rate, ratio, 4000.0) <= exact * (1 + mpf(TIGHT))


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("ratio", [1e-4, 0.3, 1.0, 4.0])
def test_every_other_order_matches_quadrature(rate: float, ratio: float) -> None:
    for order in (1.0 + 1e-9, 1.001, 1.7, 13.6):
        exact = quadrature(rate, ratio, order)
        # near order 1 the two halves of the integrand cancel
        allowed = TIGHT + 1e-12 / (order - 1.0)
        assert exact <= reported(rate, ratio, order) <= exact * (1 + mpf(allowed)), order


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("order", [1.05, 2.0, 9.5])
def test_the_other_direction_is_never_larger(rate: float, ratio: float, order: float) -> None:
    assert quadrature(rate, ratio, order, reverse=True) <= quadrature(rate, ratio, order) <= reported(rate, ratio, order)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 1.0])
@pytest.mark.parametrize("ratio", [1e-150, 1e-12, 1e3, 1e6, 1e160])
def test_extreme_ratios_give_a_number_between_nothing_and_the_whole(rate: float, ratio: float) -> None:
    orders = 1.0 + np.geomspace(2.0**-52, 1e300, 40)
    with np.errstate(over="ignore"):
        whole = orders * (0.5 * ratio * ratio)
    values = SubsampledGaussianCurve(rate=rate, ratio=ratio).at(orders)
    assert np.all(values > 0.0)
    assert np.all(values <= whole * (1.0 + 1e-12) + 1e-300)


def test_the_curve_rises_with_the_order_rate_and_ratio() -> None:
    orders = 1.0 + np.geomspace(1e-3, 1e5, 120)
    for rate in (1e-5, 0.01, 0.5):
        for ratio in (0.05, 1.0, 6.0):
            values = SubsampledGaussianCurve(rate=rate, ratio=ratio).at(orders)
            assert np.all(values[1:] >= values[:-1] * (1.0 - 1e-9))
            assert np.all(SubsampledGaussianCurve(rate=rate * 1.1, ratio=ratio).at(orders) >= values * (1.0 - 1e-9))
            assert np.all(SubsampledGaussianCurve(rate=rate, ratio=ratio * 1.1).at(orders) >= values * (1.0 - 1e-9))


@pytest.mark.parametrize("rate", [1e-3, 0.02, 0.4])
@pytest.mark.parametrize("noise", [0.7, 1.0, 5.0])
def test_a_peer_agrees(rate: float, noise: float) -> None:
    orders = [2.0, 3.0, 10.0, 33.0]  # between whole orders the peer's bound is loose
    peer = rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(rate, noise, orders)
    for order, theirs in zip(orders, np.atleast_1d(peer), strict=True):
        assert float(reported(rate, 1.0 / noise, order)) == pytest.approx(float(theirs), rel=2e-6)


@pytest.mark.parametrize(("rate", "ratio", "times"), [(0.5, 3.0, 10**9), (0.01, 1.0, 10**30), (0.5, 10.0, 5)])
def test_a_hopeless_composition_is_read_without_failing(rate: float, ratio: float, times: int) -> None:
    """The best order then lies closer to 1 than a float can say."""
    guarantee = account(Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=ratio)), times=times), "rdp")
    assert guarantee.delta(epsilon=1.0) <= 1.0
    assert guarantee.epsilon(delta=1e-6) > 1.0
    assert not math.isnan(guarantee.epsilon(delta=0.999))


@pytest.mark.parametrize(("rate", "ratio"), [(1e-3, 1.0), (1e-6, 0.6), (0.3, 2.0), (0.01, 0.1)])
def test_moments_of_a_record_less_are_bounded_closely(rate, ratio):
    leaving = SubsampledGaussianPair(rate=rate, ratio=ratio).backward()
    with mp.workdps(40):
        q, m = mpf(rate), mpf(ratio)
        for tilt in (0.1, 1.0, 10.0, 300.0, 1e4):
            rest = lambda w, t=tilt: mp.npdf(w) * (1 - q + q * mp.exp(m * w - m * m / 2)) ** -t  # noqa: E731
            exact = mp.log(mp.quad(rest, [-30, -12, -8, -5, -3, -1, 0, 1, 2, 3, 5, 8, 12, 30]))
            found = float(leaving.real_log_moment(np.array([tilt]))[0])
            assert exact <= mpf(found) * (1 + mpf(10) ** -12)
            assert found <= 1.01 * exact
