"""Odometers: never below plain composition, and refused where no theorem covers them."""

import math
from fractions import Fraction

import pytest

import dpkit
from dpkit import ApproxEvent, Event, GaussianEvent, LaplaceEvent, PureEvent, Repeat, ZCDPEvent, account, privacy_odometer


@pytest.mark.parametrize("event", [LaplaceEvent(ratio=0.05), GaussianEvent(ratio=0.05), ZCDPEvent(rho=1e-3)])
@pytest.mark.parametrize("times", [1, 10, 10_000])
@pytest.mark.parametrize("delta", [1e-12, 1e-3])
def test_an_odometer_never_reads_less_than_plain_composition(event: Event, times: int, delta: float) -> None:
    charged = privacy_odometer("rdp", delta=delta).charge(Repeat(event=event, times=times))
    assert charged.epsilon >= account(Repeat(event=event, times=times), "best").epsilon(delta=delta)
    assert charged.charge(event).epsilon >= charged.epsilon


def test_a_pure_odometer_is_the_exact_sum() -> None:
    odometer = privacy_odometer("pure")
    for _ in range(10):
        odometer = odometer.charge(PureEvent(epsilon=0.1))
    assert Fraction(odometer.epsilon) >= 10 * Fraction(0.1)
    assert odometer.epsilon == pytest.approx(1.0, rel=1e-15)


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
