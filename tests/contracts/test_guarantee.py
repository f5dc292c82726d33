"""A guarantee is read against budgets of every notion, printed on the safe side, and survives pickling."""

import pickle

import pytest

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
    UnpricedEventError,
)


def test_accountants_without_a_lower_bound_say_so():
    with pytest.raises(dpkit.NoIntervalError, match="upper bound"):
        dpkit.account(LaplaceEvent(ratio=0.5), "zcdp").interval(delta=1e-6)


@pytest.mark.parametrize(
    ("accountant", "event", "budget", "kept"),
    [
        ("zcdp", GaussianEvent(ratio=1.0), ZCDP(rho=0.5), True),
        ("zcdp", GaussianEvent(ratio=1.0), ZCDP(rho=0.49), False),
        ("gdp", GaussianEvent(ratio=1.0), ZCDP(rho=0.5), True),
        ("gdp", GaussianEvent(ratio=1.0), GDP(mu=1.0), True),
        ("gdp", GaussianEvent(ratio=1.0), GDP(mu=0.99), False),
        ("rdp", GaussianEvent(ratio=1.0), RDP(orders=(2.0, 4.0), epsilons=(1.001, 2.001)), True),
        ("rdp", GaussianEvent(ratio=1.0), RDP(orders=(2.0, 4.0), epsilons=(1.001, 1.9)), False),
        ("rdp", ApproxEvent(epsilon=0.1, delta=1e-6), RDP(orders=(2.0,), epsilons=(1.0,), delta=2e-6), True),
        ("rdp", ApproxEvent(epsilon=0.1, delta=1e-6), RDP(orders=(2.0,), epsilons=(1.0,), delta=1e-7), False),
        ("pure", ApproxEvent(epsilon=0.1, delta=0.5), RDP(orders=(2.0,), epsilons=(0.2,)), False),
        ("pure", ApproxEvent(epsilon=0.1, delta=0.5), RDP(orders=(2.0,), epsilons=(0.2,), delta=0.5), True),
        ("advanced", ApproxEvent(epsilon=0.1, delta=0.5), RDP(orders=(2.0,), epsilons=(0.2,)), False),
        ("best", ApproxEvent(epsilon=0.1, delta=0.5), RDP(orders=(2.0,), epsilons=(0.2,)), False),
        ("zcdp", ApproxEvent(epsilon=0.1, delta=0.5), ZCDP(rho=1.0), False),
        ("cdp", GaussianEvent(ratio=1.0), MeanCDP(mu=0.5, tau=1.0), True),
        ("cdp", GaussianEvent(ratio=1.0), MeanCDP(mu=0.5, tau=0.9), False),
        ("pure", PureEvent(epsilon=1.0), ZCDP(rho=0.4622), True),
        ("pure", PureEvent(epsilon=1.0), ZCDP(rho=0.4621), False),
        ("pure", PureEvent(epsilon=1.0), MeanCDP(mu=0.4622, tau=1.0), True),
        ("zcdp", PureEvent(epsilon=1.0), RDP(orders=(2.0,), epsilons=(0.9243,)), True),
        ("best", PureEvent(epsilon=1.0), PureDP(epsilon=1.0), True),
        ("best", GaussianEvent(ratio=1.0), ZCDP(rho=0.5), True),
        ("best", GaussianEvent(ratio=1.0), ApproxDP(epsilon=0.1, delta=1e-6), False),
    ],
)
def test_budgets_of_every_notion_are_understood(accountant, event, budget, kept):
    assert dpkit.account(event, accountant).within(budget) is kept


def test_a_budget_that_cannot_be_read_is_refused():
    with pytest.raises(dpkit.InvalidValueError, match="can be read in"):
        dpkit.account(GaussianEvent(ratio=1.0), "zcdp").within(MeanCDP(mu=0.1, tau=1.0))


@pytest.mark.parametrize("epsilon", [0.18289537719, 1e-3 / 3, 123456.789, 0.1])
def test_what_is_printed_is_never_below_the_bound(epsilon):
    guarantee = dpkit.account(PureEvent(epsilon=epsilon), "pure")
    assert float(str(guarantee).split(",")[0].strip("(")) >= epsilon


def test_errors_and_guarantees_survive_pickling():
    guarantee = dpkit.account([LaplaceEvent(ratio=0.5), GaussianEvent(ratio=0.5)], "best")
    again = pickle.loads(pickle.dumps(guarantee))
    assert again == guarantee
    assert again.epsilon(delta=1e-6) == guarantee.epsilon(delta=1e-6)
    with pytest.raises(UnpricedEventError) as caught:
        dpkit.account(LaplaceEvent(ratio=0.5), "gdp")
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value)
    assert error.able == caught.value.able
