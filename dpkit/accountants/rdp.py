"""`rdp`: Rényi DP. Curves add at every order; read at the order that is best, found among all reals, not on a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpkit.contracts.accountant import Accountant, Reading, normalised
from dpkit.errors import LossOverflowError, UnpricedLossError
from dpkit.numerics.rounding import exact_sum
from dpkit.numerics.special import Array
from dpkit.pricing.filters import FilterTheorem
from dpkit.privacy.checks import finite_number, probability_below_one
from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.conversions import arrows_to, epsilon_at_order, gaussian_order, renyi_delta, renyi_epsilon
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
from dpkit.privacy.losses import RDP, ZCDP, ApproxDP, Loss, MaxCurve, MinCurve, RenyiCurve, SumCurve
from dpkit.values import dataclass

_OPTIMAL = Citation(key="CKS20", locator="Proposition 12, over all orders")

_FILTER = Citation(key="FZ21", locator="the Rényi filter, at one order fixed in advance")

_PROBES: Array = 1.0 + np.geomspace(1e-3, 1e6, 19)
"""Orders at which two proofs of one event are compared; which proof is kept affects tightness only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiState:
    """A curve, and the sum of -ln(1 - delta) over the slacks."""

    curve: RenyiCurve
    log_slack: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiAccountant(Accountant[RenyiState]):
    """Rényi DP (Mironov 2017) with approximate losses as a slack (BS16, section 8)."""

    name: ClassVar[str] = "rdp"
    native: ClassVar[type[Loss]] = RenyiCurve
    conversions: ClassVar[Mapping[type[Loss], Conversion]] = arrows_to(RenyiCurve)

    def zero(self) -> RenyiState:
        """Nothing spent."""
        return RenyiState(curve=SumCurve(), log_slack=Fraction(0))

    def lift(self, loss: Loss) -> RenyiState:
        """The curve of the loss, its slack apart."""
        if isinstance(loss, RDP):
            return self.state_of(loss)
        slack = loss.delta if isinstance(loss, ApproxDP | ZCDP) else 0.0
        return replace(self.state_of(self.converted(loss)), log_slack=log_slack(slack))

    def state_of(self, loss: Loss) -> RenyiState:
        """One curve, its slack apart."""
        if isinstance(loss, RDP) and loss.delta:
            return replace(self.state_of(replace(loss, delta=0.0)), log_slack=log_slack(loss.delta))
        if not isinstance(loss, RenyiCurve):
            raise UnpricedLossError(loss=loss, accountant=self.name, reason=self.refusal(loss))
        return RenyiState(curve=SumCurve(terms=((loss, 1),)), log_slack=Fraction(0))

    def combine(self, *states: RenyiState) -> RenyiState:
        """Curves add (Mironov 2017, Proposition 1), slacks combine (BS16, Lemma 8.2)."""
        return RenyiState(
            curve=SumCurve(terms=tuple((state.curve, 1) for state in states)),
            log_slack=exact_sum((state.log_slack, 1) for state in states),
        )

    def repeat(self, state: RenyiState, times: int) -> RenyiState:
        """A multiple of the curve."""
        return RenyiState(curve=SumCurve(terms=((state.curve, times),)), log_slack=state.log_slack * times)

    def join(self, *states: RenyiState) -> RenyiState:
        """The pointwise maximum."""
        if not states:
            return self.zero()
        curve = MaxCurve(curves=tuple(state.curve for state in states))
        return RenyiState(
            curve=_sum_of(curve.curves[0] if len(curve.curves) == 1 else curve),
            log_slack=max(state.log_slack for state in states),
        )

    def best(self, *states: RenyiState) -> RenyiState:
        """The smallest slack first; among those the pointwise minimum, less the curves that others undercut everywhere."""
        slack = min(state.log_slack for state in states)
        curves = list(dict.fromkeys(state.curve for state in states if state.log_slack == slack))
        if len(curves) > 1:
            curves = _undominated(curves)
        curve = curves[0] if len(curves) == 1 else _sum_of(MinCurve(curves=tuple(curves)))
        return RenyiState(curve=curve, log_slack=slack)

    def reading(self, state: RenyiState, *, delta: float) -> Reading:
        """The optimal conversion at what the slack leaves of delta."""
        left = delta_left(delta, slack_total(state.log_slack))
        if left < 0.0:
            return Reading(epsilon=math.inf, because=_OPTIMAL, note="delta is below the slack")
        epsilon, order = renyi_epsilon(state.curve, delta=left)
        return Reading(epsilon=epsilon, because=_OPTIMAL, note=f"order {order:.6g}")

    def delta(self, state: RenyiState, *, epsilon: float) -> float:
        """The same theorem solved for delta, with the slack on top."""
        return delta_with(renyi_delta(state.curve, epsilon=epsilon)[0], slack_total(state.log_slack))

    def filter_theorem(self, budget: Loss, *, slack: float, order: float | None) -> FilterTheorem | None:
        """Stop when the sum at the one order would pass its bound.

        An (epsilon, delta) budget is read at `order`; where none is given, at the order that would be best if all of it
        were spent on Gaussian noise.
        """
        if isinstance(budget, RDP):
            return FilterTheorem(accountant=self, limit=budget, because=_FILTER) if len(budget.orders) == 1 else None
        if not isinstance(budget, ApproxDP):
            return None
        reserved = probability_below_one(slack, field="slack", where="filter")
        left = delta_left(budget.delta, reserved)
        if left <= 0.0:
            return None
        fixed = gaussian_order(budget.epsilon, left) if order is None else order
        finite_number(fixed, field="order", where="filter", minimum=1.0, strict=True)
        limit = epsilon_at_order(fixed, epsilon=budget.epsilon, delta=left)
        if limit is None:
            return None
        rdp = RDP(orders=(fixed,), epsilons=(limit,), delta=slack_limit(reserved))
        return FilterTheorem(accountant=self, limit=rdp, because=_FILTER)

    def gauge(self, limit: Loss) -> Gauge | None:
        """The divergence at the filter's one order, and the sum of log slacks."""
        if not isinstance(limit, RDP) or len(limit.orders) != 1:
            return None
        order = limit.orders[0]
        return Gauge(
            names=(f"divergence at order {order:.6g}", "log slack"),
            limits=(Fraction(limit.epsilons[0]), log_slack_limit(limit.delta)),
            measure=lambda state: (self._exactly_at(state, order), state.log_slack),
            loss=lambda amounts, up: RDP(orders=(order,), epsilons=(shown(amounts[0], up),), delta=shown_slack(amounts[1], up)),
        )

    def _exactly_at(self, state: RenyiState, order: float) -> Fraction:
        """An upper bound of the divergence, which is a float: sums of such bounds bound the sum."""
        value = self._at(state, order)
        if not math.isfinite(value):
            raise LossOverflowError(notion=f"divergence at order {order:.6g}")
        return Fraction(value)

    def within(self, state: RenyiState, budget: Loss) -> bool:
        """A Rényi budget is met order by order, its slack apart."""
        if not isinstance(budget, RDP):
            return super().within(state, budget)
        values = state.curve.at(np.array(budget.orders))
        return slack_total(state.log_slack) <= budget.delta and bool(np.all(values <= np.array(budget.epsilons)))

    def weight(self, state: RenyiState, total: RenyiState, *, delta: float) -> float:
        """The divergence at the order that the total is read at."""
        return self._at(state, self._order(total, delta))

    def shares(self, states: Sequence[RenyiState], total: RenyiState, *, delta: float) -> list[float]:
        """As `weight`, with the order found once."""
        order = self._order(total, delta)
        return normalised([self._at(state, order) for state in states])

    def _order(self, total: RenyiState, delta: float) -> float:
        left = delta_left(delta, slack_total(total.log_slack))
        order = renyi_epsilon(total.curve, delta=left)[1] if left > 0.0 else 2.0
        return order if math.isfinite(order) else 2.0

    def _at(self, state: RenyiState, order: float) -> float:
        return float(state.curve.at(np.array([order]))[0])

    def total(self, state: RenyiState) -> Loss | None:
        """The curve, where there is no slack."""
        return state.curve if state.log_slack == 0 else None


def _sum_of(curve: RenyiCurve) -> SumCurve:
    return curve if isinstance(curve, SumCurve) else SumCurve(terms=((curve, 1),))


def _undominated(curves: Sequence[RenyiCurve]) -> list[RenyiCurve]:
    values = [curve.at(_PROBES) for curve in curves]
    kept: list[int] = []
    for i, mine in enumerate(values):
        beaten = any(
            np.all(theirs <= mine * (1.0 + 1e-12)) and (j < i or not np.all(mine <= theirs * (1.0 + 1e-12)))
            for j, theirs in enumerate(values)
            if j != i
        )
        if not beaten:
            kept.append(i)
    return [curves[i] for i in kept] or [curves[0]]
