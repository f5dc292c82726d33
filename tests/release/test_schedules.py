"""How a budget is divided: shares, schedules, and noise that is solved to meet the budget."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from release.algorithms import Averaging

import dpkit
from dpkit.data.setting import DeclaredSetting
from dpkit.release.schedules import combined_plan, schedule_weights, share_weights, solve_noise

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))
SETTING = DeclaredSetting(schema=SCHEMA)
BUDGET = dpkit.ApproxDP(epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "pld", "best"])
def test_the_noise_meets_the_budget_under_each_accountant(accountant):
    algorithms = [Averaging(SETTING, passes=3), Averaging(SETTING, passes=1)]
    noises, guarantee = solve_noise(algorithms, BUDGET, accountant=accountant, shares=(3.0, 1.0))
    assert guarantee.epsilon(delta=1e-6) <= 1.0
    assert guarantee.epsilon(delta=1e-6) > 1.0 - 1e-6
    assert noises[1] / noises[0] == pytest.approx(3.0**0.5)


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=6))
def test_shares_are_shares_of_rho(shares):
    weights = share_weights(shares)
    costs = [1.0 / weight**2 for weight in weights]
    assert costs == pytest.approx([share * len(shares) / sum(shares) for share in shares])


def test_schedules():
    assert schedule_weights("equal", 3) == (1.0, 1.0, 1.0)
    falling = schedule_weights("geometric", 4, ratio=1.5)
    assert [one / other for one, other in pairwise(falling)] == pytest.approx([1.5] * 3)
    assert schedule_weights([1.0, 4.0], 2)[0] == pytest.approx(2.0 * schedule_weights([1.0, 4.0], 2)[1])
    for wrong in ("linear", [1.0], [1.0, -1.0]):
        with pytest.raises(dpkit.InvalidValueError):
            schedule_weights(wrong, 2)


def test_more_noise_never_costs_more():
    plans = [combined_plan([Averaging(SETTING)], (1.0,), noise) for noise in (0.5, 1.0, 2.0, 4.0)]
    prices = [dpkit.account(plan).epsilon(delta=1e-6) for plan in plans]
    assert prices == sorted(prices, reverse=True)
    assert replace(SETTING, rows=7).size == 7
