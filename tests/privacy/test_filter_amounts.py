"""Gauges count exactly: what they let through is within the filter's limit, and what they show is on the safe side."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit import GDP, RDP, ZCDP, ApproxDP, ApproxEvent, GaussianEvent, LaplaceEvent, PureDP, PureEvent
from dpkit.numerics.rounding import sqrt_down, sqrt_up
from dpkit.pricing.filters import Filtering
from dpkit.privacy.filter_amounts import Gauging, larger, minus, plus, within
from dpkit.testing.strategies import examples

CASES = [
    (PureDP(epsilon=1.0), "pure", 0.0),
    (ApproxDP(epsilon=1.0, delta=1e-6), "pure", 0.0),
    (ApproxDP(epsilon=1.0, delta=1e-6), "advanced", 1e-7),
    (ZCDP(rho=0.1, delta=1e-7), "zcdp", 0.0),
    (ApproxDP(epsilon=1.0, delta=1e-6), "zcdp", 1e-7),
    (ApproxDP(epsilon=1.0, delta=1e-6), "rdp", 1e-7),
    (GDP(mu=0.3), "gdp", 0.0),
]


def opened(budget, accountant, slack):
    filter_ = dpkit.privacy_filter(budget, accountant, slack=slack)
    return filter_, filter_.theorem.accountant.gauge(filter_.theorem.limit)


@st.composite
def releases(draw, accountant):
    ratio = draw(st.floats(1e-3, 0.2))
    if accountant == "gdp":
        return GaussianEvent(ratio=ratio)
    kinds = [
        LaplaceEvent(ratio=ratio),
        PureEvent(epsilon=ratio),
        ApproxEvent(epsilon=ratio, delta=draw(st.sampled_from([1e-9, 3e-8]))),
    ]
    if accountant in ("zcdp", "rdp"):
        kinds.append(GaussianEvent(ratio=ratio))
    return draw(st.sampled_from(kinds))


@pytest.mark.parametrize(("budget", "accountant", "slack"), CASES, ids=str)
def test_what_a_gauge_lets_through_the_filter_lets_through(budget, accountant, slack):
    unspent, gauge = opened(budget, accountant, slack)

    @examples(40)
    @given(st.lists(releases(accountant), max_size=30))
    def law(events):
        total, filter_ = gauge.zero, unspent
        for event in events:
            price = gauge.measure(dpkit.account(event, filter_.theorem.accountant).state)
            if gauge.fits(plus(total, price)):
                total, filter_ = plus(total, price), filter_.charge(event)
        assert filter_.theorem.accountant.within(filter_.state, filter_.theorem.limit)
        spent, left = gauge.spent(total), gauge.remaining(total)
        for name in ("epsilon", "rho", "mu"):
            if hasattr(spent, name):
                assert getattr(spent, name) <= getattr(filter_.theorem.limit, name)
                assert getattr(left, name) <= getattr(filter_.theorem.limit, name)

    law()


def test_a_gauge_counts_exactly_what_fits():
    _, gauge = opened(ZCDP(rho=0.5), "zcdp", 0.0)
    price = gauge.measure(dpkit.account(GaussianEvent(ratio=0.25), "zcdp").state)
    assert gauge.fits(plus(*[price] * 16))
    assert not gauge.fits(plus(*[price] * 16, (Fraction(1, 2**1074), Fraction(0))))
    assert gauge.remaining(plus(*[price] * 15)) == ZCDP(rho=1 / 32)
    assert gauge.remaining(plus(*[price] * 16)) == ZCDP(rho=0.0)


def test_the_renyi_gauge_refuses_what_is_no_number():
    _, gauge = opened(RDP(orders=(8.0,), epsilons=(1.0,)), "rdp", 0.0)
    unknown_there = dpkit.account(GaussianEvent(ratio=1e154), "rdp").state
    with pytest.raises(dpkit.LossOverflowError):
        gauge.measure(unknown_there)


def test_accountants_without_a_filter_have_no_gauge():
    for name in ("cdp", "pld", "best"):
        assert not isinstance(dpkit.default_registry().accountant(name), Filtering | Gauging)


def test_amounts_are_compared_one_by_one():
    one, other = (Fraction(1), Fraction(3)), (Fraction(2), Fraction(2))
    assert larger(one, other) == (2, 3)
    assert minus(one, other) == (-1, 1)
    assert not within(one, other)
    assert within(one, larger(one, other))


@given(st.fractions(min_value=0, max_value=10**6))
def test_square_roots_are_rounded_to_the_side_asked_for(square):
    low, high = sqrt_down(square), sqrt_up(square)
    assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2
