"""Filters keep a fixed budget under adaptive queries; odometers read at any time; both refuse what no theorem covers."""

import math

import pytest

import dpkit
from dpkit import GDP, RDP, ZCDP, ApproxDP, ApproxEvent, GaussianEvent, LaplaceEvent, MeanCDP, PureDP, PureEvent, Repeat

TARGET = ApproxDP(epsilon=1.0, delta=1e-6)


def fill(filter_, event):
    charged = 0
    while filter_.admits(event):
        filter_ = filter_.charge(event)
        charged += 1
    return filter_, charged


@pytest.mark.parametrize(
    ("budget", "accountant", "event", "expected"),
    [
        (PureDP(epsilon=1.0), "pure", PureEvent(epsilon=0.125), 8),
        (ApproxDP(epsilon=1.0, delta=0.0), "pure", PureEvent(epsilon=0.125), 8),
        (ApproxDP(epsilon=1.0, delta=4e-7), "pure", ApproxEvent(epsilon=0.01, delta=1e-7), 4),
        (ZCDP(rho=0.5), "zcdp", GaussianEvent(ratio=0.25), 16),
        (GDP(mu=1.0), "gdp", GaussianEvent(ratio=0.25), 16),
    ],
)
def test_a_filter_admits_exactly_what_fits(budget, accountant, event, expected):
    spent, charged = fill(dpkit.privacy_filter(budget, accountant), event)
    assert charged == expected
    with pytest.raises(dpkit.BudgetExceededError) as caught:
        spent.charge(event)
    assert caught.value.budget == budget


@pytest.mark.parametrize("accountant", ["pure", "advanced", "zcdp", "rdp", "gdp"])
def test_what_a_filter_admitted_keeps_the_budget_under_plain_composition(accountant):
    event = GaussianEvent(ratio=0.02) if accountant == "gdp" else LaplaceEvent(ratio=0.02)
    _, charged = fill(dpkit.privacy_filter(TARGET, accountant), event)
    assert charged > 0
    assert dpkit.account(Repeat(event=event, times=charged), "best").epsilon(delta=1e-6) <= 1.0


def test_a_refused_charge_changes_nothing():
    full, _ = fill(dpkit.privacy_filter(PureDP(epsilon=1.0), "pure"), PureEvent(epsilon=0.25))
    before = full.state
    with pytest.raises(dpkit.BudgetExceededError):
        full.charge(PureEvent(epsilon=0.25))
    assert full.state == before
    assert full.admits(PureEvent(epsilon=0.0))


def test_the_zcdp_filter_sets_slack_aside_for_approximate_releases():
    without = dpkit.privacy_filter(TARGET, "zcdp")
    assert not without.admits(ApproxEvent(epsilon=0.01, delta=1e-9))
    reserved = dpkit.privacy_filter(TARGET, "zcdp", slack=1e-8)
    spent, charged = fill(reserved, ApproxEvent(epsilon=0.001, delta=1e-9))
    assert charged == 9  # ten times -ln(1 - 1e-9) is a little more than 1e-8
    total = dpkit.account(Repeat(event=ApproxEvent(epsilon=0.001, delta=1e-9), times=charged), "zcdp")
    assert total.epsilon(delta=1e-6) <= 1.0
    assert spent.theorem.limit.rho < without.theorem.limit.rho


def test_the_renyi_filter_reads_at_one_order_fixed_in_advance():
    fixed = dpkit.privacy_filter(TARGET, "rdp", order=30.0)
    assert fixed.theorem.limit.orders == (30.0,)
    chosen = dpkit.privacy_filter(TARGET, "rdp")
    _, best = fill(chosen, GaussianEvent(ratio=0.01))
    _, other = fill(fixed, GaussianEvent(ratio=0.01))
    assert best >= other > 0
    stated = dpkit.privacy_filter(RDP(orders=(8.0,), epsilons=(1.0,)), "rdp")
    assert stated.admits(GaussianEvent(ratio=0.49))
    assert not stated.admits(GaussianEvent(ratio=0.51))


