"""Odometers: a running bound on the loss that is valid at every time at once, however the queries were chosen.

No budget is fixed in advance, so the price of reading at all times is paid in the reading (docs/proofs/odometers.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np

from dpkit.accountants.pure import BasicState, PureAccountant
from dpkit.accountants.rdp import RenyiAccountant, RenyiState
from dpkit.contracts.accountant import Accountant
from dpkit.contracts.registry import Registry
from dpkit.errors import BudgetExceededError, NoFilterTheoremError
from dpkit.numerics.rounding import UNIT_ROUNDOFF, in_full, round_up
from dpkit.pricing.assess import assess
from dpkit.privacy.checks import finite_number, probability_below_one
from dpkit.privacy.claims import Citation
from dpkit.privacy.events import Event, as_event
from dpkit.privacy.filter_amounts import slack_total
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

S = TypeVar("S")

_ORDERS = 1.0 + np.geomspace(0.05, 1e4, 48)
"""Fixed once and for all, since a union bound is paid over them; neighbours differ by a factor of 1.3."""

_SUM = Citation(key="RRUV16", locator="the basic-composition privacy odometer")
_VILLE = Citation(key="dpkit", locator="docs/proofs/odometers.md: Ville's inequality at each order, as in FZ21 and WRRW23")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyOdometer:
    """The transcript is (epsilon, delta + slack)-DP up to any time at which the reading is at most epsilon.

    Without approximate releases, with probability at least 1 - delta the loss is at most the reading at every time at once.
    `delta` is the price of reading a concentrated loss (0 for pure sums); `slack` bounds the sum of the deltas of
    approximate releases. Both are fixed in advance.
    """

    state: BasicState | RenyiState
    delta: float
    slack: float
    neighbours: Neighbours
    registry: Registry = field(compare=False, repr=False)

    @property
    def because(self) -> Citation:
        """The theorem behind the reading."""
        return _SUM if isinstance(self.state, BasicState) else _VILLE

    @property
    def epsilon(self) -> float:
        """The running bound."""
        if isinstance(self.state, BasicState):
            return round_up(self.state.epsilon)
        divergence = self.state.curve.at(_ORDERS)
        if not np.any(divergence):
            return 0.0
        tail = (math.log(_ORDERS.size) - math.log(self.delta)) / (_ORDERS - 1.0)
        return float(np.min((divergence + tail) * (1.0 + 16.0 * UNIT_ROUNDOFF)))

    def charge(self, event_or_events: Event | Iterable[Event]) -> PrivacyOdometer:
        """The odometer after this event; `BudgetExceededError`, and no change, when the slack does not cover it."""
        event = as_event(event_or_events)
        state: BasicState | RenyiState
        if isinstance(self.state, BasicState):
            state = _charged(PureAccountant(), self.state, event, self)
            covered = state.delta <= Fraction(self.slack)
        else:
            state = _charged(RenyiAccountant(), self.state, event, self)
            covered = slack_total(state.log_slack) <= self.slack
        if not covered:
            raise BudgetExceededError(
                budget=f"slack {in_full(self.slack)}", spent="a sum of deltas within it", asked="a sum of deltas above it"
            )
        return replace(self, state=state)


def _charged(accountant: Accountant[S], state: S, event: Event, odometer: PrivacyOdometer) -> S:
    priced = assess(event, accountant=accountant, registry=odometer.registry, neighbours=odometer.neighbours)
    spent: S = priced.state  # the state of the very accountant that priced it
    return accountant.combine(state, spent)


def open_odometer(
    accountant: str, *, registry: Registry, neighbours: Neighbours, delta: float = 0.0, slack: float = 0.0
) -> PrivacyOdometer:
    """An odometer at zero: `pure` sums epsilons; `rdp` takes every concentrated, Gaussian and Rényi loss.

    The two are what a theorem covers; zCDP and Gaussian releases run on the `rdp` odometer.
    """
    if accountant not in ("pure", "rdp"):
        raise NoFilterTheoremError(
            accountant=accountant,
            reason="there is no odometer of its own (zCDP and Gaussian releases run on the rdp one).",
            able=("pure", "rdp"),
        )
    probability_below_one(slack, field="slack", where="odometer")
    probability_below_one(delta, field="delta", where="odometer")
    if accountant == "rdp":
        finite_number(delta, field="delta", where="odometer", minimum=0.0, below=1.0, strict=True)
    state = PureAccountant().zero() if accountant == "pure" else RenyiAccountant().zero()
    return PrivacyOdometer(state=state, delta=delta, slack=slack, neighbours=neighbours, registry=registry)
