"""How often a release is repeated before the best one is given: negative binomial (truncated at 0) and Poisson, exactly.

A uniform real chooses the number whose interval of cumulative probability it falls into. Boundaries are known in float64 up to
a margin; a word within the margin of one, or beyond the last one, is compared with the exact boundaries instead.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpkit.numerics.noise.lazy_uniform import GUARD_BITS, LazyUniform, Precision, Real, last_true, new_context
from dpkit.numerics.noise.randomness import WORD_BITS, random_words

_MOST = 1 << 22
"""Boundaries in float64; what lies beyond is decided exactly."""

_FAR = 1e-18
"""A tail that ends the table."""


def repetition_counts(rate: float, shape: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw `size` numbers. At a finite shape, P(k) is proportional to (1 - rate)^k times (shape)_k / k!, k >= 1.

    At shape 0 that is (1 - rate)^k / k, by continuity; at infinity it is the Poisson law with mean `rate`, k >= 0.
    """
    boundaries, margin = _table(rate, shape)
    first = 0 if math.isinf(shape) else 1
    words = random_words(rng, size)
    uniform = words.astype(np.float64) * 2.0**-WORD_BITS
    place = np.searchsorted(boundaries, uniform, side="right").astype(np.int64)
    edges = np.concatenate(([-1.0], boundaries, [-1.0]))
    unsure = (place == boundaries.size) | (edges[place + 1] - uniform <= margin) | (uniform - edges[place] <= margin)
    for draw in np.flatnonzero(unsure).tolist():
        place[draw] = _exactly(int(words[draw]), rate, shape, int(place[draw]), rng)
    return np.asarray(place + first, dtype=np.int64)


@lru_cache(maxsize=16)
def _table(rate: float, shape: float) -> tuple[NDArray[np.float64], float]:
    """Cumulative probabilities, and how far each may be off."""
    k = np.arange(1.0, min(_MOST, _enough(rate, shape)))
    if math.isinf(shape):
        logs = np.concatenate(([0.0], np.cumsum(np.log(rate / k)))) - rate
    else:
        # ratios of neighbouring probabilities
        logs = np.concatenate(([0.0], np.cumsum(np.log((k + shape) / (k + 1.0)) + math.log1p(-rate)))) + math.log(
            _first(rate, shape)
        )
    sums = np.cumsum(np.exp(logs))
    return sums, 64.0 * (sums.size + 16.0) * 2.0**-53 * (1.0 + float(np.max(np.abs(logs[np.exp(logs) > 1e-12]))))


def _enough(rate: float, shape: float) -> int:
    if math.isinf(shape):
        return int(rate + 12.0 * math.sqrt(rate) + 60.0)
    return int((-math.log(_FAR) + 2.0 * max(shape, 0.0) * math.log(2.0 + max(shape, 0.0) / rate)) / -math.log1p(-rate)) + 60


def _first(rate: float, shape: float) -> float:
    """P(1)."""
    logarithm = -math.log(rate)
    return (1.0 - rate) / (math.expm1(shape * logarithm) / shape if shape else logarithm)


def _exactly(word: int, rate: float, shape: float, near: int, rng: np.random.Generator) -> int:
    context = new_context()
    uniform = LazyUniform(leading=word, bits=WORD_BITS, rng=rng, context=context)
    laws: dict[int, tuple[list[Any], list[Any]]] = {}

    def boundary(context: Precision, place: int) -> Real:
        """The probability of all that come before this place."""
        law, sums = laws.setdefault(context.prec, ([], [context.mpf(0)]))
        while len(sums) <= place:
            law.append(_next_probability(context, rate, shape, law))
            sums.append(sums[-1] + law[-1])
        found: Real = sums[place]
        return found

    def at_or_above(place: int) -> bool:
        if place <= 0:
            return True

        def enclosure(context: Precision) -> tuple[Real, Real]:
            middle = boundary(context, place)
            slack = context.ldexp(context.mpf(place + 1), GUARD_BITS // 2 - context.prec)
            return middle - slack, middle + slack

        return not uniform.is_below(enclosure)

    return last_true(at_or_above, near)


def _next_probability(context: Any, rate: float, shape: float, law: list[Any]) -> Any:
    """That of the next place, from the one before it."""
    q, place = context.mpf(rate), len(law)
    if math.isinf(shape):
        return law[-1] * q / place if law else context.exp(-q)
    if law:
        return law[-1] * (1 - q) * (place + context.mpf(shape)) / (place + 1)
    span = context.expm1(-context.mpf(shape) * context.log(q)) / context.mpf(shape) if shape else -context.log(q)
    return (1 - q) / span
