"""`zcdp`: rho adds exactly in its filter, and slack is set aside for approximate releases."""

import math

import pytest
from pricing.filling import fill

import dpkit
from dpkit import ZCDP, ApproxDP, ApproxEvent, BudgetExceededError, GaussianEvent, Repeat, ZCDPEvent, privacy_filter


def test_one_step_past_the_limit_is_refused_and_charges_nothing() -> None:
    opened = privacy_filter(ZCDP(rho=1.0), "zcdp").charge(ZCDPEvent(rho=0.75))
    with pytest.raises(BudgetExceededError):
        opened.charge(ZCDPEvent(rho=0.2500000000000001))
    assert opened.charge(ZCDPEvent(rho=0.25)).state != opened.state


TARGET = ApproxDP(epsilon=1.0, delta=1e-6)


def test_the_zcdp_filter_sets_slack_aside_for_approximate_releases():
    without = dpkit.privacy_filter(TARGET, "zcdp")
    assert not without.admits(ApproxEvent(epsilon=0.01, delta=1e-9))
    reserved = dpkit.privacy_filter(TARGET, "zcdp", slack=1e-8)
    spent, charged = fill(reserved, ApproxEvent(epsilon=0.001, delta=1e-9))
    assert charged == 9  # ten times -ln(1 - 1e-9) is a little more than 1e-8
    total = dpkit.account(Repeat(event=ApproxEvent(epsilon=0.001, delta=1e-9), times=charged), "zcdp")
    assert total.epsilon(delta=1e-6) <= 1.0
    assert spent.theorem.limit.rho < without.theorem.limit.rho


def test_the_slack_bounds_the_plain_sum_of_deltas():
    _, charged = fill(
        dpkit.privacy_filter(ApproxDP(epsilon=5.0, delta=0.6), "zcdp", slack=0.5), ApproxEvent(epsilon=1e-6, delta=0.1)
    )
    assert charged == 4  # four times -ln(0.9) is 0.42; the plain sum of five would be 0.5 exactly, and rounding is safe


def test_approximate_losses_join_concentrated_sums_as_a_slack():
    study = [GaussianEvent(ratio=0.5), ApproxEvent(epsilon=0.1, delta=1e-7)]
    for accountant in ("zcdp", "rdp"):
        guarantee = dpkit.account(study, accountant)
        assert guarantee.epsilon(delta=1e-7) == math.inf
        assert math.isfinite(guarantee.epsilon(delta=2e-7))
        assert guarantee.delta(epsilon=100.0) >= 1e-7
