"""A guarantee: a priced event, readable as epsilon(delta), delta(epsilon), and as an explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpkit.core.accountant import AnyAccountant
from dpkit.core.checks import nonnegative, probability_below_one
from dpkit.core.claims import Citation, Status
from dpkit.core.events import Event
from dpkit.core.losses import Loss
from dpkit.core.neighbours import Neighbours
from dpkit.errors import NoIntervalError

if TYPE_CHECKING:
    from dpkit.core.explain import Explanation
    from dpkit.core.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One event of the composition: how often it happens, which rule and conversion priced it, and to what state.

    `accepted` names the rules that are not proved and priced it all the same, because the caller accepted them.
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

    @property
    def holds(self) -> bool:
        """False when a refuted or unproved rule, accepted by name, priced any part: then the numbers bind nobody."""
        return not self.unsound

    @property
    def unsound(self) -> tuple[str, ...]:
        """The names of the rules that are not proved and were accepted."""
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
        from dpkit.core.explain import explain

        return explain(self, delta=probability_below_one(delta, field="delta", where="explain"))

    def __str__(self) -> str:
        epsilon = self.epsilon(delta=1e-6)
        warning = "" if self.holds else f" DOES NOT HOLD: relies on {', '.join(self.unsound)}."
        return f"({epsilon:.6g}, 1e-6)-DP under {self.neighbours}, by the accountant {self.accountant.name!r}.{warning}"
