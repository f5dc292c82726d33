"""The accountant interface: a commutative monoid of states, and a reading of a state as (epsilon, delta).

An accountant holds no state of its own: `zero`, `lift`, `combine` and `repeat` build states, `reading` reads one. That is all
that an author must write; what follows from it has a default that is sound, and may be done better. What only some accountants
can do stands beside it: `pricing.filters.Filtering` (adaptive spending) and `privacy.filter_amounts.Gauging` (ledgers).
Plugins subclass `Accountant` as a frozen dataclass and register it by hook.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from dpkit.errors import InvalidValueError, UnpricedLossError
from dpkit.numerics.bracketing import first_true
from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.contracts.guarantee import Guarantee


import numpy as np

from dpkit.privacy.conversions import CONVERSIONS
from dpkit.privacy.losses import GDP, RDP, ZCDP, MeanCDP, RenyiCurve

S = TypeVar("S")
Native = TypeVar("Native", bound=Loss)

_TYPICAL_DELTA = 1e-6
"""Where states are compared that bound one and the same release. Any choice among them is sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An epsilon at some delta, the theorem that gives it, and what else the theorem chose (an order, a bound)."""

    epsilon: float
    because: Citation
    note: str = ""


class Accountant(ABC, Generic[S]):
    """The abstract accountant over states of type S. Every state and every reading is an upper bound, rounded up.

    An author writes `name`, `native`, `zero`, `state_of` (which `lift` applies to a converted loss), `combine`, `repeat` and
    `reading`; `conversions` where it takes other notions than its own.
    """

    __slots__ = ()
    refuses: ClassVar[str] = ""
    """Why other losses are not taken, and what to use instead; `{}` stands for the class of the loss."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How analyses call it."""

    @property
    @abstractmethod
    def native(self) -> type[Loss]:
        """The notion that its states are sums of."""

    @abstractmethod
    def zero(self) -> S:
        """The state of no release at all."""

    @abstractmethod
    def state_of(self, loss: Loss) -> S:
        """The state of one release with this native loss."""

    @abstractmethod
    def combine(self, *states: S) -> S:
        """The state of all these releases; neither order nor grouping matters."""

    @abstractmethod
    def repeat(self, state: S, times: int) -> S:
        """The state of `times` such releases; equal to combining them one by one."""

    @abstractmethod
    def reading(self, state: S, *, delta: float) -> Reading:
        """The smallest epsilon at this delta that this accountant can prove, with its theorem; infinity where there is none."""

    @property
    def conversions(self) -> Mapping[type[Loss], Conversion]:
        """For each foreign notion that it takes, the theorem that turns it into the native one. By default it takes none."""
        return {}

    def join(self, *states: S) -> S:
        """An upper bound of each of these states, for when one of them happens and it is not known which.

        By default the state of all of them together, which bounds each.
        """
        return self.combine(*states)

    def best(self, *states: S) -> S:
        """The most useful of several states that bound one release; by default by the epsilon at a delta of 1e-6."""
        return min(states, key=lambda state: self.epsilon(state, delta=_TYPICAL_DELTA))

    def delta(self, state: S, *, epsilon: float) -> float:
        """The smallest delta at this epsilon that this accountant can prove; at most 1. By default found by `reading`."""
        if self.epsilon(state, delta=0.0) <= epsilon:
            return 0.0
        bracket = first_true(lambda delta: delta >= 1.0 or self.epsilon(state, delta=delta) <= epsilon, start=_TYPICAL_DELTA)
        return 1.0 if bracket is None else min(1.0, bracket[1])

    def profiles(self, state: S) -> tuple[Callable[[float], float], ...]:
        """delta(epsilon) for a record more and for a record less, in this order; by default one that bounds both."""
        return (lambda epsilon: self.delta(state, epsilon=epsilon),)

    def gaussian_bound(self, state: S) -> float:
        """A mu that the state is mu-GDP for, by a theorem; infinity where there is none. By default read off `total`."""
        total = self.total(state)
        return total.mu if isinstance(total, GDP) else math.inf

    def weight(self, state: S, total: S, *, delta: float) -> float | Fraction:
        """How much one part weighs in the reading of the total; shares are weights over their sum. By default: its epsilon."""
        return self.epsilon(state, delta=delta)

    def total(self, state: S) -> Loss | None:
        """The state as one loss of the native notion, rounded up; None when it is not one loss."""
        return None

    def lift(self, loss: Loss) -> S:
        """The state of one release that keeps within this loss; refuses what it cannot soundly convert."""
        return self.state_of(self.converted(loss))

    def lift_under(self, loss: Loss, neighbours: Neighbours) -> S:
        """`lift`, for an accountant to which the neighbour relation matters."""
        return self.lift(loss)

    def marked(self, state: S, *, attained: bool) -> S:
        """The same state, with a note whether some mechanism and neighbours attain it; for an accountant with lower bounds."""
        return state

    def converted(self, loss: Loss) -> Loss:
        """The loss in the native notion."""
        arrow = self.route(loss)
        return loss if arrow is None else arrow.apply(loss)

    def route(self, loss: Loss) -> Conversion | None:
        """The theorem that `lift` applies to this loss; None when the loss is native."""
        if isinstance(loss, self.native):
            return None
        for kind in type(loss).__mro__:
            if kind in self.conversions:
                return self.conversions[kind]
        raise UnpricedLossError(loss=loss, accountant=self.name, reason=self.refusal(loss))

    def explained_reading(self, state: S, *, delta: float) -> Reading:
        """`reading`, with whatever more is worth saying when somebody asks why."""
        return self.reading(state, delta=delta)

    def explained_by(self, state: S, *, delta: float) -> AnyAccountant:
        """The accountant whose rules explain a reading: itself, unless it only chooses among others."""
        return self

    def native_loss(self, loss: Loss, kind: type[Native]) -> Native:
        """The loss as one of the native notion; refused where it is another."""
        if not isinstance(loss, kind):
            raise UnpricedLossError(loss=loss, accountant=self.name, reason=self.refusal(loss))
        return loss

    def refusal(self, loss: Loss) -> str:
        """Why a foreign loss is not taken, and what to do instead."""
        if self.refuses:
            return self.refuses.format(type(loss).__name__)
        taken = [self.native.__name__, *(kind.__name__ for kind in self.conversions)]
        return f"no theorem here turns it into {self.native.__name__}; it takes {', '.join(taken)}."

    def epsilon(self, state: S, *, delta: float) -> float:
        """The reported epsilon at this delta."""
        return self.reading(state, delta=delta).epsilon

    def interval(self, state: S, *, delta: float) -> tuple[float, float] | None:
        """A certified [lower, upper] around the exact epsilon; None where the accountant knows an upper bound only."""
        return None

    def within(self, state: S, budget: Loss) -> bool:
        """Whether the state keeps within a budget of any notion that it can be read in."""
        if isinstance(budget, PureDP):
            return self.epsilon(state, delta=0.0) <= budget.epsilon
        if isinstance(budget, ApproxDP):
            return self.epsilon(state, delta=budget.delta) <= budget.epsilon
        total = self.total(state)
        verdict = None if total is None else keeps_within(total, budget)
        if verdict is None:
            allowed = f"a loss that the accountant {self.name!r} can be read in (PureDP and ApproxDP always are)"
            raise InvalidValueError(field="budget", found=budget, allowed=allowed, where="within")
        return verdict

    def shares(self, states: Sequence[S], total: S, *, delta: float) -> list[float]:
        """Each part's share of the total, summing to 1 (to 0 when nothing was spent)."""
        return normalised([self.weight(state, total, delta=delta) for state in states])

    def guarantee(self, state: S, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Guarantee:
        """The state, readable."""
        from dpkit.contracts.guarantee import Guarantee

        return Guarantee(accountant=self, neighbours=neighbours, state=state)


def normalised(weights: Sequence[float | Fraction]) -> list[float]:
    """Weights as shares: exact for fractions, so that no sum overflows; all zero when there is no weight, or no end of it."""
    whole = sum(weights)
    if not 0 < whole < math.inf:
        return [0.0 for _ in weights]
    return [float(weight / whole) for weight in weights]


AnyAccountant = Accountant[Any]
"""An accountant whose states only it understands."""


def keeps_within(loss: Loss, budget: Loss) -> bool | None:
    """Whether the loss, read in the budget's notion, is within the budget; None where no theorem gives such a reading.

    The tightest arrow decides. A Rényi budget is met order by order.
    """
    if isinstance(budget, RDP):
        return _within_renyi(loss, budget)
    readings = [loss] if isinstance(loss, type(budget)) else []
    readings += [arrow.apply(loss) for arrow in CONVERSIONS if isinstance(loss, arrow.source) and arrow.target is type(budget)]
    if not readings:
        return None
    return any(_fields_within(reading, budget) for reading in readings)


def _fields_within(loss: Loss, budget: Loss) -> bool:
    if isinstance(loss, type(budget)) and isinstance(budget, ZCDP | GDP | MeanCDP):
        return all(getattr(loss, part.name) <= getattr(budget, part.name) for part in fields(budget))
    return loss == budget


def _within_renyi(loss: Loss, budget: RDP) -> bool | None:
    slack = loss.delta if isinstance(loss, RDP | ZCDP | ApproxDP) else 0.0
    curve = loss if isinstance(loss, RenyiCurve) else None
    for arrow in CONVERSIONS:
        if curve is None and isinstance(loss, arrow.source) and arrow.target is RenyiCurve:
            converted = arrow.apply(loss)
            curve = converted if isinstance(converted, RenyiCurve) else None
    if curve is None:
        return None
    values = curve.at(np.array(budget.orders))
    return slack <= budget.delta and bool(np.all(values <= np.array(budget.epsilons)))
