"""Filters and odometers against the theorems that allow them: no more than the limit, never below plain composition."""

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from dpkit import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxEvent,
    BudgetExceededError,
    Event,
    GaussianEvent,
    LaplaceEvent,
    PrivacyFilter,
    PureDP,
    PureEvent,
    Repeat,
    ZCDPEvent,
    account,
    privacy_filter,
    privacy_odometer,
)
from dpkit.privacy.gaussian import gaussian_delta

mp.dps = 60
BUDGETS = [(0.1, 1e-12), (1.0, 1e-6), (8.0, 1e-3), (1.0, 1e-300)]


def admitted(opened: PrivacyFilter, event: Event, *, limit: int = 10**9) -> int:
    """How many times the event fits, by doubling and bisection."""
    low, high = 0, 1
    while high <= limit and opened.admits(Repeat(event=event, times=high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if opened.admits(Repeat(event=event, times=middle)) else (low, middle)
    return low


def test_a_pure_filter_admits_exactly_what_the_sum_allows() -> None:
    step = 0.1
    most = int(Fraction(1) / Fraction(step))
    assert admitted(privacy_filter(PureDP(epsilon=1.0), "pure"), PureEvent(epsilon=step)) == most
    assert Fraction(step) * most <= 1 < Fraction(step) * (most + 1)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_an_advanced_filter_keeps_within_its_inequality(epsilon: float, delta: float, step: float) -> None:
    """sqrt(2 ln(1/delta) sum e^2) + sum e^2 / 2 <= epsilon."""
    count = admitted(privacy_filter(ApproxDP(epsilon=epsilon, delta=delta), "advanced"), PureEvent(epsilon=step))

    def spent(times: int) -> mpf:
        squares = times * mpf(step) ** 2
        return mp.sqrt(-2 * mp.log(mpf(delta)) * squares) + squares / 2

    assert spent(count) <= mpf(epsilon)
    assert spent(count + 1) > mpf(epsilon) * (1 - mpf(1e-9))


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_gaussian_filter_spends_the_profile_and_no_more(epsilon: float, delta: float) -> None:
    opened = privacy_filter(ApproxDP(epsilon=epsilon, delta=delta), "gdp")
    limit = opened.theorem.limit
    assert isinstance(limit, GDP)
    assert gaussian_delta(limit.mu, epsilon=epsilon) <= delta
    assert gaussian_delta(limit.mu * (1 + 1e-9), epsilon=epsilon) > delta
    count = admitted(opened, GaussianEvent(ratio=1e-3))
    assert count * Fraction(1e-3) ** 2 <= Fraction(limit.mu) ** 2 < (count + 1) * Fraction(1e-3) ** 2


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("accountant", ["zcdp", "rdp"])
def test_concentrated_filters_stay_within_the_budget_when_all_is_spent(epsilon: float, delta: float, accountant: str) -> None:
    opened = privacy_filter(ApproxDP(epsilon=epsilon, delta=delta), accountant)
    event = GaussianEvent(ratio=1e-3)
    count = admitted(opened, event)
    spent = account(Repeat(event=event, times=count), accountant)
    assert spent.epsilon(delta=delta) <= epsilon
    assert gaussian_delta(1e-3 * count**0.5, epsilon=epsilon) <= delta


def test_a_renyi_filter_counts_at_its_one_order() -> None:
    opened = privacy_filter(RDP(orders=(8.0,), epsilons=(2.0,)), "rdp")
    count = admitted(opened, GaussianEvent(ratio=0.01))
    assert count * 8 * Fraction(0.01) ** 2 / 2 <= 2
    assert (count + 2) * 8 * Fraction(0.01) ** 2 / 2 > 2


@pytest.mark.parametrize("accountant", ["advanced", "zcdp", "rdp"])
def test_reserved_slack_bounds_the_deltas_and_lowers_the_rest(accountant: str) -> None:
    budget = ApproxDP(epsilon=1.0, delta=1e-6)
    plain, reserved = (privacy_filter(budget, accountant, slack=slack) for slack in (0.0, 5e-7))
    assert not plain.admits(ApproxEvent(epsilon=1e-3, delta=1e-12))
    assert admitted(reserved, PureEvent(epsilon=1e-3)) < admitted(plain, PureEvent(epsilon=1e-3))
    count = admitted(reserved, ApproxEvent(epsilon=1e-6, delta=1e-8))
    assert 1 - (1 - Fraction(1e-8)) ** count <= Fraction(5e-7)
    # whatever mixture fits is within the budget by plain composition too
    full = reserved.charge(Repeat(event=ApproxEvent(epsilon=1e-6, delta=1e-8), times=count))
    more = admitted(full, PureEvent(epsilon=1e-3))
    events = [
        Repeat(event=ApproxEvent(epsilon=1e-6, delta=1e-8), times=count),
        Repeat(event=PureEvent(epsilon=1e-3), times=more),
    ]
    assert account(events, "best").epsilon(delta=1e-6) <= 1.0


def test_one_step_past_the_limit_is_refused_and_charges_nothing() -> None:
    opened = privacy_filter(ZCDP(rho=1.0), "zcdp").charge(ZCDPEvent(rho=0.75))
    with pytest.raises(BudgetExceededError):
        opened.charge(ZCDPEvent(rho=0.2500000000000001))
    assert opened.charge(ZCDPEvent(rho=0.25)).state != opened.state


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
