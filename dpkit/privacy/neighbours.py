"""The neighbour relation, and the distances between the values that neighbours give; the set of metrics is open."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from functools import lru_cache

from dpkit.numerics.rounding import in_full, round_up
from dpkit.privacy.checks import checked, nonempty_text, nonnegative, whole_number
from dpkit.values import dataclass


class Neighbours(Enum):
    """Add-remove: one record more or less. Replace-one: same size, one record changed. Both are symmetric."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    def __str__(self) -> str:
        return self.value


EITHER = (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)
"""For what holds under each relation, because the distance was already measured in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(metric=nonempty_text, value=nonnegative)
class Distance:
    """At most `value` in the metric of that name."""

    metric: str
    value: float

    def times(self, count: int) -> Distance:
        """The distance of a group: `count` steps of this one, by the triangle inequality; rounded up."""
        return _repeated(self, whole_number(count, field="count", where="Distance.times"))

    def __str__(self) -> str:
        return f"{self.metric}({in_full(self.value)})"


@lru_cache(maxsize=64)
def _repeated(distance: Distance, count: int) -> Distance:
    """A plan asks this of the same few distances, often."""
    return Distance(metric=distance.metric, value=round_up(Fraction(distance.value) * count))


def l1(value: float) -> Distance:
    """Sum of absolute differences."""
    return Distance(metric="l1", value=value)


def l2(value: float) -> Distance:
    """Euclidean distance."""
    return Distance(metric="l2", value=value)


def linf(value: float) -> Distance:
    """Largest absolute difference of a coordinate."""
    return Distance(metric="linf", value=value)


def frobenius(value: float) -> Distance:
    """Euclidean distance of matrices, every entry counted (off-diagonals twice in a symmetric matrix)."""
    return Distance(metric="frobenius", value=value)


def rank_one(value: float) -> Distance:
    """A change by c v v' with a unit vector v and c at most `value`."""
    return Distance(metric="rank_one", value=value)


def records(count: int) -> Distance:
    """At most `count` steps of the neighbour relation."""
    return Distance(metric="records", value=whole_number(count, field="count", where="records"))
