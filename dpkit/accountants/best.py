"""`best`: several sound accountants side by side; each reading is the smallest of theirs, and says whose it is.

The registry's `best` has dpkit's own as components. With others, it is made and passed as an object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from dpkit.contracts.accountant import Accountant, AnyAccountant, Reading
from dpkit.errors import InvalidValueError, LossOverflowError, UnpricedLossError
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BestState:
    """One state a component; None for a component that could not price some part."""

    states: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestAccountant(Accountant[BestState]):
    """The product of its components. Each proves a bound on the same releases, so the smallest holds."""

    name: ClassVar[str] = "best"
    native: ClassVar[type[Loss]] = Loss  # any that one component takes; the components convert for themselves

    components: tuple[AnyAccountant, ...]

    def __post_init__(self) -> None:
        if not self.components:
            raise InvalidValueError(field="components", found=(), allowed="at least one accountant", where="BestAccountant")

    def zero(self) -> BestState:
        """Nothing spent, under each."""
        return BestState(states=tuple(component.zero() for component in self.components))

    def state_of(self, loss: Loss) -> BestState:
        """The loss under each component that can take it."""
        return self.lift_under(loss, Neighbours.ADD_REMOVE)

    def lift_under(self, loss: Loss, neighbours: Neighbours) -> BestState:
        """The states of all components, each of which is told the relation."""
        states: list[object] = [None] * len(self.components)
        for index, component in enumerate(self.components):
            with suppress(UnpricedLossError, LossOverflowError):
                states[index] = component.lift_under(loss, neighbours)
        if all(state is None for state in states):
            raise UnpricedLossError(loss=loss, accountant=self.name, reason="none of its components can take it.")
        return BestState(states=tuple(states))

    def marked(self, state: BestState, *, attained: bool) -> BestState:
        """Component by component."""
        return self._each(lambda component, parts: component.marked(parts[0], attained=attained), [state])

    def combine(self, *states: BestState) -> BestState:
        """Component by component; what one part lacks, the whole lacks."""
        return self._each(lambda component, parts: component.combine(*parts), states)

    def repeat(self, state: BestState, times: int) -> BestState:
        """Component by component."""
        return self._each(lambda component, parts: component.repeat(parts[0], times), [state])

    def join(self, *states: BestState) -> BestState:
        """Component by component."""
        return self._each(lambda component, parts: component.join(*parts), states) if states else self.zero()

    def best(self, *states: BestState) -> BestState:
        """Component by component, among those proofs that the component can use."""
        chosen = []
        for index, component in enumerate(self.components):
            usable = [state.states[index] for state in states if state.states[index] is not None]
            chosen.append(component.best(*usable) if len(usable) > 1 else usable[0] if usable else None)
        return BestState(states=tuple(chosen))

    def reading(self, state: BestState, *, delta: float) -> Reading:
        """The smallest epsilon, with the winner's theorem."""
        return self._told(*self._winner(state, delta=delta))

    def delta(self, state: BestState, *, epsilon: float) -> float:
        """The smallest delta."""
        return min(component.delta(part, epsilon=epsilon) for component, part in self._priced(state))

    def profiles(self, state: BestState) -> tuple[Callable[[float], float], ...]:
        """Direction by direction the smallest delta; a component with one profile has it for both."""
        found = [component.profiles(part) for component, part in self._priced(state)]

        def least(place: int, epsilon: float) -> float:
            return min(profiles[place](epsilon) for profiles in found)

        directed = any(len(profiles) > 1 for profiles in found)
        return (partial(least, 0), partial(least, -1)) if directed else (partial(least, 0),)

    def gaussian_bound(self, state: BestState) -> float:
        """The smallest that a component proves."""
        return min(component.gaussian_bound(part) for component, part in self._priced(state))

    def interval(self, state: BestState, *, delta: float) -> tuple[float, float] | None:
        """The best lower bound that a component certifies, and the smallest upper one."""
        found = [component.interval(part, delta=delta) for component, part in self._priced(state)]
        certified = [bounds for bounds in found if bounds is not None]
        if not certified:
            return None
        upper = self.epsilon(state, delta=delta)
        return min(max(lower for lower, _ in certified), upper), upper

    def weight(self, state: BestState, total: BestState, *, delta: float) -> float | Fraction:
        """The winner's weight."""
        index, _ = self._winner(total, delta=delta)
        return self.components[index].weight(state.states[index], total.states[index], delta=delta)

    def shares(self, states: Sequence[BestState], total: BestState, *, delta: float) -> list[float]:
        """The winner's shares."""
        index, _ = self._winner(total, delta=delta)
        return self.components[index].shares([state.states[index] for state in states], total.states[index], delta=delta)

    def within(self, state: BestState, budget: Loss) -> bool:
        """Whether any component proves it; the tightest, which stands last, is asked first."""
        parts, refusals = self._priced(state), []
        for component, part in reversed(parts):
            try:
                if component.within(part, budget):
                    return True
            except InvalidValueError as refusal:
                refusals.append(refusal)
        if len(refusals) == len(parts):
            raise refusals[0]
        return False

    def explained_reading(self, state: BestState, *, delta: float) -> Reading:
        """The winner's."""
        index, _ = self._winner(state, delta=delta)
        return self._told(index, self.components[index].explained_reading(state.states[index], delta=delta))

    def explained_by(self, state: BestState, *, delta: float) -> AnyAccountant:
        """The component whose reading is the smallest."""
        return self.components[self._winner(state, delta=delta)[0]]

    def _winner(self, state: BestState, *, delta: float) -> tuple[int, Reading]:
        """The place of the component with the smallest epsilon, and its reading."""
        parts = [(index, part) for index, part in enumerate(state.states) if part is not None]
        readings = [(index, self.components[index].reading(part, delta=delta)) for index, part in parts]
        return min(readings, key=lambda pair: pair[1].epsilon)

    def _told(self, index: int, reading: Reading) -> Reading:
        name = self.components[index].name
        return replace(reading, note=f"{name}: {reading.note}" if reading.note else name)

    def _priced(self, state: BestState) -> list[tuple[AnyAccountant, Any]]:
        return [(c, part) for c, part in zip(self.components, state.states, strict=True) if part is not None]

    def _each(self, apply: Callable[[AnyAccountant, list[Any]], object], states: Sequence[BestState]) -> BestState:
        results: list[object] = []
        for index, component in enumerate(self.components):
            parts = [state.states[index] for state in states]
            results.append(None if any(part is None for part in parts) else apply(component, parts))
        if all(result is None for result in results):
            raise UnpricedLossError(loss=self, accountant=self.name, reason="no component can price every part of it.")
        return BestState(states=tuple(results))
