"""The tape: what a run asked its primitives and what they answered; and a second run that is given the same answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from dpkit.values import dataclass

Family = Literal["laplace", "gaussian", "gumbel", "choice", "priced", "coins"]
"""How a call loses privacy: additive noise, a choice by probabilities, a declared price, or coins, which hold no data."""


class Diverged(BaseException):
    """The second run asked something else than the first: there is no answer to give. It is caught by the recorder alone."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


@dataclass(slots=True)
class Call:
    """One call of a primitive: its name, public parameters (a scale, a sensitivity), the inputs of both runs, the answer."""

    name: str
    family: Family
    parameters: Mapping[str, object] = field(default_factory=dict)
    value: object = None
    answer: object = None
    other_value: object = None
    other_parameters: Mapping[str, object] | None = None
    price: Callable[[object, object], object] | None = None
    """The declared loss of an answer to the first value against the second."""
    again: Callable[[Any], Any] | None = None
    """Draws another answer to a value."""
    used: int = 0
    other_used: int = 0
    given: list[Any] = field(default_factory=list)
    other_given: list[Any] = field(default_factory=list)
    """The sums of noise and values that the first run, and the second, got."""
    by_largest: bool = False
    """The sensitivity is that of each entry, and not of their sum."""
    escaped: bool = False
    """The draw became something that the recorder cannot follow, such as a plain number."""

    @property
    def opaque(self) -> bool:
        """Whether nobody knows what its answer would be if the data were others: a coin, or noise that went its own way."""
        return self.escaped or self.family == "coins"


class Tape:
    """Calls in order. While `replaying`, each call is answered as the first run was, and what it asks is kept beside it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.replaying = False
        self.depth = 0
        self._place = 0

    def rewind(self) -> None:
        """From now on, answer as before."""
        self.replaying, self._place, self.depth = True, 0, 0

    def ask(self, call: Call, draw: Callable[[], object]) -> Call:
        """The call with its answer: drawn in the first run, the same in the second, which must ask the same primitive."""
        if not self.replaying:
            call.answer = self._inside(draw)
            self.calls.append(call)
            return call
        if self._place >= len(self.calls):
            raise Diverged(
                f"after the same {self._place} answers the second run asks {call.name}, and the first asked nothing more"
            )
        first = self.calls[self._place]
        if (first.name, first.family) != (call.name, call.family):
            raise Diverged(
                f"after the same {self._place} answers the second run asks {call.name}, and the first asked {first.name}"
            )
        self._place += 1
        first.other_value, first.other_parameters = call.value, call.parameters
        return first

    def _inside(self, draw: Callable[[], object]) -> object:
        """What a primitive draws by itself is not on the tape."""
        self.depth += 1
        try:
            return draw()
        finally:
            self.depth -= 1

    @property
    def place(self) -> int:
        """How many calls the second run has been answered."""
        return self._place

    @property
    def followed(self) -> int:
        """How many calls come before the first whose answer cannot be followed."""
        return next((place for place, call in enumerate(self.calls) if call.opaque), len(self.calls))

    @property
    def settled(self) -> bool:
        """Whether all answers can be followed."""
        return self.followed == len(self.calls)

    @property
    def certain(self) -> list[Call]:
        """The calls of which both values are certain. Noise may be added to a value long after it was drawn."""
        if self.settled:
            return self.calls
        return [call for call in self.calls[: self.followed] if call.family in ("priced", "choice")]

    @property
    def inside(self) -> bool:
        """Whether a primitive is at work."""
        return self.depth > 0

    @property
    def unasked(self) -> list[Call]:
        """What the first run asked and the second did not."""
        return self.calls[self._place :]
