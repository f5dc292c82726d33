"""Limits on what an attack can do, to calibrate noise to instead of one epsilon. For a limit on mu there is the loss `GDP`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from dpkit.privacy.checks import checked, probability
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.contracts.guarantee import Guarantee


class RiskLimit(ABC):
    """A bound on a reading of the trade-off curve; `calibrate` and `Guarantee.within` take it where they take a budget."""

    __slots__ = ()

    @abstractmethod
    def met_by(self, guarantee: Guarantee) -> bool:
        """Whether the guarantee proves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(false_alarm_rate=probability, at_most=probability)
class PowerLimit(RiskLimit):
    """No attack with this rate of false alarms has a larger true-positive rate."""

    false_alarm_rate: float
    at_most: float

    def met_by(self, guarantee: Guarantee) -> bool:
        """By `Guarantee.power`."""
        return guarantee.power(self.false_alarm_rate) <= self.at_most


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(at_most=probability)
class AdvantageLimit(RiskLimit):
    """No attack has a larger difference of true-positive and false-alarm rates."""

    at_most: float

    def met_by(self, guarantee: Guarantee) -> bool:
        """By `Guarantee.advantage`."""
        return guarantee.advantage() <= self.at_most


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(prior=probability, at_most=probability)
class PosteriorLimit(RiskLimit):
    """Nobody who gave one of two neighbours this probability before guesses right with a larger one afterwards."""

    prior: float
    at_most: float

    def met_by(self, guarantee: Guarantee) -> bool:
        """By `Guarantee.posterior`."""
        return guarantee.posterior(self.prior) <= self.at_most
