"""A guarantee: a priced event, readable as epsilon(delta), delta(epsilon), and as an explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpkit.contracts.accountant import Accountant, AnyAccountant
from dpkit.errors import NoIntervalError
from dpkit.numerics.rounding import format_up
from dpkit.privacy.checks import instance_of, nonnegative, probability_below_one, tuple_of
from dpkit.privacy.claims import Citation, Status
from dpkit.privacy.events import Event
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours

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

    def within(self, budget: Loss) -> bool:
        """Whether the guarantee keeps within a budget."""
        return self.accountant.within(self.state, budget)

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
