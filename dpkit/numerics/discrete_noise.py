"""Integer noise, sampled exactly: the discrete Laplace and the discrete Gaussian law.

The scale is a float64, which is an exact rational, and every probability that decides something is compared with a
uniform real that has as many bits as the decision needs. So the answer has exactly the stated law, given independent
uniform words (docs/proofs/exactly-rounded-noise.md, theorems 4 to 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_bernoulli import exponential_coins
from dpkit.numerics.exact_rounding import StepRounder
from dpkit.numerics.laplace_noise import LAPLACE
from dpkit.numerics.noise_inputs import as_float
from dpkit.numerics.randomness import random_words

IntArray = NDArray[np.int64]

SMALLEST_SCALE, LARGEST_SCALE = 2.0**-20, 2.0**40
LARGEST_INTEGER = 2**62 - 1
"""Values and noise are clamped to this magnitude before they are added, so that their sum never overflows."""

_FINE_BITS = 20
_BATCH = 1 << 14


def discrete_laplace(*, scale: float, size: int | tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """Draw independent integers with P(x) proportional to exp(-|x| / scale) (Ghosh et al. 2009), exactly."""
    scale = _checked_scale(scale, where="discrete_laplace")
    return _filled(size, lambda count: _propose_laplace(scale, count, rng))


def discrete_gaussian(*, scale: float, size: int | tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """Draw independent integers with P(x) proportional to exp(-x**2 / (2 scale**2)), exactly.

    By rejection from the discrete Laplace law, as in Canonne, Kamath and Steinke 2020, algorithm 3.
    """
    scale = _checked_scale(scale, where="discrete_gaussian")
    return _filled(size, lambda count: _propose_gaussian(scale, count, rng))


def add_saturating(value: ArrayLike, noise: IntArray) -> IntArray:
    """Add noise to integers, both clamped to `LARGEST_INTEGER`: no value can make the sum overflow or raise."""
    integers = np.asarray(value)
    if integers.dtype.kind not in "iu":
        raise InvalidValueError(
            field="value", found=f"an array of {integers.dtype}", allowed="an array of integers", where="add_saturating"
        )
    wide = np.minimum(integers.astype(np.uint64), LARGEST_INTEGER) if integers.dtype.kind == "u" else integers
    clamped: IntArray = np.clip(wide.astype(np.int64), -LARGEST_INTEGER, LARGEST_INTEGER)
    total: IntArray = clamped + np.clip(noise, -LARGEST_INTEGER, LARGEST_INTEGER)
    return total


def _filled(size: int | tuple[int, ...], propose: Callable[[int], IntArray]) -> IntArray:
    """Fill an array with the first accepted proposals; which are kept does not depend on what they are."""
    answer = np.empty(size, dtype=np.int64)
    flat = answer.reshape(-1)
    filled = 0
    while filled < flat.size:
        missing = flat.size - filled
        accepted = propose(min(_BATCH, missing + missing // 2 + 8))[:missing]
        flat[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return answer


def _propose_laplace(scale: float, count: int, rng: np.random.Generator) -> IntArray:
    """A sign and a geometric magnitude; minus zero is rejected, so that zero is not counted twice."""
    coarse_bits = max(0, math.frexp(scale)[1] - _FINE_BITS)
    negative, magnitude = _signed_geometric(math.ldexp(scale, -coarse_bits), count, rng)
    if coarse_bits:
        magnitude, kept = _with_low_bits(magnitude, coarse_bits, scale, rng)
        negative = negative[kept]
    kept = ~negative | (magnitude != 0)
    accepted: IntArray = np.where(negative, -magnitude, magnitude)[kept]
    return accepted


def _signed_geometric(scale: float, count: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], IntArray]:
    """A fair sign and, independently, G with P(G >= n) = exp(-n / scale): the integer part of a scaled exponential.

    The word's Laplace variate Z has that sign and |Z| exponential; rounding scale * Z -+ 1/2 truncates it.
    """
    words = random_words(rng, count)
    rounder = StepRounder(law=LAPLACE, steps_per_scale=scale)
    negative = words.view(np.int64) < 0
    offset = np.where(negative, 0.5, -0.5)
    rounded, decided = rounder.fast(words, offset)
    integers = rounded.astype(np.int64)
    if not decided.all():
        open_ones = np.flatnonzero(~decided)
        centres = (Fraction(centre) for centre in offset[open_ones].tolist())
        for i, exact in zip(open_ones.tolist(), rounder.exact(words[open_ones], centres, rng), strict=True):
            integers[i] = min(max(exact, -LARGEST_INTEGER), LARGEST_INTEGER)
    return negative, np.abs(integers)


def _with_low_bits(coarse: IntArray, bits: int, scale: float, rng: np.random.Generator) -> tuple[IntArray, NDArray[np.bool_]]:
    """Refine a geometric magnitude at 1 / 2**bits of the scale to one at the scale: its low bits are independent of it.

    P(2**bits h + r) is proportional to exp(-2**bits h / scale) exp(-r / scale): uniform low bits r, kept with
    probability exp(-r / scale), which is nearly one.
    """
    low = (random_words(rng, coarse.size) & np.uint64((1 << bits) - 1)).astype(np.int64)
    kept = exponential_coins(low / scale, exact=lambda i: int(low[i]) / Fraction(scale), rng=rng)
    largest = LARGEST_INTEGER >> bits
    return (np.minimum(coarse[kept], largest) << bits) + low[kept], kept


def _propose_gaussian(scale: float, count: int, rng: np.random.Generator) -> IntArray:
    envelope = math.floor(scale) + 1
    proposed = _propose_laplace(float(envelope), count, rng)
    exponent = (np.abs(proposed) - scale * scale / envelope) / scale
    exponent *= exponent
    exponent *= 0.5
    variance = Fraction(scale) ** 2

    def exact(i: int) -> Fraction:
        return (abs(int(proposed[i])) - variance / envelope) ** 2 / (2 * variance)

    return proposed[exponential_coins(exponent, exact=exact, rng=rng)]


def _checked_scale(scale: float, *, where: str) -> float:
    number = as_float(scale)
    if not SMALLEST_SCALE <= number <= LARGEST_SCALE:
        raise InvalidValueError(field="scale", found=scale, allowed="a number between 2**-20 and 2**40", where=where)
    return number
