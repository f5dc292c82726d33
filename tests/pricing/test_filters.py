"""Filters keep a fixed budget under adaptive queries, by the theorems that allow them; the rest is refused."""

from fractions import Fraction

import pytest
from pricing.filling import admitted, fill

import dpkit
from dpkit import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxEvent,
    GaussianEvent,
    LaplaceEvent,
    MeanCDP,
    PureDP,
    PureEvent,
    Repeat,
    account,
    privacy_filter,
)
from dpkit.privacy.gaussian_dp import gaussian_delta

TARGET = ApproxDP(epsilon=1.0, delta=1e-6)


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


def test_a_query_too_large_to_be_a_number_is_not_admitted():
    for accountant in ("zcdp", "rdp", "gdp"):
        unspent = dpkit.privacy_filter(TARGET, accountant)
        assert not unspent.admits(GaussianEvent(ratio=1e200))


@pytest.mark.parametrize("accountant", ["pure", "advanced", "zcdp", "rdp", "gdp"])
def test_every_filter_cites_its_theorem(accountant):
    assert dpkit.privacy_filter(TARGET, accountant).because.key in {"RRUV16", "WRRW23", "FZ21", "ST22"}


BUDGETS = [(0.1, 1e-12), (1.0, 1e-6), (8.0, 1e-3), (1.0, 1e-300)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("accountant", ["zcdp", "rdp"])
def test_concentrated_filters_stay_within_the_budget_when_all_is_spent(epsilon: float, delta: float, accountant: str) -> None:
    opened = privacy_filter(ApproxDP(epsilon=epsilon, delta=delta), accountant)
    event = GaussianEvent(ratio=1e-3)
    count = admitted(opened, event)
    spent = account(Repeat(event=event, times=count), accountant)
    assert spent.epsilon(delta=delta) <= epsilon
    assert gaussian_delta(1e-3 * count**0.5, epsilon=epsilon) <= delta


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
