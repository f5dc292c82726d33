"""`account` and `privacy_filter` refuse arguments that mean nothing, and names that nobody has."""

import pytest

import dpkit
from dpkit import GDP, ZCDP, Parallel, PureDP, PureEvent, Repeat


def test_an_unknown_accountant_is_answered_with_the_nearest_name():
    with pytest.raises(dpkit.UnknownNameError, match="Did you mean 'zcdp'") as caught:
        dpkit.account(PureEvent(epsilon=1.0), "zdcp")
    assert "best" in caught.value.known


@pytest.mark.parametrize(
    "call",
    [
        lambda: dpkit.account(PureEvent(epsilon=1.0), None),
        lambda: dpkit.account(PureEvent(epsilon=1.0), 3),
        lambda: dpkit.account(PureEvent(epsilon=1.0), "pure", "add-remove"),
        lambda: dpkit.account(Parallel(events=()), "pure", "foo"),
        lambda: dpkit.account(PureEvent(epsilon=1.0), "pure", accept="laplace-pure"),
        lambda: dpkit.account(Repeat(event=PureEvent(epsilon=1e-9), times=10**400), "rdp"),
        lambda: dpkit.privacy_filter(PureDP(epsilon=1.0), "pure", "add-remove"),
        lambda: dpkit.privacy_filter(PureDP(epsilon=1.0), "pure", slack=0.5),
        lambda: dpkit.privacy_filter(GDP(mu=1.0), "gdp", slack=-5),
        lambda: dpkit.privacy_filter(ZCDP(rho=1.0), "zcdp", order=5),
    ],
)
def test_arguments_that_mean_nothing_are_refused(call):
    with pytest.raises(dpkit.InvalidValueError):
        call()


def test_a_misspelt_acceptance_is_not_ignored():
    with pytest.raises(dpkit.UnknownNameError, match="laplace-pure"):
        dpkit.account(PureEvent(epsilon=1.0), "pure", accept=["laplace-pur"])


def left_out_of_a_ledger(folder):
    """The budgets, as whole plans, that a ledger of just that budget refuses."""
    found = []
    for accountant in ("zcdp", "gdp"):
        for epsilon in (0.1, 0.3, 0.7, 1.0, 2.0, 8.0):
            budget = dpkit.ApproxDP(epsilon=epsilon, delta=1e-6)
            scale = dpkit.calibrate(lambda s: dpkit.Gaussian(scale=s).event(at=dpkit.l2(1.0)), budget, accountant)
            path = folder / f"{accountant}-{epsilon}.ledger"
            with dpkit.Ledger.create(path, budget=budget, dataset="d", accountant=accountant) as ledger:
                try:
                    ledger.reserve("whole", dpkit.Gaussian(scale=scale).event(at=dpkit.l2(1.0)))
                except dpkit.BudgetExceededError:
                    found.append((accountant, epsilon))
    return found


def test_a_plan_of_a_whole_budget_fits_into_a_ledger_of_that_budget(tmp_path):
    assert left_out_of_a_ledger(tmp_path) == []
