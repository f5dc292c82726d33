"""`pure`: basic composition. Epsilons add, deltas add; for losses that are pure or (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from dpkit.accountants.sum_accountant import SumAccountant
from dpkit.contracts.accountant import Reading
from dpkit.numerics.rounding import round_up
from dpkit.pricing.filters import FilterTheorem, refuse_options
from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.conversions import arrows_to
from dpkit.privacy.filter_amounts import Gauge, shown
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.privacy.tradeoff import gaussian_mu_of_pure, pair_profile
from dpkit.values import dataclass

_FILTER = Citation(key="RRUV16", locator="the basic-composition privacy filter")
NOT_ONE_PAIR = "a {} loss is not (epsilon, delta)-DP for one fixed pair; use zcdp, rdp or best."
_BASIC = Citation(key="DR14", locator="Theorem 3.16, basic composition")


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicState:
    """The exact sums of epsilon and of delta."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class PureAccountant(SumAccountant[BasicState]):
    """Basic composition, in exact arithmetic, rounded up when it is read."""

    name: ClassVar[str] = "pure"
    native: ClassVar[type[Loss]] = ApproxDP
    state: ClassVar[Any] = BasicState
    conversions: ClassVar[Mapping[type[Loss], Conversion]] = arrows_to(ApproxDP)
    refuses: ClassVar[str] = NOT_ONE_PAIR

    def state_of(self, loss: Loss) -> BasicState:
        """The pair, exactly."""
        loss = self.native_loss(loss, ApproxDP)
        return BasicState(epsilon=Fraction(loss.epsilon), delta=Fraction(loss.delta))

    def reading(self, state: BasicState, *, delta: float) -> Reading:
        """The sum of epsilons, provided that delta covers the sum of deltas."""
        covered = state.delta <= Fraction(delta)
        return Reading(epsilon=round_up(state.epsilon) if covered else math.inf, because=_BASIC)

    def delta(self, state: BasicState, *, epsilon: float) -> float:
        """The sum of deltas from the sum of epsilons on; nothing below."""
        return min(1.0, round_up(state.delta)) if Fraction(epsilon) >= state.epsilon else 1.0

    def profiles(self, state: BasicState) -> tuple[Callable[[float], float], ...]:
        """What the one pair says of every epsilon."""
        epsilon, delta = round_up(state.epsilon), min(1.0, round_up(state.delta))
        return (partial(pair_profile, epsilon, delta),)

    def gaussian_bound(self, state: BasicState) -> float:
        """That of randomised response; none with a delta."""
        return math.inf if state.delta else gaussian_mu_of_pure(round_up(state.epsilon))

    def filter_theorem(self, budget: Loss, *, slack: float, order: float | None) -> FilterTheorem | None:
        """Stop when a sum would pass its bound: the budget is the limit. Deltas are counted in it, so there is no slack."""
        refuse_options(self.name, slack=slack, order=order)
        if not isinstance(budget, PureDP | ApproxDP):
            return None
        return FilterTheorem(accountant=self, limit=budget, because=_FILTER)

    def gauge(self, limit: Loss) -> Gauge | None:
        """Epsilon and delta."""
        if not isinstance(limit, PureDP | ApproxDP):
            return None
        return Gauge(
            names=("epsilon", "delta"),
            limits=(Fraction(limit.epsilon), Fraction(limit.delta) if isinstance(limit, ApproxDP) else Fraction(0)),
            measure=lambda state: (state.epsilon, state.delta),
            loss=lambda amounts, up: _pair(shown(amounts[0], up), shown(amounts[1], up)),
        )

    def total(self, state: BasicState) -> Loss | None:
        """The pair, rounded up; None when a sum is no longer a loss."""
        epsilon, delta = round_up(state.epsilon), round_up(state.delta)
        if math.isinf(epsilon) or delta >= 1.0:
            return None
        return _pair(epsilon, delta)


def _pair(epsilon: float, delta: float) -> Loss:
    return ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon)
