"""`zcdp`: zero-concentrated DP. Rho adds, exactly; read by the optimal conversion, or by the simple one on request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal

from dpkit.accountants.sum_accountant import SumAccountant
from dpkit.contracts.accountant import Reading
from dpkit.numerics.rounding import format_up, round_up
from dpkit.pricing.filters import FilterTheorem, largest_parameter, refuse_options
from dpkit.privacy.checks import checked, one_of, probability_below_one
from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.conversions import arrows_to, renyi_delta, renyi_epsilon, zcdp_delta_simple, zcdp_epsilon_simple
from dpkit.privacy.filter_amounts import (
    Gauge,
    delta_left,
    delta_with,
    log_slack,
    log_slack_limit,
    shown,
    shown_slack,
    slack_limit,
    slack_total,
)
from dpkit.privacy.losses import ZCDP, ApproxDP, LinearCurve, Loss
from dpkit.privacy.tradeoff import gaussian_mu_of_zcdp
from dpkit.values import dataclass

_OPTIMAL = Citation(key="CKS20", locator="Proposition 12, over all orders")
_FILTER = Citation(key="FZ21", locator="the Rényi filter at every order; with slack WRRW23, the approximate-zCDP filter")
_SIMPLE = Citation(key="BS16", locator="Proposition 1.3")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZCDPState:
    """The exact sum of rho (BS16, Lemma 2.3), and the sum of -ln(1 - delta) over the slacks (BS16, Lemma 8.2)."""

    rho: Fraction
    log_slack: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(constants=partial(one_of, options=("tight", "usual")), conversion=partial(one_of, options=("optimal", "simple")))
class ZCDPAccountant(SumAccountant[ZCDPState]):
    """zCDP (BS16). `constants`: for pure losses, the tight e tanh(e/2) or the usual e^2/2. `conversion`: the reading."""

    name: ClassVar[str] = "zcdp"
    native: ClassVar[type[Loss]] = ZCDP
    state: ClassVar[Any] = ZCDPState
    refuses: ClassVar[str] = "a {} gives no rho that holds at every order; use the accountant rdp."

    constants: Literal["tight", "usual"] = "tight"
    conversion: Literal["optimal", "simple"] = "optimal"

    @property
    def conversions(self) -> Mapping[type[Loss], Conversion]:
        """Pure, approximate, mean-concentrated and Gaussian losses."""
        return arrows_to(ZCDP, usual=self.constants == "usual")

    def state_of(self, loss: Loss) -> ZCDPState:
        """Rho, exactly."""
        loss = self.native_loss(loss, ZCDP)
        return ZCDPState(rho=Fraction(loss.rho), log_slack=log_slack(loss.delta))

    def reading(self, state: ZCDPState, *, delta: float) -> Reading:
        """Optimal or simple conversion at what the slack leaves of delta."""
        because = _OPTIMAL if self.conversion == "optimal" else _SIMPLE
        left = delta_left(delta, slack_total(state.log_slack))
        rho = round_up(state.rho)
        if left < 0.0 or math.isinf(rho):
            return Reading(epsilon=math.inf, because=because)
        if self.conversion == "simple":
            return Reading(epsilon=zcdp_epsilon_simple(rho, delta=left), because=because)
        epsilon, order = renyi_epsilon(LinearCurve(slope=rho), delta=left)
        return Reading(epsilon=epsilon, because=because, note=f"rho = {format_up(rho)}, order {order:.6g}")

    def delta(self, state: ZCDPState, *, epsilon: float) -> float:
        """The same theorem, solved for delta, with the slack on top."""
        slack, rho = slack_total(state.log_slack), round_up(state.rho)
        if math.isinf(rho):
            return 1.0
        if self.conversion == "simple":
            return delta_with(zcdp_delta_simple(rho, epsilon=epsilon), slack)
        return delta_with(renyi_delta(LinearCurve(slope=rho), epsilon=epsilon)[0], slack)

    def gaussian_bound(self, state: ZCDPState) -> float:
        """A mu that every release of this rho is mu-GDP for; none with a slack."""
        return math.inf if state.log_slack else gaussian_mu_of_zcdp(round_up(state.rho))

    def filter_theorem(self, budget: Loss, *, slack: float, order: float | None) -> FilterTheorem | None:
        """Stop when the sum of rho, or of slack, would pass its bound; an (epsilon, delta) budget fixes rho in advance."""
        refuse_options(self.name, order=order)
        if isinstance(budget, ZCDP):
            return FilterTheorem(accountant=self, limit=budget, because=_FILTER)
        if not isinstance(budget, ApproxDP):
            return None
        reserved = probability_below_one(slack, field="slack", where="filter")
        rho = _largest_rho(self, budget, reserved)
        return (
            None
            if rho is None
            else FilterTheorem(accountant=self, limit=ZCDP(rho=rho, delta=slack_limit(reserved)), because=_FILTER)
        )

    def gauge(self, limit: Loss) -> Gauge | None:
        """Rho and the sum of log slacks."""
        if not isinstance(limit, ZCDP):
            return None
        return Gauge(
            names=("rho", "log slack"),
            limits=(Fraction(limit.rho), log_slack_limit(limit.delta)),
            measure=lambda state: (state.rho, state.log_slack),
            loss=lambda amounts, up: ZCDP(rho=shown(amounts[0], up), delta=shown_slack(amounts[1], up)),
        )

    def total(self, state: ZCDPState) -> Loss | None:
        """Rho and slack, rounded up."""
        rho, slack = round_up(state.rho), slack_total(state.log_slack)
        return None if math.isinf(rho) or slack >= 1.0 else ZCDP(rho=rho, delta=slack)


@lru_cache(maxsize=256)
def _largest_rho(accountant: ZCDPAccountant, budget: ApproxDP, slack: float) -> float | None:
    """The rho that a filter of this budget grants: a ledger is opened several times in a run, and asks each time."""

    def epsilon_of(rho: float) -> float:
        return accountant.epsilon(ZCDPState(rho=Fraction(rho), log_slack=log_slack(slack)), delta=budget.delta)

    return largest_parameter(epsilon_of, epsilon=budget.epsilon)
