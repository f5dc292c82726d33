"""How often guesses of fair coins may be right, where one run saw them all: Mahloujifar, Melis and Chaudhuri's recursion.

m canaries are each in the run by a coin of their own. From the run's output, c of them are guessed (in or out); C guesses are
right. Claims hold for one canary, in or out, the others given. For any k, a guess that is right while C >= k is, with its coin
flipped, wrong while C >= k - 1. Averaged over coins and canaries (the curve is concave):
E[C; C >= k] / m <= B(E[c - C; C >= k - 1] / m), where the claim says P(S) <= B(Q(S)). So C >= v of probability tau asks for
mass at v - 1, that for mass at v - 2, and so on; where the masses exceed 1, the claim is refuted at level tau.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpkit.auditing.betting.profile import Point

LeastOf = Callable[[float], float]
"""r to the least h with r <= B(h): how likely an event must be with the coin flipped, by the claim."""

_ROUNDING = 1e-9
"""Of the masses that a recursion adds up; a claim must be broken by more."""


def least_by_points(points: tuple[Point, ...]) -> LeastOf:
    """By points (epsilon, delta) of a profile, both for an event and for what is left of it."""
    ratios = [(point.ratio, point.delta) for point in points]

    def least(r: float) -> float:
        return max(0.0, max(max((r - delta) / ratio, 1.0 - delta - ratio * (1.0 - r)) for ratio, delta in ratios))

    return least


def least_by_gaussian(mu: float) -> LeastOf:
    """By Gaussian noise of mu: the curve of mu-GDP itself (DRS22)."""
    from scipy.special import ndtr, ndtri

    return lambda r: float(ndtr(ndtri(r) - mu))


def may_be_right(least: LeastOf, *, canaries: int, guesses: int, right: int, level: float) -> bool:
    """Whether the claim allows that, with probability `level`, at least `right` guesses are right (MMC24, Algorithm 2)."""
    r, h = level * right / canaries, level * (guesses - right) / canaries
    whole = guesses / canaries * (1.0 + _ROUNDING)
    for k in range(right - 1, -1, -1):
        needed = least(min(r, 1.0))
        if needed <= h * (1.0 + _ROUNDING):
            return True  # nothing more is asked for, now and further down
        r += k / (guesses - k) * (needed - h)
        h = needed
        if r + h > whole:
            return False
    return r + h <= whole


def largest_refuted(least_of: Callable[[float], LeastOf], known: float, **counted: float) -> float:
    """The largest parameter, above one that is known, at which the claim is refuted; `known` where it is not refuted there.

    A curve that grows with its parameter is assumed. Rounded down.
    """

    def refuted(parameter: float) -> bool:
        return not may_be_right(least_of(parameter), **counted)  # type: ignore[arg-type]

    if not refuted(known):
        return known
    low, high = known, max(1.0, 2.0 * known)
    while refuted(high):
        low, high = high, 2.0 * high
        if high > 500.0:
            return low
    while high - low > 1e-7 * (1.0 + low):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return math.nextafter(low, 0.0)
