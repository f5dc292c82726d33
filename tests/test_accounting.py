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
