"""Real numbers with Laplace noise, of which only as many bits are drawn as a comparison needs: comparisons are exact.

The noise is -scale ln(U) with a fair sign, U being uniform. U is known as an interval, ln is monotone, and so is the sum: two
such numbers are compared once their intervals are apart, which happens with probability one
(docs/proofs/exactly-rounded-noise.md, lemma 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpkit.numerics.noise.lazy_uniform import GUARD_BITS, Precision, Real, new_context
from dpkit.numerics.noise.noise_inputs import FloatArray, IntArray
from dpkit.numerics.noise.randomness import WORD_BITS, random_words

_EXTRA_PRECISION = 96
_SURE = 1 << 32
"""A first word from which on floats know the number well: it leaves less than 2**-31 of ln(U) open."""

Words = NDArray[np.uint64]


class LazyLaplace:
    """`center` plus Laplace noise of this scale, known as far as it was asked about."""

    __slots__ = ("_bits", "_center", "_leading", "_negative", "_scale")

    def __init__(self, center: Fraction, scale: Fraction, words: Sequence[int]) -> None:
        sign, self._leading = words
        self._negative, self._bits = bool(sign & 1), WORD_BITS
        self._center, self._scale = center, scale

    def refine(self, rng: np.random.Generator) -> None:
        """One more word of the uniform."""
        self._leading = (self._leading << WORD_BITS) | int(random_words(rng, 1)[0])
        self._bits += WORD_BITS

    def interval(self, context: Precision) -> tuple[Real | None, Real | None]:
        """Ends between which the number lies; None for an end that is not known yet: U may be 0."""
        context.prec = self._bits + _EXTRA_PRECISION
        near = self._noise(context, self._leading + 1, up=False)
        far = None if self._leading == 0 else self._noise(context, self._leading, up=True)
        middle = context.mpf(self._center.numerator) / context.mpf(self._center.denominator)
        slack = context.ldexp(abs(middle), GUARD_BITS - context.prec)
        if self._negative:
            return None if far is None else middle - slack - far, middle + slack - near
        return middle - slack + near, None if far is None else middle + slack + far

    def _noise(self, context: Precision, leading: int, *, up: bool) -> Real:
        """scale times -ln of the uniform's end, rounded away from or towards 0."""
        size = -context.log(context.ldexp(context.mpf(leading), -self._bits))
        value = size * (context.mpf(self._scale.numerator) / context.mpf(self._scale.denominator))
        slack = context.ldexp(abs(value), GUARD_BITS - context.prec) + context.ldexp(
            context.mpf(self._scale.numerator) / context.mpf(self._scale.denominator), GUARD_BITS - context.prec
        )
        return value + slack if up else value - slack


def draw_words(rng: np.random.Generator, draws: int, count: int) -> Words:
    """The first words of `draws` times `count` numbers: a sign and a uniform each."""
    return random_words(rng, draws * count * 2).reshape(draws, count, 2)


def bounds(centers: FloatArray, scale: float, words: Words) -> tuple[FloatArray, FloatArray]:
    """Ends in floats between which each number lies; infinite where one word says too little."""
    with np.errstate(all="ignore"):
        size = -np.log((words[..., 1].astype(np.float64) + 0.5) * 2.0**-WORD_BITS)
        near = centers + scale * np.where(words[..., 0] & np.uint64(1), -size, size)
        margin = scale * 2.0**-30 + 2.0**-48 * (np.abs(centers) + scale * size)
    margin = np.where(words[..., 1] >= _SURE, margin, np.inf)
    return near - margin, near + margin


def lazy(centers: FloatArray, scale: float, words: Words) -> list[LazyLaplace]:
    """The numbers of one draw, to be compared bit by bit."""
    pairs = zip(np.atleast_1d(centers).tolist(), words.tolist(), strict=True)
    return [LazyLaplace(Fraction(float(center)), Fraction(scale), pair) for center, pair in pairs]


def largest_places(centers: FloatArray, scale: float, draws: int, rng: np.random.Generator) -> IntArray:
    """For each draw, the place of the largest of these numbers with fresh noise, exactly."""
    words = draw_words(rng, draws, centers.size)
    low, high = bounds(centers, scale, words)
    rows, best = np.arange(draws), np.argmax(low, axis=1)
    high[rows, best] = -np.inf
    for draw in np.flatnonzero(~(low[rows, best] > np.max(high, axis=1))).tolist():
        best[draw] = largest(lazy(centers, scale, words[draw]), rng)
    return np.asarray(best, dtype=np.int64)


def first_places_above(
    centers: FloatArray, scale: float, bar: float, bar_scale: float, draws: int, rng: np.random.Generator
) -> IntArray:
    """In each draw, the first of these numbers above a bar with noise of its own; their number where none is; exactly."""
    bar_words, words = draw_words(rng, draws, 1), draw_words(rng, draws, centers.size)
    bar_low, bar_high = bounds(np.array([bar]), bar_scale, bar_words)
    low, high = bounds(centers, scale, words)
    open_or_above = np.concatenate((~(high < bar_low), np.ones((draws, 1), dtype=np.bool_)), axis=1)
    first = np.argmax(open_or_above, axis=1)
    sure = np.concatenate((low > bar_high, np.ones((draws, 1), dtype=np.bool_)), axis=1)[np.arange(draws), first]
    for draw in np.flatnonzero(~sure).tolist():
        level = lazy(np.array([bar]), bar_scale, bar_words[draw])[0]
        numbers = lazy(centers, scale, words[draw])
        first[draw] = next((place for place, one in enumerate(numbers) if is_above(one, level, rng)), centers.size)
    return np.asarray(first, dtype=np.int64)


def is_above(one: LazyLaplace, other: LazyLaplace, rng: np.random.Generator) -> bool:
    """Whether the first is above the second, exactly; they are equal with probability zero."""
    context = new_context()
    while True:
        (low, high), (lower, higher) = one.interval(context), other.interval(context)
        if low is not None and higher is not None and low > higher:
            return True
        if high is not None and lower is not None and high < lower:
            return False
        one.refine(rng)
        other.refine(rng)


def largest(numbers: Sequence[LazyLaplace], rng: np.random.Generator) -> int:
    """The place of the largest, exactly."""
    best = 0
    for place in range(1, len(numbers)):
        if is_above(numbers[place], numbers[best], rng):
            best = place
    return best
