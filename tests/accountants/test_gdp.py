"""`gdp`: its filter spends the Gaussian profile and no more, and what is not Gaussian is refused with advice."""

from fractions import Fraction

import pytest
from pricing.filling import admitted

import dpkit
from dpkit import GDP, ApproxDP, GaussianEvent, LaplaceEvent, UnpricedEventError, privacy_filter
from dpkit.privacy.gaussian_dp import gaussian_delta

BUDGETS = [(0.1, 1e-12), (1.0, 1e-6), (8.0, 1e-3), (1.0, 1e-300)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_gaussian_filter_spends_the_profile_and_no_more(epsilon: float, delta: float) -> None:
    opened = privacy_filter(ApproxDP(epsilon=epsilon, delta=delta), "gdp")
    limit = opened.theorem.limit
    assert isinstance(limit, GDP)
    assert gaussian_delta(limit.mu, epsilon=epsilon) <= delta
    assert gaussian_delta(limit.mu * (1 + 1e-9), epsilon=epsilon) > delta
    count = admitted(opened, GaussianEvent(ratio=1e-3))
    assert count * Fraction(1e-3) ** 2 <= Fraction(limit.mu) ** 2 < (count + 1) * Fraction(1e-3) ** 2


def test_gaussian_accounting_refuses_what_is_not_gaussian_with_advice():
    with pytest.raises(UnpricedEventError, match="Use zcdp, rdp or best") as caught:
        dpkit.account(LaplaceEvent(ratio=1.0), "gdp")
    assert "gdp" not in caught.value.able
