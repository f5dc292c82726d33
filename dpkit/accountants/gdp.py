"""`gdp`: Gaussian DP. Squares of mu add, and the reading is exact: for Gaussian releases nothing is tighter."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from dpkit.accountants.sum_accountant import SumAccountant
from dpkit.contracts.accountant import Reading
from dpkit.numerics.rounding import format_up, sqrt_down, sqrt_up
from dpkit.pricing.filters import FilterTheorem, largest_parameter, refuse_options
from dpkit.privacy.claims import Citation
from dpkit.privacy.filter_amounts import Gauge
from dpkit.privacy.gaussian_dp import gaussian_delta, gaussian_epsilon
from dpkit.privacy.losses import GDP, ApproxDP, Loss
from dpkit.values import dataclass

_FILTER = Citation(key="ST22", locator="fully adaptive composition for Gaussian DP")
_PROFILE = Citation(key="DRS22", locator="Corollary 1 (the profile of BW18, Theorem 5)")


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianState:
    """The exact sum of squares of mu."""

    mu_squared: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDPAccountant(SumAccountant[GaussianState]):
    """Gaussian DP (DRS22, Corollary 2): composition is one Gaussian."""

    name: ClassVar[str] = "gdp"
    native: ClassVar[type[Loss]] = GDP
    state: ClassVar[Any] = GaussianState
    refuses: ClassVar[str] = (
        "it is exact for Gaussian-like releases alone, and a {} loss is not one. "
        "Use zcdp, rdp or best for a mixture, or Gaussian noise for this release."
    )

    def state_of(self, loss: Loss) -> GaussianState:
        """The square of mu, exactly."""
        loss = self.native_loss(loss, GDP)
        return GaussianState(mu_squared=Fraction(loss.mu) ** 2)

    def reading(self, state: GaussianState, *, delta: float) -> Reading:
        """The exact profile, inverted."""
        mu = sqrt_up(state.mu_squared)
        epsilon = math.inf if math.isinf(mu) else gaussian_epsilon(mu, delta=delta)
        return Reading(epsilon=epsilon, because=_PROFILE, note=f"mu = {format_up(mu)}")

    def delta(self, state: GaussianState, *, epsilon: float) -> float:
        """The exact profile."""
        mu = sqrt_up(state.mu_squared)
        return 1.0 if math.isinf(mu) else gaussian_delta(mu, epsilon=epsilon)

    def filter_theorem(self, budget: Loss, *, slack: float, order: float | None) -> FilterTheorem | None:
        """Stop when the sum of squares would pass mu^2; an (epsilon, delta) budget fixes mu in advance."""
        refuse_options(self.name, slack=slack, order=order)
        if isinstance(budget, GDP):
            return FilterTheorem(accountant=self, limit=budget, because=_FILTER)
        if not isinstance(budget, ApproxDP):
            return None
        mu = _largest_mu(budget)
        return None if mu is None else FilterTheorem(accountant=self, limit=GDP(mu=mu), because=_FILTER)

    def gauge(self, limit: Loss) -> Gauge | None:
        """The square of mu."""
        if not isinstance(limit, GDP):
            return None
        return Gauge(
            names=("mu squared",),
            limits=(Fraction(limit.mu) ** 2,),
            measure=lambda state: (state.mu_squared,),
            loss=lambda amounts, up: GDP(mu=sqrt_up(amounts[0]) if up else sqrt_down(amounts[0])),
        )

    def total(self, state: GaussianState) -> Loss | None:
        """Mu, rounded up."""
        mu = sqrt_up(state.mu_squared)
        return None if math.isinf(mu) else GDP(mu=mu)


@lru_cache(maxsize=256)
def _largest_mu(budget: ApproxDP) -> float | None:
    """The mu that a filter of this budget grants: a ledger is opened several times in a run, and asks each time."""
    return largest_parameter(lambda mu: gaussian_epsilon(mu, delta=budget.delta), epsilon=budget.epsilon)
