"""`advanced`: the advanced composition theorems for pure and approximate losses; the smallest of all that are valid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from dpkit.accountants.pure import NOT_ONE_PAIR
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.contracts.accountant import Accountant, Reading
from dpkit.numerics.rounding import exact_sum, format_up
from dpkit.pricing.filters import FilterTheorem, refuse_options
from dpkit.privacy.checks import one_of
from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.compositions import (
    OPTIMAL_COUNT_LIMIT,
    basic_epsilon,
    dwork_roth_delta,
    dwork_roth_epsilon,
    kairouz_delta,
    kairouz_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from dpkit.privacy.conversions import arrows_to
from dpkit.privacy.filter_amounts import delta_left, delta_with, log_slack, slack_total
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.values import dataclass

THEOREMS: dict[str, Citation] = {
    "basic": Citation(key="DR14", locator="Theorem 3.16, basic composition"),
    "dwork-roth": Citation(key="DR14", locator="Theorem 3.20, homogeneous"),
    "kairouz": Citation(key="KOV15", locator="Theorem 3.5, heterogeneous"),
    "optimal": Citation(key="KOV15", locator="Theorem 3.3, homogeneous and optimal"),
}

_FILTER = Citation(key="WRRW23", locator="Theorem 1, the advanced-composition filter")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedState:
    """A multiset of epsilons (largest first, with counts), and the sum of -ln(1 - delta) over the deltas."""

    terms: tuple[tuple[float, int], ...]
    log_slack: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedAccountant(Accountant[AdvancedState]):
    """The minimum of the theorems named: `basic`, `dwork-roth`, `kairouz`, `optimal`; each only where it applies."""

    name: ClassVar[str] = "advanced"
    native: ClassVar[type[Loss]] = ApproxDP
    conversions: ClassVar[Mapping[type[Loss], Conversion]] = arrows_to(ApproxDP)
    refuses: ClassVar[str] = NOT_ONE_PAIR

    theorems: tuple[str, ...] = tuple(THEOREMS)

    def __post_init__(self) -> None:
        for theorem in self.theorems:
            one_of(theorem, tuple(THEOREMS), field="theorems", where="AdvancedAccountant")

    def zero(self) -> AdvancedState:
        """Nothing spent."""
        return AdvancedState(terms=(), log_slack=Fraction(0))

    def state_of(self, loss: Loss) -> AdvancedState:
        """One term, its delta apart: an (epsilon, delta) pair is dominated by epsilon and delta separately."""
        loss = self.native_loss(loss, ApproxDP)
        terms = ((loss.epsilon, 1),) if loss.epsilon else ()
        return AdvancedState(terms=terms, log_slack=log_slack(loss.delta))

    def combine(self, *states: AdvancedState) -> AdvancedState:
        """The union of the multisets."""
        counts: dict[float, int] = {}
        for state in states:
            for epsilon, count in state.terms:
                counts[epsilon] = counts.get(epsilon, 0) + count
        return AdvancedState(
            terms=tuple(sorted(counts.items(), reverse=True)),
            log_slack=exact_sum((state.log_slack, 1) for state in states),
        )

    def repeat(self, state: AdvancedState, times: int) -> AdvancedState:
        """Every count multiplied."""
        terms = tuple((epsilon, count * times) for epsilon, count in state.terms if times)
        return AdvancedState(terms=terms, log_slack=state.log_slack * times)

    def join(self, *states: AdvancedState) -> AdvancedState:
        """Rank by rank the larger epsilon: each state is dominated term by term."""
        joined: tuple[tuple[float, int], ...] = ()
        for state in states:
            joined = tuple(_ranked_maximum(joined, state.terms))
        return self.combine(AdvancedState(terms=joined, log_slack=max((s.log_slack for s in states), default=Fraction(0))))

    def best(self, *states: AdvancedState) -> AdvancedState:
        """The smaller slack first, then the smaller sum of epsilons."""
        return min(states, key=lambda state: (state.log_slack, exact_sum(state.terms)))

    def reading(self, state: AdvancedState, *, delta: float) -> Reading:
        """The smallest epsilon that a theorem gives at what the slack leaves of delta."""
        left = delta_left(delta, slack_total(state.log_slack))
        if left < 0.0:
            return Reading(epsilon=math.inf, because=THEOREMS["basic"], note="delta is below the sum of deltas")
        answers = {name: self._epsilon(name, state.terms, left) for name in self.theorems}
        winner = min(answers, key=lambda name: answers[name])
        note = ", ".join(f"{name} {format_up(value)}" for name, value in answers.items() if math.isfinite(value))
        return Reading(epsilon=answers[winner], because=THEOREMS[winner], note=note)

    def _epsilon(self, theorem: str, terms: tuple[tuple[float, int], ...], delta: float) -> float:
        if not terms:
            return 0.0
        if theorem == "basic":
            return basic_epsilon(terms)
        if theorem == "kairouz":
            return kairouz_epsilon(terms, delta=delta)
        if len(terms) > 1:
            return math.inf  # the other two are for identical mechanisms
        epsilon, count = terms[0]
        if theorem == "dwork-roth":
            return dwork_roth_epsilon(epsilon, count, delta=delta)
        return optimal_epsilon(epsilon, count, delta=delta) if count <= OPTIMAL_COUNT_LIMIT else math.inf

    def delta(self, state: AdvancedState, *, epsilon: float) -> float:
        """The same theorems solved for delta, with the slack on top."""
        answers = [1.0]
        if "basic" in self.theorems and epsilon >= basic_epsilon(state.terms):
            answers.append(0.0)
        if "kairouz" in self.theorems:
            answers.append(kairouz_delta(state.terms, epsilon=epsilon))
        if len(state.terms) == 1:
            e, count = state.terms[0]
            if "dwork-roth" in self.theorems:
                answers.append(dwork_roth_delta(e, count, target=epsilon))
            if "optimal" in self.theorems and count <= OPTIMAL_COUNT_LIMIT:
                answers.append(optimal_delta(e, count, target=epsilon))
        return delta_with(min(answers), slack_total(state.log_slack))

    def filter_theorem(self, budget: Loss, *, slack: float, order: float | None) -> FilterTheorem | None:
        """sqrt(2 ln(1/d') sum e^2) + sum e^2 / 2 <= epsilon: approximate zCDP with the usual constants, read simply."""
        refuse_options(self.name, order=order)
        if not isinstance(budget, ApproxDP):
            return None
        concentrated = ZCDPAccountant(constants="usual", conversion="simple")
        theorem = concentrated.filter_theorem(budget, slack=slack, order=order)
        return None if theorem is None else replace(theorem, because=_FILTER)

    def weight(self, state: AdvancedState, total: AdvancedState, *, delta: float) -> Fraction:
        """Epsilon squared: what the spread of the total is made of."""
        return exact_sum((Fraction(epsilon) ** 2, count) for epsilon, count in state.terms)

    def total(self, state: AdvancedState) -> Loss | None:
        """Basic composition: the one pair that holds whatever the target."""
        epsilon, slack = basic_epsilon(state.terms), slack_total(state.log_slack)
        if math.isinf(epsilon) or slack >= 1.0:
            return None
        return ApproxDP(epsilon=epsilon, delta=slack) if slack else PureDP(epsilon=epsilon)


def _ranked_maximum(one: tuple[tuple[float, int], ...], other: tuple[tuple[float, int], ...]) -> Iterator[tuple[float, int]]:
    """Merge two run-length lists, largest first, taking the larger epsilon at each rank."""
    left, right = list(reversed(one)), list(reversed(other))
    while left or right:
        (a, n), (b, m) = left[-1] if left else (0.0, 0), right[-1] if right else (0.0, 0)
        step = min(n, m) if left and right else max(n, m)
        yield max(a, b), step
        for runs, (value, count) in ((left, (a, n)), (right, (b, m))):
            if runs:
                runs.pop()
                if count > step:
                    runs.append((value, count - step))
