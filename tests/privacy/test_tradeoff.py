"""What attacks can do, read off the whole curve: never below the truth of closed forms, near it, and caught when it is not."""

import math
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import dpkit
from dpkit import ApproxEvent, GaussianEvent, LaplaceEvent, PureEvent, Repeat, Subsample
from dpkit.privacy import tradeoff
from dpkit.privacy.gaussian_dp import gaussian_delta
from dpkit.privacy.tradeoff import gaussian_mu, gaussian_mu_of_zcdp, least_power, pair_power, pair_profile, power_of
from dpkit.testing.strategies import examples

RATES = (0.0, 1e-9, 1e-3, 0.05, 0.3, 0.5, 0.9, 0.999)


def gaussian_power(mu, rate):
    return float(norm.cdf(norm.ppf(rate) + mu))


def response_power(epsilon, rate):
    """Randomised response: the curve has one corner."""
    return min(math.exp(epsilon) * rate, 1.0 - math.exp(-epsilon) * (1.0 - rate))


def laplace_power(ratio, rate):
    """Lap(0) against Lap(ratio), thresholds: by the distribution function."""
    threshold = -math.log(2.0 * rate) if rate <= 0.5 else math.log(2.0 * (1.0 - rate))
    above = threshold - ratio
    return 0.5 * math.exp(-above) if above >= 0.0 else 1.0 - 0.5 * math.exp(above)


def laplace_guess(ratio, prior):
    """By brute force over thresholds."""
    more = max(prior, 1.0 - prior)
    rates = np.linspace(1e-9, 1.0 - 1e-9, 20_001)
    powers = np.array([laplace_power(ratio, rate) for rate in rates])
    return float(np.max((1.0 - more) * powers + more * (1.0 - rates)))


def assert_close_above(found, truth, near=1e-7):
    assert truth * (1.0 - 1e-9) - 1e-15 <= found <= truth * (1.0 + near) + near * 1e-3


@pytest.mark.parametrize("accountant", ["gdp", "pld"])
@examples(15)
@given(mu=st.floats(0.01, 8.0), rate=st.sampled_from(RATES), prior=st.floats(0.0, 1.0))
def test_gaussian_noise_has_its_closed_forms(accountant, mu, rate, prior):
    guarantee = dpkit.account(GaussianEvent(ratio=mu), accountant)
    assert_close_above(guarantee.power(rate), gaussian_power(mu, rate))
    assert_close_above(guarantee.advantage(), 2.0 * norm.cdf(mu / 2.0) - 1.0)
    assert mu <= guarantee.gdp() <= mu * (1.0 + 1e-15)
    odds = math.log((1.0 - prior) / prior) if 0.0 < prior < 1.0 else math.inf
    if math.isfinite(odds):
        found = float((1 - prior) * norm.cdf(odds / mu + mu / 2) + prior * norm.cdf(mu / 2 - odds / mu))
        assert_close_above(guarantee.posterior(prior), found)
    else:
        assert guarantee.posterior(prior) == 1.0


@pytest.mark.parametrize("accountant", ["pure", "pld"])
@examples(10)
@given(epsilon=st.floats(0.01, 60.0), rate=st.sampled_from(RATES), prior=st.floats(0.01, 0.99))
def test_randomised_response_has_its_closed_forms(accountant, epsilon, rate, prior):
    guarantee = dpkit.account(PureEvent(epsilon=epsilon), accountant)
    assert_close_above(guarantee.power(rate), response_power(epsilon, rate))
    assert_close_above(guarantee.advantage(), math.tanh(epsilon / 2.0))
    more = max(prior, 1.0 - prior)
    assert_close_above(guarantee.posterior(prior), max(more, 1.0 / (1.0 + math.exp(-epsilon))), near=1e-6)
    assert_close_above(guarantee.gdp(), -2.0 * norm.ppf(1.0 / (1.0 + math.exp(epsilon))), near=2e-4)


@examples(15)
@given(ratio=st.floats(0.05, 5.0), rate=st.sampled_from(RATES[1:]), prior=st.sampled_from([0.1, 0.5, 0.7]))
def test_laplace_noise_has_its_closed_forms(ratio, rate, prior):
    guarantee = dpkit.account(LaplaceEvent(ratio=ratio), "pld")
    assert_close_above(guarantee.power(rate), laplace_power(ratio, rate))
    assert_close_above(guarantee.advantage(), -math.expm1(-ratio / 2.0))
    assert_close_above(guarantee.posterior(prior), laplace_guess(ratio, prior), near=1e-4)
    # the curves touch where the loss is largest, or where errors are equal; nothing is below the mu of either
    at_half = 2.0 * norm.ppf(1.0 - math.exp(-ratio / 2.0) / 2.0)
    assert guarantee.gdp() >= at_half * (1.0 - 1e-9)


