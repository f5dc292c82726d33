"""Noise is calibrated to what an attack can do, and no more noise than that takes."""

import math

import pytest
from scipy.stats import norm

import dpkit
from dpkit import GDP, AdvantageLimit, GaussianEvent, InvalidValueError, LaplaceEvent, PosteriorLimit, PowerLimit, PureEvent


def gaussian(scale):
    return GaussianEvent(ratio=1.0 / scale)


@pytest.mark.parametrize("accountant", ["gdp", "pld", "best"])
@pytest.mark.parametrize(
    ("limit", "mu"),
    [
        (PowerLimit(false_alarm_rate=0.05, at_most=0.2), norm.ppf(0.2) - norm.ppf(0.05)),
        (AdvantageLimit(at_most=0.1), 2.0 * norm.ppf(0.55)),
        (PosteriorLimit(prior=0.5, at_most=0.6), 2.0 * norm.ppf(0.6)),
        (GDP(mu=0.7), 0.7),
    ],
    ids=["power", "advantage", "posterior", "gdp"],
)
def test_gaussian_noise_meets_each_limit_with_the_noise_of_its_closed_form(accountant, limit, mu):
    scale = dpkit.calibrate(gaussian, limit, accountant)
    assert scale == pytest.approx(1.0 / mu, rel=1e-6)
    assert dpkit.account(gaussian(scale), accountant).within(limit)
    assert not dpkit.account(gaussian(scale * 0.999), accountant).within(limit)


def test_other_noise_is_calibrated_to_a_mu_too():
    scale = dpkit.calibrate(lambda scale: LaplaceEvent(ratio=1.0 / scale), GDP(mu=0.5), "pld")
    assert dpkit.account(LaplaceEvent(ratio=1.0 / scale), "pld").gdp() <= 0.5
    assert dpkit.account(LaplaceEvent(ratio=1.01 / scale), "pld").gdp() > 0.5
    assert dpkit.account(PureEvent(epsilon=0.1)).within(GDP(mu=1.0))  # also under accountants of other notions


def test_a_limit_that_nothing_meets_is_refused_in_words():
    with pytest.raises(dpkit.BudgetUnreachableError, match="PowerLimit"):
        dpkit.calibrate(gaussian, PowerLimit(false_alarm_rate=0.5, at_most=0.4), "gdp")


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan"), "0.1", None])
def test_what_is_no_probability_is_refused(wrong):
    for make in (
        lambda: AdvantageLimit(at_most=wrong),
        lambda: PowerLimit(false_alarm_rate=wrong, at_most=0.5),
        lambda: PosteriorLimit(prior=wrong, at_most=0.5),
        lambda: dpkit.account(PureEvent(epsilon=1.0)).power(wrong),
        lambda: dpkit.account(PureEvent(epsilon=1.0)).posterior(wrong),
        lambda: dpkit.account(PureEvent(epsilon=1.0)).posterior(0.5, false_alarm_rate=wrong or -1),
        lambda: dpkit.account(PureEvent(epsilon=1.0)).gdp(slack=wrong),
    ):
        with pytest.raises(InvalidValueError):
            make()


def test_an_alarm_is_right_at_most_as_often_as_the_odds_allow():
    guarantee = dpkit.account(PureEvent(epsilon=1.0), "pld")
    found = guarantee.posterior(0.1, false_alarm_rate=0.01)
    assert found == pytest.approx(2.718281828459045 / (9.0 + 2.718281828459045), rel=1e-9)
    assert guarantee.posterior(0.0, false_alarm_rate=0.0) == 0.0


@pytest.mark.parametrize("prior", [0.0, 1e-6, 0.3, 1.0])
@pytest.mark.parametrize(
    "event", [PureEvent(epsilon=1.0), LaplaceEvent(ratio=3.0), GaussianEvent(ratio=0.5), PureEvent(epsilon=0.0)]
)
def test_an_alarm_that_is_never_false_is_no_less_likely_right_than_one_that_hardly_ever_is(event, prior):
    guarantee = dpkit.account(event, "best")
    never, hardly = (guarantee.posterior(prior, false_alarm_rate=rate) for rate in (0.0, 1e-12))
    assert prior <= hardly * (1 + 1e-12) <= never * (1 + 2e-12)
    if math.isfinite(top := guarantee.epsilon(delta=0.0)):
        assert never == pytest.approx(prior * math.exp(top) / (1 - prior + prior * math.exp(top)), rel=1e-12)
