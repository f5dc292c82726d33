"""Filters: a budget fixed in advance, under queries that are each chosen from the answers before them.

Plain composition does not cover a stopping time, or a price, that depends on the data through earlier answers; a filter
theorem does. A filter is a value: `charge` returns the next one, or refuses and changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from functools import lru_cache
from typing import Protocol, runtime_checkable

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.registry import Registry
from dpkit.errors import BudgetExceededError, InvalidValueError, LossOverflowError, NoFilterTheoremError
from dpkit.numerics.bracketing import first_true
from dpkit.pricing.assess import assess
from dpkit.privacy.checks import instance_of, probability_below_one
from dpkit.privacy.claims import Citation
from dpkit.privacy.events import Event, as_event
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterTheorem:
    """What an accountant knows of fully adaptive spending: the limit that its states must keep, and the source.

    `accountant` is the one whose states are summed: usually the one that was asked, with the constants of the theorem.
    """

    accountant: AnyAccountant
    limit: Loss
    because: Citation


@runtime_checkable
class Filtering(Protocol):
    """An accountant with a filter theorem: it may be spent adaptively, and, with a gauge (`Gauging`), serve a ledger."""

    def filter_theorem(self, budget: Loss, *, slack: float, order: float | None) -> FilterTheorem | None:
        """The limit that keeps fully adaptive spending within the budget; None where no theorem covers it.

        `slack` is the part of delta that is set aside for the deltas of approximate releases, `order` the one Rényi order of
        the filter. One that has no use for an option which was given refuses it (`refuse_options`).
        """


def refuse_options(accountant: str, *, slack: float = 0.0, order: float | None = None) -> None:
    """Refuse options of a filter that were given to an accountant which has no use for them."""
    if slack:
        raise InvalidValueError(field="slack", found=slack, allowed=f"0 for the accountant {accountant!r}", where="filter")
    if order is not None:
        raise InvalidValueError(field="order", found=order, allowed=f"none for the accountant {accountant!r}", where="filter")


def filtering_names(registry: Registry) -> list[str]:
    """The accountants that may be spent adaptively."""
    return [accountant.name for accountant in registry.accountants if isinstance(accountant, Filtering)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyFilter:
    """A budget and what was spent of it; whatever is asked adaptively, the whole interaction keeps within `budget`."""

    budget: Loss
    theorem: FilterTheorem
    neighbours: Neighbours
    state: object
    registry: Registry = field(compare=False, repr=False)

    @property
    def because(self) -> Citation:
        """The theorem that allows adaptive spending."""
        return self.theorem.because

    def admits(self, event_or_events: Event | Iterable[Event]) -> bool:
        """Whether this would fit; charges nothing."""
        try:
            return self._fits(self._with(as_event(event_or_events)))
        except LossOverflowError:
            return False

    def charge(self, event_or_events: Event | Iterable[Event]) -> PrivacyFilter:
        """The filter after this event; `BudgetExceededError`, and no change, when it does not fit."""
        charged = self._with(as_event(event_or_events))
        if not self._fits(charged):
            raise BudgetExceededError(budget=self.budget, spent=self._describe(self.state), asked=self._describe(charged.state))
        return charged

    def _with(self, event: Event) -> PrivacyFilter:
        accountant = self.theorem.accountant
        priced = assess(event, accountant=accountant, registry=self.registry, neighbours=self.neighbours)
        return replace(self, state=accountant.combine(self.state, priced.state))

    def _fits(self, charged: PrivacyFilter) -> bool:
        try:
            return self.theorem.accountant.within(charged.state, self.theorem.limit)
        except LossOverflowError:
            return False

    def _describe(self, state: object) -> str:
        total = self.theorem.accountant.total(state)
        return "more than any finite loss" if total is None else repr(total)


def largest_parameter(epsilon_of: Callable[[float], float], *, epsilon: float) -> float | None:
    """The largest parameter (a rho, a mu) whose epsilon is at most this one, on the safe side; None when none is."""

    @lru_cache(maxsize=4)
    def at(inverse: float) -> float:
        return epsilon_of(1.0 / inverse)

    excess = None if epsilon <= 0.0 else lambda inverse: math.log(at(inverse) / epsilon)
    bracket = first_true(lambda inverse: at(inverse) <= epsilon, relative=1e-12, excess=excess)
    return None if bracket is None or bracket[0] == 0.0 else 1.0 / bracket[1]


def open_filter(
    budget: Loss,
    *,
    accountant: AnyAccountant,
    registry: Registry,
    neighbours: Neighbours,
    slack: float = 0.0,
    order: float | None = None,
) -> PrivacyFilter:
    """An unspent filter; `NoFilterTheoremError` for an accountant, or a budget, that no theorem covers.

    `slack` is the part of delta that is set aside for the deltas of approximate releases, whose sum it bounds (advanced,
    zcdp and rdp; `pure` takes them from the budget's own delta); `order` is the one Rényi order of an `rdp` filter.
    """
    instance_of(neighbours, Neighbours, field="neighbours", where="filter", allowed="a member of Neighbours")
    probability_below_one(slack, field="slack", where="filter")
    if not isinstance(accountant, Filtering):
        reason = "composition is proved there for plans that are fixed in advance."
        raise NoFilterTheoremError(accountant=accountant.name, reason=reason, able=filtering_names(registry))
    theorem = accountant.filter_theorem(budget, slack=slack, order=order)
    if theorem is None:
        reason = f"it has no filter for {budget!r} (is delta 0, is the slack all of delta, are there several orders?)."
        raise NoFilterTheoremError(accountant=accountant.name, reason=reason, able=filtering_names(registry))
    return PrivacyFilter(
        budget=budget,
        theorem=theorem,
        neighbours=neighbours,
        state=theorem.accountant.zero(),
        registry=registry,
    )
