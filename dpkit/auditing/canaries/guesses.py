"""Which canaries are guessed, from the scores of all: chosen without a look at the coins, at a few sizes with shares."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpkit.numerics.special import Array
from dpkit.values import dataclass

_FEWEST, _STEP, _IN_ALONE = 10.0, 1.35, 0.49
"""Guesses "in" alone: the fewest, how much more each next size is, and their share of the error probability."""
_MAIN, _AT = 0.25, 1_000
"""The share that is guessed first, and of how many canaries; of more, a smaller share, to be surer of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guessing:
    """`count` canaries are guessed: those of highest scores are in; unless `highest_only`, as many of lowest scores are out."""

    count: int
    highest_only: bool
    share: float
    """Of the error probability: shares are fixed before scores are seen, and add up to 1."""

    def right(self, scores: Array, members: npt.NDArray[np.bool_]) -> int:
        """How many guesses are right; `scores` ascend, and ties stand in an order that knows no coin."""
        top = self.count if self.highest_only else _upper(scores, self.count)
        low = self.count - top
        return int(np.count_nonzero(members[scores.size - top :])) + int(np.count_nonzero(~members[:low]))


def guessings(canaries: int) -> tuple[Guessing, ...]:
    """The sizes that are tried for this number of canaries.

    Half of the error probability is for guesses of both kinds, at a few sizes, which tell most where all scores move; half is
    for guesses "in" alone, at sizes so near to each other that one is near the best where a few canaries are remembered.
    """
    main = min(0.9, _MAIN * (_AT / canaries) ** 0.5)
    two_sided = ((0.97, 0.05), (min(0.97, 2.4 * main), 0.06), (main, 0.36), (0.4 * main, 0.04))
    shares: dict[tuple[int, bool], float] = {}
    for part, share in two_sided:
        place = max(1, round(part * canaries)), False
        shares[place] = shares.get(place, 0.0) + share
    highest = sorted({min(canaries, max(1, round(size))) for size in _ladder(canaries)})
    for count in highest:
        shares[count, True] = _IN_ALONE / len(highest)
    return tuple(Guessing(count=count, highest_only=one, share=share) for (count, one), share in shares.items())


def _ladder(canaries: int) -> list[float]:
    """Sizes from the fewest guesses that can tell to half of the canaries."""
    least, most = min(_FEWEST, 0.5 * canaries), 0.5 * canaries
    steps = max(1, math.ceil(math.log(most / least) / math.log(_STEP))) if most > least else 1
    return [least * (most / least) ** (place / steps) for place in range(steps + 1)]


def _upper(scores: Array, count: int) -> int:
    """How many of `count` guesses are "in": half, but not beyond where scores part best into two groups (Otsu)."""
    low = _parting(scores)
    return int(np.clip(count // 2, count - low, scores.size - low)) if count > 1 else 1


def _parting(scores: Array) -> int:
    """How many scores lie below the place at which the variance between two groups is largest; half where all are equal."""
    sizes = np.arange(1, scores.size)
    if sizes.size == 0 or scores[0] == scores[-1]:
        return scores.size // 2
    scaled = (scores - scores[0]) / (scores[-1] - scores[0])
    sums = np.cumsum(scaled)[:-1]
    gap = (scaled.sum() - sums) / (scores.size - sizes) - sums / sizes
    return int(sizes[np.argmax(sizes * (scores.size - sizes) * gap * gap)])
