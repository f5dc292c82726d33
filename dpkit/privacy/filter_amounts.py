"""Gauges: what a filter counts, as exact amounts that add; slacks, the deltas of approximate losses, among them.

A filter's state may be anything that its accountant understands. A ledger adds prices for years and from many processes, so it
needs more: numbers that add exactly, compare one by one, and stay small however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from dpkit.numerics.rounding import outward, round_down, round_up
from dpkit.privacy.losses import Loss
from dpkit.values import dataclass


def log_slack(delta: float) -> Fraction:
    """-ln(1 - delta), rounded up to a float and then held exactly."""
    if delta == 0.0:
        return Fraction(0)
    value = -math.log1p(-delta)
    return Fraction(outward(value, magnitude=value, ulps=2.0))


def slack_total(log_total: Fraction) -> float:
    """The delta of a sum of log slacks, rounded up; 1.0 when nothing is left."""
    if log_total == 0:
        return 0.0
    value = -math.expm1(-round_up(log_total))
    return min(1.0, outward(value, magnitude=value, ulps=2.0))


def slack_limit(sum_of_deltas: float) -> float:
    """The largest slack whose log sum is at most this, rounded down: then the plain sum of deltas is at most this, too.

    Filter theorems bound the sum of deltas; what is summed here is -ln(1 - delta), which is at least delta.
    """
    return max(0.0, -math.expm1(-sum_of_deltas) * (1.0 - 2.0**-50)) if sum_of_deltas else 0.0


def delta_left(delta: float, slack: float) -> float:
    """The delta' with slack + (1 - slack) delta' <= delta, rounded down; negative when the slack alone exceeds delta.

    A slack-approximate loss whose good part is (epsilon, delta')-DP is (epsilon, slack + (1 - slack) delta')-DP
    (BS16, section 8).
    """
    if slack == 0.0:
        return delta
    if slack >= 1.0:
        return -1.0
    return round_down((Fraction(delta) - Fraction(slack)) / (1 - Fraction(slack)))


def delta_with(delta: float, slack: float) -> float:
    """slack + (1 - slack) delta, rounded up."""
    if slack == 0.0:
        return delta
    return min(1.0, round_up(Fraction(slack) + (1 - Fraction(slack)) * Fraction(delta)))


Amounts = tuple[Fraction, ...]
"""One exact, nonnegative number for each quantity that a filter bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """How one filter counts. Promise: states whose `measure`s sum to at most `limits` are together within the filter's limit.

    `names` says what is counted; `loss` turns amounts that were already rounded into a loss to show, with a rounding function
    for what is converted on the way.
    """

    names: tuple[str, ...]
    limits: Amounts
    measure: Callable[[Any], Amounts]
    loss: Callable[[Amounts, bool], Loss]

    @property
    def zero(self) -> Amounts:
        """Nothing spent."""
        return tuple(Fraction(0) for _ in self.limits)

    def fits(self, amounts: Amounts) -> bool:
        """Whether these amounts may be spent in all."""
        return within(amounts, self.limits)

    def spent(self, amounts: Amounts) -> Loss:
        """Amounts as a loss, rounded up."""
        return self.loss(amounts, True)

    def remaining(self, amounts: Amounts) -> Loss:
        """What the limits leave beside these amounts, rounded down."""
        left = tuple(max(Fraction(0), limit - amount) for amount, limit in zip(amounts, self.limits, strict=True))
        return self.loss(left, False)


@runtime_checkable
class Gauging(Protocol):
    """An accountant whose filters can be counted exactly, and so may serve a ledger."""

    def gauge(self, limit: Loss) -> Gauge | None:
        """How a filter with this limit counts its states; None where it cannot, and then it serves no ledger."""


def plus(first: Amounts, *others: Amounts) -> Amounts:
    """The sum, exactly."""
    total = first
    for other in others:
        # most slacks are 0, and adding fractions is slow
        total = tuple((a + b if a else b) if b else a for a, b in zip(total, other, strict=True))
    return total


def minus(one: Amounts, other: Amounts) -> Amounts:
    """The difference, exactly."""
    return tuple(a - b if b else a for a, b in zip(one, other, strict=True))


def larger(one: Amounts, other: Amounts) -> Amounts:
    """The larger of each."""
    return tuple(max(a, b) for a, b in zip(one, other, strict=True))


def within(one: Amounts, other: Amounts) -> bool:
    """Whether each amount is at most its counterpart."""
    return all(a <= b for a, b in zip(one, other, strict=True))


def log_slack_limit(delta: float) -> Fraction:
    """The sum of log slacks that keeps within a slack of delta, on the safe side of every rounding above."""
    return Fraction(-math.log1p(-delta) * (1.0 - 2.0**-48))


def shown_slack(log_sum: Fraction, up: bool) -> float:
    """A sum of log slacks as a delta, rounded to the side asked for."""

    return slack_total(log_sum) if up else slack_limit(round_down(log_sum))


def shown(amount: Fraction, up: bool) -> float:
    """An amount as a float, rounded to the side asked for."""
    return round_up(amount) if up else round_down(amount)
