"""Calibration never overspends, and says clearly when a budget cannot be met."""

import math

import pytest

import dpkit
from dpkit import GDP, RDP, ZCDP, ApproxDP, GaussianEvent, LaplaceEvent, MeanCDP, PureDP, PureEvent, Repeat, Subsample


def laplace(times):
    return lambda scale: Repeat(event=LaplaceEvent(ratio=1.0 / scale), times=times)


def gaussian(times, sensitivity=1.0):
    return lambda scale: Repeat(event=GaussianEvent(ratio=sensitivity / scale), times=times)


@pytest.mark.parametrize(
    ("family", "budget", "accountant", "closed_form"),
    [
        (laplace(10), PureDP(epsilon=1.0), "pure", 10.0),
        (laplace(10), ApproxDP(epsilon=1.0, delta=0.0), "pure", 10.0),
        (gaussian(10), ZCDP(rho=0.5), "zcdp", math.sqrt(10.0)),
        (gaussian(10), GDP(mu=2.0), "gdp", math.sqrt(10.0) / 2.0),
        (gaussian(4), RDP(orders=(3.0,), epsilons=(1.5,)), "rdp", 2.0),
        (gaussian(1), MeanCDP(mu=0.5, tau=1.0), "cdp", 1.0),
    ],
)
def test_the_scale_is_the_closed_form_and_on_the_safe_side(family, budget, accountant, closed_form):
    scale = dpkit.calibrate(family, budget, accountant)
    assert scale == pytest.approx(closed_form, rel=1e-9)
    assert dpkit.account(family(scale), accountant).within(budget)


@pytest.mark.parametrize("sensitivity", [1e-9, 1e-3, 1.0, 1e6, 1e12])
def test_the_scale_follows_the_sensitivity(sensitivity):
    budget = ApproxDP(epsilon=1.0, delta=1e-6)
    unit = dpkit.calibrate(gaussian(3), budget, "gdp")
    assert dpkit.calibrate(gaussian(3, sensitivity), budget, "gdp") == pytest.approx(unit * sensitivity, rel=1e-9)


def test_a_sampled_family_is_calibrated_too():
    def family(scale):
        return Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=1.0 / scale)), times=1000)

    budget = ApproxDP(epsilon=1.0, delta=1e-6)
    scale = dpkit.calibrate(family, budget, "rdp")
    assert dpkit.account(family(scale), "rdp").epsilon(delta=1e-6) <= 1.0
    assert dpkit.account(family(scale * (1 - 1e-8)), "rdp").epsilon(delta=1e-6) > 1.0


@pytest.mark.parametrize(
    ("family", "budget", "accountant", "reason"),
    [
        (gaussian(1), PureDP(epsilon=1.0), "gdp", "however large"),
        (laplace(1), PureDP(epsilon=0.0), "pure", "however large"),
        (lambda scale: PureEvent(epsilon=2.0), PureDP(epsilon=1.0), "pure", "however large"),
        (lambda scale: PureEvent(epsilon=0.5), PureDP(epsilon=1.0), "pure", "every scale"),
    ],
)
def test_a_budget_that_cannot_be_met_is_a_clear_error(family, budget, accountant, reason):
    with pytest.raises(dpkit.BudgetUnreachableError, match=reason) as caught:
        dpkit.calibrate(family, budget, accountant)
    assert caught.value.budget == budget


@pytest.mark.parametrize("accountant", ["cdp", "zcdp", "rdp", "pure", "best"])
@pytest.mark.parametrize("sensitivity", [1e3, 1e160])
def test_a_sensitivity_that_overflows_at_first_is_only_too_little_noise(accountant, sensitivity):
    def family(scale):
        return LaplaceEvent(ratio=sensitivity / scale)

    scale = dpkit.calibrate(family, ApproxDP(epsilon=1.0, delta=1e-6), accountant)
    assert dpkit.account(family(scale), accountant).epsilon(delta=1e-6) <= 1.0
    assert scale / sensitivity == pytest.approx(
        dpkit.calibrate(lambda s: LaplaceEvent(ratio=1.0 / s), ApproxDP(epsilon=1.0, delta=1e-6), accountant), rel=1e-8
    )


def test_a_family_that_overflows_by_itself_is_too_little_noise_too():
    scale = dpkit.calibrate(lambda s: LaplaceEvent(ratio=math.exp(1000.0 / s)), PureDP(epsilon=2.0), "pure")
    assert math.exp(1000.0 / scale) <= 2.0


def test_a_budget_that_is_no_loss_is_refused():
    with pytest.raises(dpkit.InvalidValueError, match="budget"):
        dpkit.calibrate(laplace(1), 1.0, "pure")


def test_an_event_that_cannot_be_priced_is_not_mistaken_for_a_budget():
    with pytest.raises(dpkit.UnpricedEventError):
        dpkit.calibrate(laplace(1), ApproxDP(epsilon=1.0, delta=1e-6), "gdp")


def test_a_mistake_in_the_family_is_not_swallowed():
    with pytest.raises(dpkit.InvalidValueError, match="ratio"):
        dpkit.calibrate(lambda scale: LaplaceEvent(ratio=-1.0 / scale), PureDP(epsilon=1.0), "pure")