@pytest.mark.parametrize(
    ("budget", "accountant"),
    [
        (TARGET, "best"),
        (TARGET, "cdp"),
        (PureDP(epsilon=1.0), "zcdp"),
        (PureDP(epsilon=1.0), "advanced"),
        (GDP(mu=1.0), "zcdp"),
        (ZCDP(rho=1.0), "pure"),
        (MeanCDP(mu=1.0, tau=1.0), "zcdp"),
        (RDP(orders=(2.0, 4.0), epsilons=(1.0, 1.0)), "rdp"),
        (ApproxDP(epsilon=1.0, delta=0.0), "zcdp"),
        (ApproxDP(epsilon=1.0, delta=0.0), "rdp"),
        (ApproxDP(epsilon=1.0, delta=0.0), "gdp"),
    ],
)
def test_what_no_theorem_covers_is_refused(budget, accountant):
    with pytest.raises(dpkit.NoFilterTheoremError) as caught:
        dpkit.privacy_filter(budget, accountant)
    assert caught.value.able == ("pure", "advanced", "zcdp", "rdp", "gdp")


def test_the_slack_bounds_the_plain_sum_of_deltas():
    _, charged = fill(
        dpkit.privacy_filter(ApproxDP(epsilon=5.0, delta=0.6), "zcdp", slack=0.5), ApproxEvent(epsilon=1e-6, delta=0.1)
    )
    assert charged == 4  # four times -ln(0.9) is 0.42; the plain sum of five would be 0.5 exactly, and rounding is safe


def test_a_query_too_large_to_be_a_number_is_not_admitted():
    for accountant in ("zcdp", "rdp", "gdp"):
        unspent = dpkit.privacy_filter(TARGET, accountant)
        assert not unspent.admits(GaussianEvent(ratio=1e200))


@pytest.mark.parametrize("accountant", ["pure", "advanced", "zcdp", "rdp", "gdp"])
def test_every_filter_cites_its_theorem(accountant):
    assert dpkit.privacy_filter(TARGET, accountant).because.key in {"RRUV16", "WRRW23", "FZ21", "ST22"}


def test_the_pure_odometer_is_the_running_sum():
    odometer = dpkit.privacy_odometer("pure")
    assert odometer.epsilon == 0.0
    odometer = odometer.charge(PureEvent(epsilon=0.5)).charge([LaplaceEvent(ratio=0.25)] * 2)
    assert odometer.epsilon == 1.0
    with pytest.raises(dpkit.BudgetExceededError, match="slack"):
        odometer.charge(ApproxEvent(epsilon=0.1, delta=1e-9))


def test_the_renyi_odometer_pays_for_being_read_at_any_time():
    odometer = dpkit.privacy_odometer("rdp", delta=1e-6, slack=1e-8)
    assert odometer.epsilon == 0.0
    readings = []
    for step in range(1, 51):
        odometer = odometer.charge(GaussianEvent(ratio=0.1))
        readings.append(odometer.epsilon)
        planned = dpkit.account(Repeat(event=GaussianEvent(ratio=0.1), times=step), "rdp").epsilon(delta=1e-6)
        assert planned < odometer.epsilon < 2.0 * planned
    assert readings == sorted(readings)
    assert math.isfinite(odometer.charge(ApproxEvent(epsilon=0.1, delta=5e-9)).epsilon)
    with pytest.raises(dpkit.BudgetExceededError):
        odometer.charge(ApproxEvent(epsilon=0.1, delta=2e-8))


def test_an_odometer_without_a_theorem_or_a_delta_is_refused():
    with pytest.raises(dpkit.NoFilterTheoremError):
        dpkit.privacy_odometer("zcdp", delta=1e-6)
    with pytest.raises(dpkit.InvalidValueError, match="delta"):
        dpkit.privacy_odometer("rdp")
