"""Sampling falsifiers share one stream of samples; each is a process with an e-value, and their average is the verdict's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from dpkit.auditing.betting.bets import Bet
from dpkit.numerics.rounding import in_full
from dpkit.numerics.special import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEvent:
    """A set of outputs in words and as code, and in which direction it speaks against the claim."""

    words: str
    code: str
    forward: bool


class Process(ABC):
    """An e-process fed with batches of both sides: its mean is at most 1 under the hypothesis, whenever one stops."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The falsifier's name."""

    @property
    @abstractmethod
    def sees(self) -> str:
        """What it can and what it cannot see, in one sentence."""

    @abstractmethod
    def step(self, first: Array, second: Array) -> Array:
        """ln of the e-value after each new pair of outputs."""

    @abstractmethod
    def prepare(self) -> None:
        """Choose what to do with the next batch, from the past."""

    @property
    @abstractmethod
    def log_e(self) -> float:
        """ln of the e-value now."""

    @abstractmethod
    def event(self) -> OutputEvent | None:
        """The event that speaks loudest so far."""

    def telling(self) -> float | None:
        """How likely the event is that tells the datasets apart best; None where there is none, or none is looked for."""
        return None


def event_of(bet: Bet, names: tuple[str, ...]) -> OutputEvent:
    """A bet's set in words and code."""
    sign = ">=" if bet.upper else "<="
    one, two = ("first", "second") if bet.forward else ("second", "first")
    words = (
        f"outputs with {names[bet.column]} {sign} {in_full(bet.cut)} are more likely under the {one} dataset than "
        f"e^{in_full(bet.point.epsilon)} times their probability under the {two}"
        + (f" plus {in_full(bet.point.delta)}" if bet.point.delta else "")
    )
    return OutputEvent(words=words, code=f"lambda y: {names[bet.column]} {sign} {bet.cut!r}", forward=bet.forward)
