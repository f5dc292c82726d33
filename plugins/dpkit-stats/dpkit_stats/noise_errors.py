"""How far linear combinations of released numbers are off, by the law of the noise alone."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np

import dpkit
from dpkit.authoring import dataclass

_RELATIVE = 1e-4
"""Added to a quantile that was integrated numerically: far more than what is lost there."""
_RARE = 1e-5
"""Tails below this are bounded by Chernoff, since an integral would be lost in rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseErrors:
    """The errors of numbers that are each a sum over `cells` released ones: of a cell itself, or of a margin of a table.

    No cells: a number without noise.
    """

    noise: dpkit.Mechanism
    cells: int = 1

    def one(self, confidence: float) -> float:
        """Of one such number."""
        return self.combined((1.0,), confidence)

    def all_of(self, count: int, confidence: float) -> float:
        """Of `count` such numbers at once, whatever their laws have to do with each other."""
        return self.one(each_of(count, confidence))

    def combined(self, coefficients: Sequence[float], confidence: float) -> float:
        """Of a linear combination of such numbers."""
        sizes = tuple(sorted(abs(one) for one in coefficients if one))
        if not sizes or not self.cells:
            return 0.0
        if not isinstance(self.noise, Hashable):
            return _combined(self.noise, sizes, self.cells, confidence)
        return _remembered(self.noise, sizes, self.cells, confidence)


def each_of(count: int, confidence: float) -> float:
    """The confidence that each of several errors needs, so that all hold at once with this one (Bonferroni)."""
    return 1.0 - (1.0 - confidence) / max(count, 1)


@lru_cache(maxsize=4096)
def _remembered(noise: Hashable, sizes: tuple[float, ...], cells: int, confidence: float) -> float:
    assert isinstance(noise, dpkit.Mechanism)
    return _combined(noise, sizes, cells, confidence)


def _combined(noise: dpkit.Mechanism, sizes: tuple[float, ...], cells: int, confidence: float) -> float:
    """The smallest that is known. What holds of any noise is that no number is off by more than its `accuracy`."""
    if len(sizes) * cells == 1:
        return sizes[0] * dpkit.expected_error(noise, (), confidence)
    entries, norm = len(sizes) * cells, math.sqrt(cells) * math.hypot(*sizes)
    known = [cells * math.fsum(sizes) * dpkit.expected_error(noise, (entries,), confidence)]
    if isinstance(noise, dpkit.CombinedAccurate):
        known.append(noise.combined_accuracy(norm, 1, confidence, entries=entries))
    if isinstance(noise, dpkit.Laplace | dpkit.DiscreteLaplace):
        whole = 1.0 if isinstance(noise, dpkit.DiscreteLaplace) else noise.grid / 2.0
        rounding = whole * math.sqrt(entries) * norm
        known.append(laplace_combination(tuple(noise.scale * size for size in sizes), cells, confidence) + rounding)
    return min(known)


def laplace_combination(scales: Sequence[float], times: int | Sequence[int], confidence: float) -> float:
    """t with P(|Y| > t) = 1 - confidence for a sum Y of Laplace noises, `times` of each of these scales, a little rounded up.

    By Gil-Pelaez from the characteristic function, the product of (1 + s^2 w^2)^-times. Its step makes an error of the tail
    beyond 20 scales, its cut one of 1e-7. Rare tails by Chernoff's bound, at its best exponent.
    """
    largest = max(scales)
    relative, counts = np.array(scales) / largest, np.broadcast_to(np.array(times, dtype=np.float64), (len(scales),))
    place, up = _of_relative(tuple(relative.tolist()), tuple(counts.tolist()), confidence)
    return largest * place * up


@lru_cache(maxsize=64)
def _of_relative(scales: tuple[float, ...], times: tuple[float, ...], confidence: float) -> tuple[float, float]:
    """The same where the largest scale is 1, which does not depend on how much noise there is; and what it is rounded up by."""
    miss, relative, counts = 1.0 - confidence, np.array(scales), np.array(times)
    if miss >= _RARE:
        spread = math.sqrt(2.0 * float(counts @ relative**2))
        step = 2.0 * math.pi / (40.0 + 12.0 * spread)
        w = (np.arange(int(1000.0 / step)) + 0.5) * step
        law = np.exp(-(counts @ np.log1p(np.square(np.outer(relative, w))))) / w
        low, high, place = 0.0, 20.0 * spread, spread
        while high - low > 1e-10 * high:  # Newton's steps, and halves where one leads out
            beyond = 1.0 - 2.0 / math.pi * step * float(np.sin(w * place) @ law)
            low, high = (place, high) if beyond > miss else (low, place)
            density = 2.0 / math.pi * step * float(np.cos(w * place) @ (law * w))
            move = (beyond - miss) / density if density > 0.0 else math.inf
            nearer = place + move + math.copysign(1e-11 * high, move)  # a little too far, so that both ends come near
            place = nearer if low < nearer < high else 0.5 * (low + high)
        return high, 1.0 + _RELATIVE
    s = np.linspace(0.0, 1.0, 2002)[1:-1]
    exponents = math.log(2.0 / miss) - counts @ np.log1p(-np.square(np.outer(relative, s)))
    return float(np.min(exponents / s)), 1.0 + 1e-12
