"""Exact coins: heads with a given real probability, decided in float64 nearly always and by a lazy uniform otherwise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpkit.numerics.noise.lazy_uniform import Enclosure, LazyUniform, Precision, Real, enclose_decreasing, new_context
from dpkit.numerics.noise.noise_inputs import FloatArray
from dpkit.numerics.noise.randomness import WORD_BITS, random_words

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
