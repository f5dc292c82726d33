"""In which order quantiles are chosen, which two of them together, and how much of the budget each level has.

All of it follows from the probabilities: public, and the same in every run (docs/proofs/quantiles.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise

PARTS = 2**20
"""Shares of the rows of a part are multiples of 1 over this."""
_UNITS = 2**10
"""Weights of levels are multiples of 1 over this."""
_CHOICES = {1: 3 * _UNITS // 5, 2: 7 * _UNITS // 10}
"""The units that are for one or two quantiles; the others are for the ends of intervals."""
_CHOICES_OF_MORE = 4 * _UNITS // 5
_MANY = 12
"""The most probabilities of which every first choice is tried; of more, only evenly spread ones."""
_VERY_MANY = 64
"""From this number of probabilities on, halves of halves with equal weights: nothing else is tried."""
_FACTORS = (0.7, 0.85, 1.2, 1.4)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileBatch:
    """One or two quantiles that are chosen together: their places, those on the left and right that were chosen before (-1 and
    the number of all where there is none), and which share of the rows between these lies below each, in `PARTS`.
    """

    places: tuple[int, ...]
    shares: tuple[int, ...]
    left: int
    right: int
    level: int

    @property
    def moved(self) -> Fraction:
        """By how much the loss of the choice varies where one row comes or goes, times the scale of the scores."""
        below = sum(self.shares)
        return Fraction(2 * max(below, len(self.shares) * PARTS - below), PARTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileSchedule:
    """Batches, level after level; and the part of the whole that each level has, that of the ends of intervals last."""

    batches: tuple[QuantileBatch, ...]
    weights: tuple[Fraction, ...]

    def scales(self, count: int) -> tuple[tuple[float, ...], ...]:
        """For each of `count` probabilities: the scales of Laplace noises whose sum is the error of its rank, at scale 1."""
        found: dict[int, dict[int, float]] = {-1: {}, count: {}}
        for batch in self.batches:
            own = float(batch.moved / self.weights[batch.level])
            for place, share in zip(batch.places, batch.shares, strict=True):
                errors = {place: own}
                for near, part in ((batch.left, 1.0 - share / PARTS), (batch.right, share / PARTS)):
                    for other, size in found[near].items():
                        errors[other] = errors.get(other, 0.0) + part * size
                found[place] = errors
        return tuple(tuple(found[place].values()) for place in range(count))


@lru_cache(maxsize=256)
def quantile_schedule(probabilities: tuple[float, ...]) -> QuantileSchedule:
    """The one whose largest error of a rank is smallest, of those that are tried."""
    found = [_weighted(batches, len(probabilities)) for batches in _candidates(probabilities)]
    return min(found, key=lambda one: round(one[0], 6))[1]


def _candidates(probabilities: tuple[float, ...]) -> Iterator[tuple[QuantileBatch, ...]]:
    """Few levels with pairs, or more levels with single ones; the first choice anywhere."""
    count, known = len(probabilities), set()
    for levels in range(count.bit_length() if count >= _VERY_MANY else 1, count.bit_length() + 1):
        for first in _firsts(count):
            found = _split(probabilities, first, levels)
            if found is not None and found not in known:
                known.add(found)
                yield found


def _firsts(count: int) -> Iterator[tuple[int, ...]]:
    """Those that may be chosen first."""
    for size in (1,) if count >= _VERY_MANY else (1, 2):
        if count > _MANY:
            yield _spread(-1, count, size)
        elif size <= count:
            yield from combinations(range(count), size)


def _split(probabilities: tuple[float, ...], first: tuple[int, ...], levels: int) -> tuple[QuantileBatch, ...] | None:
    """Level after level, each part by as few as the levels that are left allow; None where two are not enough."""
    found, parts, chosen = [], [(-1, len(probabilities))], {(-1, len(probabilities)): first}
    for level in range(levels):
        later = []
        for left, right in parts:
            inside = right - left - 1
            size = inside if level == levels - 1 else math.ceil((inside + 1) ** (1.0 / (levels - level)) - 1e-9) - 1
            places = chosen.get((left, right), _spread(left, right, size))
            if len(places) > 2:
                return None
            found.append(_batch(probabilities, places, left, right, level))
            later += [pair for pair in pairwise((left, *places, right)) if pair[1] - pair[0] > 1]
        parts = later
    return None if parts else tuple(found)


def _spread(left: int, right: int, size: int) -> tuple[int, ...]:
    """`size` places between these two, evenly."""
    return tuple(left + ((place + 1) * (right - left)) // (size + 1) for place in range(size))


def _batch(probabilities: Sequence[float], places: tuple[int, ...], left: int, right: int, level: int) -> QuantileBatch:
    ends = (0.0, *probabilities, 1.0)
    low, high = Fraction(ends[left + 1]), Fraction(ends[right + 1])
    inner = [Fraction(ends[place + 1]) for place in places]
    shares = tuple(round((one - low) / (high - low) * PARTS) if high > low else PARTS // 2 for one in inner)
    return QuantileBatch(places=places, shares=shares, left=left, right=right, level=level)


def _weighted(batches: tuple[QuantileBatch, ...], count: int) -> tuple[float, QuantileSchedule]:
    """The largest error, and the schedule with weights that make it small: level by level, as long as it falls."""
    levels = batches[-1].level + 1
    shares = [1.0] * levels
    error, found = _with(batches, shares, count)
    improved = levels > 1 and count < _VERY_MANY
    while improved:
        improved = False
        for level in range(levels):
            for factor in _FACTORS:
                tried = [share * factor if place == level else share for place, share in enumerate(shares)]
                other = _with(batches, tried, count)
                if other[0] < error * (1.0 - 1e-6):
                    (error, found), shares, improved = other, tried, True
    return error, found


def _with(batches: tuple[QuantileBatch, ...], shares: Sequence[float], count: int) -> tuple[float, QuantileSchedule]:
    """With weights in proportion to these. The ends of intervals have what is left over."""
    total, choices = sum(shares), _CHOICES.get(count, _CHOICES_OF_MORE)
    weights = [Fraction(max(1, int(choices * share / total)), _UNITS) for share in shares]
    found = QuantileSchedule(batches=batches, weights=(*weights, 1 - sum(weights, Fraction(0))))
    return max(math.sqrt(sum(size * size for size in sizes)) for sizes in found.scales(count)), found
