"""A guarantee: a priced event, readable as epsilon(delta), delta(epsilon), as what an attack can do, and as an explanation."""

from __future__ import annotations

import math
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpkit.contracts.accountant import Accountant, AnyAccountant
from dpkit.contracts.risk_limits import RiskLimit
from dpkit.errors import NoIntervalError
from dpkit.numerics.rounding import format_up
from dpkit.privacy.checks import instance_of, nonnegative, probability, probability_below_one, tuple_of
from dpkit.privacy.claims import Citation, Status
from dpkit.privacy.events import Event
from dpkit.privacy.losses import GDP, Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.privacy.tradeoff import accused_at_most, accused_rightly, best_guess, gaussian_mu, power_of
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.contracts.registry import Registry
    from dpkit.pricing.explain import Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One event of the composition: how often it happens, which rule and conversion priced it, and to what state.

    `accepted` names the rules that are not proved, or somebody else's, and priced it because the caller accepted them.
    """

    event: Event
    times: int
    rule: str
    conversion: str | None
    because: tuple[Citation, ...]
    status: Status
    accepted: tuple[str, ...]
    state: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What an accountant proves about an event under a neighbour relation. Every number is an upper bound."""

    accountant: AnyAccountant
    neighbours: Neighbours
    state: Any  # only its accountant understands it
    event: Event | None = None
    parts: tuple[Part, ...] = ()
    # Only the comparison in `explain` needs it; two guarantees are equal without it.
    registry: Registry | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        instance_of(self.accountant, Accountant, field="accountant", where="Guarantee", allowed="an Accountant")
        instance_of(self.neighbours, Neighbours, field="neighbours", where="Guarantee", allowed="a Neighbours member")
        instance_of(
            self.state, type(self.accountant.zero()), field="state", where="Guarantee", allowed="a state of its accountant"
        )
        if self.event is not None:
            instance_of(self.event, Event, field="event", where="Guarantee", allowed="an Event")
        tuple_of(self.parts, Part, field="parts", where="Guarantee", allowed="parts")

    def __reduce__(self) -> tuple[object, ...]:
        # a registry holds functions, which do not pickle; the copy compares and reads as this one does
        return _without_registry, (self.accountant, self.neighbours, self.state, self.event, self.parts)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("dpkit.report.notebooks").guarantee_html(self))

    @property
    def holds(self) -> bool:
        """False when a rule that was accepted by name priced any part: refuted, unproved, or a plugin's about an event of
        somebody else. Then dpkit vouches for no number.
        """
        return not self.unsound

    @property
    def unsound(self) -> tuple[str, ...]:
        """The names of the rules that price only when accepted, and were."""
        return tuple(sorted({name for part in self.parts for name in part.accepted}))

    def epsilon(self, *, delta: float) -> float:
        """The reported epsilon at this delta: an upper bound, infinite where the notion gives none."""
        return self.accountant.epsilon(self.state, delta=probability_below_one(delta, field="delta", where="epsilon"))

    def delta(self, *, epsilon: float) -> float:
        """The reported delta at this epsilon: an upper bound, at most 1."""
        return self.accountant.delta(self.state, epsilon=nonnegative(epsilon, field="epsilon", where="delta"))

    def interval(self, *, delta: float) -> tuple[float, float]:
        """[lower, upper] around the exact epsilon, where the accountant certifies both sides."""
        probability_below_one(delta, field="delta", where="interval")
        bounds = self.accountant.interval(self.state, delta=delta)
        if bounds is None:
            raise NoIntervalError(accountant=self.accountant.name)
        return bounds

    def power(self, false_alarm_rate: float) -> float:
        """The largest true-positive rate of any attack with this rate of false alarms: from the whole curve, rounded up.

        An attack tells two neighbours apart. It holds for every attack, with any knowledge, in either direction.
        """
        rate = probability(false_alarm_rate, field="false_alarm_rate", where="power")
        kinks = [epsilon for epsilon in (self.epsilon(delta=0.0),) if math.isfinite(epsilon)]
        return power_of(self.accountant.profiles(self.state), rate, kinks=kinks)

    def advantage(self) -> float:
        """The largest difference of true-positive and false-alarm rates of any attack: delta at epsilon 0, rounded up."""
        return self._larger_delta(0.0)

    def posterior(self, prior: float, *, false_alarm_rate: float | None = None) -> float:
        """How likely the best guess is right, of somebody who gave one of two neighbours this probability before: rounded up.

        Before anything is released a guess is right with the larger of `prior` and 1 - `prior`. With a `false_alarm_rate`: how
        likely an alarm is right that the best attack with this rate raises, `prior` being that there is something to find. An
        attack that may raise none at all is read as one that hardly ever does.
        """
        before = probability(prior, field="prior", where="posterior")
        if false_alarm_rate is None:
            return best_guess(self._larger_delta, before)
        power = self.power(false_alarm_rate)
        if power == 0.0:
            return accused_at_most(before, self.epsilon(delta=0.0))
        return accused_rightly(power, before, false_alarm_rate)

    def gdp(self, *, slack: float = 0.0) -> float:
        """A mu such that the guarantee is mu-GDP, within 1e-4 of the smallest where losses are bounded; infinity without any.

        Its trade-off curve lies above the Gaussian one everywhere; with a `slack`, above the Gaussian one less the slack.
        Sampling has no smaller mu than its noise without a slack: far out in the tail it protects no more.
        """
        left = probability_below_one(slack, field="slack", where="gdp")
        found = gaussian_mu(self._larger_delta, top=self.epsilon(delta=left), slack=left)
        return min(found, self.accountant.gaussian_bound(self.state))

    def _larger_delta(self, epsilon: float) -> float:
        """delta at an epsilon, of the direction that has more."""
        return max(profile(epsilon) for profile in self.accountant.profiles(self.state))

    def within(self, budget: Loss | RiskLimit) -> bool:
        """Whether the guarantee keeps within a budget, or a limit on what an attack can do."""
        if isinstance(budget, RiskLimit):
            return budget.met_by(self)
        return self.gdp() <= budget.mu if isinstance(budget, GDP) else self.accountant.within(self.state, budget)

    def explain(self, *, delta: float = 1e-6) -> Explanation:
        """Which theorem priced which part, each part's share, and how far this is from the best accountant's answer."""
        from dpkit.pricing.explain import explain

        return explain(self, delta=probability_below_one(delta, field="delta", where="explain"))

    def __str__(self) -> str:
        epsilon = self.epsilon(delta=1e-6)
        warning = "" if self.holds else f" DOES NOT HOLD: relies on {', '.join(self.unsound)}."
        return f"({format_up(epsilon)}, 1e-6)-DP under {self.neighbours}, by the accountant {self.accountant.name!r}.{warning}"


def _without_registry(
    accountant: AnyAccountant, neighbours: Neighbours, state: Any, event: Event | None, parts: tuple[Part, ...]
) -> Guarantee:
    return Guarantee(accountant=accountant, neighbours=neighbours, state=state, event=event, parts=parts)