def mixture_power(rate, ratio, alarm):
    """A sample of Gaussian noise, both directions, by the distribution functions: the ratio rises with the output."""

    def mixed(x):
        return (1.0 - rate) * norm.sf(x) + rate * norm.sf(x - ratio)

    more = float(mixed(norm.isf(alarm)))
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if 1.0 - mixed(middle) >= alarm else (middle, high)
    return more, float(norm.cdf(high))


@pytest.mark.parametrize("alarm", [1e-4, 0.05, 0.5, 0.9])
def test_the_two_directions_of_a_sample_are_told_apart(alarm):
    guarantee = dpkit.account(Subsample(rate=0.2, event=GaussianEvent(ratio=2.0)), "pld")
    truths = mixture_power(0.2, 2.0, alarm)
    assert_close_above(guarantee.power(alarm), max(truths), near=1e-6)
    swapped = guarantee.accountant.profiles(guarantee.state)
    assert_close_above(power_of(swapped[::-1], alarm), max(truths), near=1e-6)  # the larger of both, in either order
    assert abs(truths[0] - truths[1]) > 1e-3 * alarm


SAMPLED = Repeat(event=Subsample(rate=0.1, event=GaussianEvent(ratio=0.5)), times=4)


def test_a_sample_is_as_gaussian_as_its_noise():
    assert dpkit.account(SAMPLED, "pld").gdp() == 1.0


@pytest.mark.slow
def test_a_sample_is_less_gaussian_with_a_slack():
    guarantee = dpkit.account(SAMPLED, "pld")
    loosened = guarantee.gdp(slack=1e-6)
    assert 0.1 < loosened < 0.7
    for epsilon in np.linspace(0.0, 6.0, 31):
        assert guarantee.delta(epsilon=epsilon) <= gaussian_delta(loosened, epsilon=epsilon) + 1e-6


@pytest.mark.parametrize("times", [1, 7, 40])
def test_the_gaussian_curve_lies_below_and_touches(times):
    guarantee = dpkit.account(Repeat(event=LaplaceEvent(ratio=0.3), times=times), "pld")
    mu, rates = guarantee.gdp(), np.linspace(1e-4, 0.9999, 25)
    gaps = [gaussian_power(mu, rate) - guarantee.power(rate) for rate in rates]
    assert min(gaps) >= -1e-9
    # a smaller mu is passed somewhere
    assert any(
        guarantee.delta(epsilon=e) > gaussian_delta(mu * (1 - 3e-4), epsilon=e) for e in np.linspace(0.0, 0.3 * times, 3000)
    )


@examples(20)
@given(rho=st.floats(1e-6, 20.0))
def test_zero_concentrated_releases_are_gaussian_enough(rho):
    mu = gaussian_mu_of_zcdp(rho)
    assert math.sqrt(2.0 * rho) < mu < 2.2 * math.sqrt(2.0 * rho)
    guarantee = dpkit.account(dpkit.ZCDPEvent(rho=rho), "zcdp")
    for epsilon in (rho + math.sqrt(rho) * np.linspace(-1.0, 40.0, 42)).clip(0.0):
        found = guarantee.delta(epsilon=epsilon)
        assert found <= gaussian_delta(mu, epsilon=epsilon) or found < 1e-300


@pytest.mark.parametrize("rho", [1e-3, 0.5, 30.0])
def test_the_tails_of_zero_concentration_are_ordered_as_the_page_proves(rho):
    mu = 1.02 * math.sqrt(2.0 * rho)
    with mpmath.workdps(60):
        for epsilon in (mpmath.mpf(rho) + mpmath.sqrt(rho) * k for k in (60, 100, 300)):
            order = (epsilon + rho) / (2 * rho)
            ours = mpmath.exp((order - 1) * (order * rho - epsilon)) * (1 - 1 / order) ** order / (order - 1)
            gauss = mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)
            assert ours <= gauss


