"""The seconds that a search of pairs may take: how much of a pilot there is time for, and when to stop."""

from __future__ import annotations

import math
import time

from dpkit.values import dataclass

SHARE = 0.3
"""The share of an audit's time that is spent on finding where to look."""
LEAST = 2
"""Outputs of each side by which a pair is looked at, however slow they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTime:
    """A moment at which the search is over, and the seconds from its start to then."""

    until: float
    seconds: float

    @classmethod
    def before(cls, deadline: float | None) -> SearchTime | None:
        """The search's part of the time that is left; None where time is not limited."""
        if deadline is None:
            return None
        now = time.monotonic()
        seconds = SHARE * max(0.0, deadline - now)
        return cls(until=now + seconds, seconds=seconds)

    def late(self) -> bool:
        """Whether the search is over."""
        return time.monotonic() > self.until

    def affordable(self, spent: float, drawn: int, *, looks: int) -> int:
        """How many more outputs a look may draw where `drawn` took `spent` seconds, and as many `looks` share half the time."""
        share = min(0.5 * self.seconds / looks, self.until - time.monotonic())
        return max(0, math.floor((share - spent) / max(spent / drawn, 1e-9)))
