"""Choices with probabilities proportional to exp(-gap), exactly, for rational gaps: the exponential mechanism's sampler.

A uniform real U chooses the candidate whose interval of cumulative probability it falls into. The boundaries are known in
float64 up to a proved margin; a word that lies within the margin of one is compared with the exact boundaries instead
(docs/proofs/exactly-rounded-noise.md, theorem 7).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpkit.numerics.noise.lazy_uniform import (
    GUARD_BITS,
    Enclosure,
    LazyUniform,
    Precision,
    Real,
    enclose_decreasing,
    last_true,
    new_context,
)
from dpkit.numerics.noise.noise_inputs import FloatArray
from dpkit.numerics.noise.randomness import WORD_BITS, random_words

_BLOCK = 1024


def exponential_choices(
    gaps: FloatArray, *, exact: Callable[[int], Fraction], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw `size` independent indices, each i with probability proportional to exp(-exact(i)).

    The gaps are nonnegative and one of them is zero; `gaps` holds the same numbers in float64 with a relative error of at
    most 2**-51.
    """
    boundaries = cumulative(np.exp(-gaps))
    total = float(boundaries[-1])
    boundaries /= total
    words = random_words(rng, size)
    uniform = words.astype(np.float64)
    uniform *= 2.0**-WORD_BITS
    chosen = np.searchsorted(boundaries[:-1], uniform, side="right").astype(np.int64)
    for draw in np.flatnonzero(_unsure(uniform, boundaries, chosen)).tolist():
        chosen[draw] = _exact_choice(int(words[draw]), exact, gaps.size, int(chosen[draw]), rng)
    return chosen


def choices_by_row(
    gaps: FloatArray,
    *,
    rows: NDArray[np.intp],
    counts: NDArray[np.int64],
    exact: Callable[[int, int], Fraction],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """For each of these rows draw an index, each i with probability proportional to exp(-exact(row, i)).

    A row of the gaps holds as many candidates as `counts` says, at most 1024, and infinity behind them; one is zero. They are
    those of `exponential_choices` otherwise: the same words give the same draws.
    """
    boundaries = np.cumsum(np.exp(-gaps), axis=1)
    boundaries /= boundaries[:, -1:]
    boundaries[np.arange(gaps.shape[1]) >= counts[:, None] - 1] = 2.0  # the end of [0, 1] is no boundary
    words = random_words(rng, rows.size)
    uniform = words.astype(np.float64)
    uniform *= 2.0**-WORD_BITS
    mine = boundaries[rows]
    chosen: NDArray[np.int64] = np.count_nonzero(mine <= uniform[:, None], axis=1).astype(np.int64)
    draws, width = np.arange(rows.size), margin(_BLOCK)
    below = np.where(chosen > 0, mine[draws, chosen - 1], -1.0)
    for draw in np.flatnonzero((uniform - below <= width) | (mine[draws, chosen] - uniform <= width)).tolist():
        row = int(rows[draw])
        chosen[draw] = _exact_choice(int(words[draw]), partial(exact, row), int(counts[row]), int(chosen[draw]), rng)
    return chosen


def cumulative(weights: FloatArray) -> FloatArray:
    """Cumulative sums of nonnegative numbers with a relative error of at most (1024 + n/1024 + 3) units of rounding."""
    padded = np.zeros(-(-weights.size // _BLOCK) * _BLOCK)
    padded[: weights.size] = weights
    within = np.cumsum(padded.reshape(-1, _BLOCK), axis=1)
    before = np.concatenate(([0.0], np.cumsum(within[:-1, -1])))
    return (within + before[:, None]).reshape(-1)[: weights.size].copy()


def margin(count: int) -> float:
    """How far a boundary in float64 can be from the real one: weights, sums, quotient, and the rounding of the word."""
    sums = (_BLOCK + count / _BLOCK + 3.0) * 2.0**-53
    weights = (1.0 + math.log(count)) * 2.0**-49
    return 4.0 * (sums + weights) + 2.0**-50


def _unsure(uniform: FloatArray, boundaries: FloatArray, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a boundary lies within the margin. The ends of [0, 1] are no boundaries: nothing lies beyond them."""
    width = margin(boundaries.size)
    inner = np.concatenate(([-1.0], boundaries[:-1], [2.0]))
    return (uniform - inner[chosen] <= width) | (inner[chosen + 1] - uniform <= width)


def _exact_choice(word: int, exact: Callable[[int], Fraction], count: int, near: int, rng: np.random.Generator) -> int:
    context = new_context()
    uniform = LazyUniform(leading=word, bits=WORD_BITS, rng=rng, context=context)
    sums: dict[int, list[Real]] = {}

    def partial_sums(context: Precision) -> list[Real]:
        """Sums of the weights up to each candidate, at the precision that the comparison asks for."""
        if context.prec not in sums:
            running = context.mpf(0)
            found = [running]
            for gap in map(exact, range(count)):
                running = running + context.exp(-(context.mpf(gap.numerator) / context.mpf(gap.denominator)))
                found.append(running)
            sums[context.prec] = found
        return sums[context.prec]

    def at_or_above(index: int) -> bool:
        """Whether U is at or above the lower boundary of this candidate."""
        if index <= 0:
            return True
        if index >= count:
            return False

        def enclosure(context: Precision) -> tuple[Real, Real]:
            found = partial_sums(context)
            boundary = found[index] / found[-1]
            slack = context.ldexp(boundary, GUARD_BITS - context.prec)
            return boundary - slack, boundary + slack

        return not uniform.is_below(enclosure)

    return last_true(at_or_above, near)


# Against 2**-47, which is what the contracts below, the exponential and the rounding of the word add up to.
_SLACK = 2.0**-40


def coins(probability: FloatArray, *, enclosure: Callable[[int], Enclosure], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Toss one coin an entry: true with the real probability that `enclosure(i)` encloses.

    `probability` holds the same numbers in float64 with an error of at most 2**-48; it decides nearly every coin. Where a
    64-bit word lies within 2**-40 of its probability, the coin is a comparison of a lazy uniform with the exact real
    instead, so no coin is biased (docs/proofs/exactly-rounded-noise.md, theorem 4).
    """
    words = random_words(rng, probability.size)
    distance = words.astype(np.float64)
    distance *= -(2.0**-WORD_BITS)
    distance += probability
    heads = distance > 0
    unsure = np.flatnonzero(np.abs(distance) <= _SLACK)
    if unsure.size:
        context = new_context()
        for i in unsure.tolist():
            uniform = LazyUniform(leading=int(words[i]), bits=WORD_BITS, rng=rng, context=context)
            heads[i] = uniform.is_below(enclosure(i))
    return heads


def exponential_coins(exponent: FloatArray, *, exact: Callable[[int], Fraction], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Toss one coin an entry: true with probability exp(-gamma), where gamma = exact(i) >= 0 for the entry at i.

    `exponent` holds the same numbers in float64 with an error of at most 2**-50 (1 + 2 gamma).
    """
    return coins(np.exp(-exponent), enclosure=lambda i: enclose_decreasing(_exponential, exact(i)), rng=rng)


def _exponential(context: Precision, gamma: Real) -> Real:
    return context.exp(-gamma)