@given(epsilon=st.floats(0.0, 50.0), delta=st.floats(0.0, 0.9), at=st.floats(0.0, 60.0))
def test_one_pair_says_of_smaller_epsilons_what_its_curve_does(epsilon, delta, at):
    found = pair_profile(epsilon, delta, at)
    with mpmath.workdps(40):
        grown, here = mpmath.exp(epsilon), mpmath.exp(at)
        truth = delta if at >= epsilon else delta + (1 - mpmath.mpf(delta)) * (grown - here) / (grown + 1)
        assert truth <= found <= truth + mpmath.mpf(1e-13)


def test_an_approximate_release_is_gaussian_for_no_mu_below_its_delta():
    guarantee = dpkit.account(ApproxEvent(epsilon=1.0, delta=1e-5), "best")
    assert guarantee.gdp() == guarantee.gdp(slack=1e-6) == math.inf
    assert guarantee.gdp(slack=1e-5) < 1.3


@pytest.mark.parametrize("times", [10**6, 10**12])
def test_many_small_losses_end_and_are_near_the_gaussian_limit(times):
    guarantee = dpkit.account(Repeat(event=PureEvent(epsilon=times**-0.5), times=times), "pld")
    assert 1.0 * (1 - 1e-9) <= guarantee.gdp(slack=1e-9) < 1.3
    assert gaussian_power(1.0, 0.05) * (1 - 1e-4) <= guarantee.power(0.05) < 1.3 * gaussian_power(1.0, 0.05)


@pytest.mark.parametrize("accountant", ["pure", "advanced", "cdp", "zcdp", "rdp", "pld", "best"])
def test_no_accountant_reads_below_the_truth(accountant):
    guarantee = dpkit.account(Repeat(event=LaplaceEvent(ratio=0.5), times=3), accountant)
    exact = dpkit.account(Repeat(event=LaplaceEvent(ratio=0.5), times=3), "pld")
    for rate in (0.0, 0.01, 0.3, 1.0):
        assert guarantee.power(rate) >= exact.power(rate) * (1 - 1e-6)
        assert guarantee.power(rate) >= rate
    assert guarantee.advantage() >= exact.advantage() * (1 - 1e-6)
    assert guarantee.posterior(0.3) >= exact.posterior(0.3) * (1 - 1e-6)
    assert guarantee.gdp() >= exact.gdp() * (1 - 2e-4)


def first_order_only(low, high, at_low, at_high, least):
    """A mutant: the ends of a piece decide, nothing in between."""
    return max(tradeoff.gaussian_mu_at(low, at_low), tradeoff.gaussian_mu_at(high, at_high))


def test_readings_that_look_at_ends_alone_or_one_way_are_caught(monkeypatch):
    profile = partial(pair_profile, 3.0, 0.0)
    right = gaussian_mu(profile, top=3.0)
    monkeypatch.setattr(tradeoff, "_mu_over", first_order_only)
    monkeypatch.setattr(tradeoff, "_GRID", 1)
    assert gaussian_mu(lambda e: profile(e) * (0.5 < e < 2.9) + 0.2 * (e <= 0.5), top=3.0) < right
    guarantee = dpkit.account(Subsample(rate=0.2, event=GaussianEvent(ratio=2.0)), "pld")
    profiles = guarantee.accountant.profiles(guarantee.state)
    for alone in (profiles[:1], profiles[1:]):  # one direction taken for both is too small somewhere, or too large
        found = [power_of(alone, alarm) / max(mixture_power(0.2, 2.0, alarm)) - 1.0 for alarm in (1e-4, 0.05, 0.5, 0.9)]
        assert max(map(abs, found)) > 1e-3


@given(epsilon=st.floats(0.0, 800.0), delta=st.floats(0.0, 1.0), rate=st.floats(0.0, 1.0))
def test_a_pair_bounds_power_by_a_probability(epsilon, delta, rate):
    found = pair_power(epsilon, delta, rate)
    assert rate <= found <= 1.0
    assert pair_power(epsilon, delta, rate, backward=delta) == found


@given(
    st.lists(st.tuples(st.floats(0.0, 800.0) | st.floats(0.0, 3.0), st.floats(0.0, 1.0) | st.floats(0.0, 1e-6)), min_size=1),
    st.floats(0.0, 1.0),
)
def test_the_least_power_of_many_pairs_is_the_least_of_each(pairs, rate):
    assert least_power(pairs, rate) == min(pair_power(*pair, rate) for pair in pairs)
