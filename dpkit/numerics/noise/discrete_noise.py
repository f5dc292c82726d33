"""Integer noise, sampled exactly: the discrete Laplace and the discrete Gaussian law.

The scale is a float64, which is an exact rational, and every probability that decides something is compared with a
uniform real that has as many bits as the decision needs. So the answer has exactly the stated law, given independent
uniform words (docs/proofs/exactly-rounded-noise.md, theorems 4 to 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpkit.errors import InvalidValueError
from dpkit.numerics.noise.exact_choice import exponential_coins
from dpkit.numerics.noise.exact_rounding import LAPLACE, StepRounder
from dpkit.numerics.noise.noise_inputs import IntArray, as_float
from dpkit.numerics.noise.randomness import random_words

Integers = NDArray[Any]
"""int64, or Python's integers (dtype object) where one of them is too large: as rare as exp(-2**21), but then still exact."""

SMALLEST_SCALE, LARGEST_SCALE = 2.0**-30, 2.0**40
LARGEST_VALUE, LARGEST_SUM = 2**61, 2**62
"""What noise is added to has at most the first magnitude; the exact sum is clamped to the second, 2**21 scales beyond it."""

_LARGEST_NOISE = 2**63 - 1  # at least LARGEST_VALUE + LARGEST_SUM: noise cut there gives the same clamped sum
_LARGEST_NARROW = 2**41  # a geometric magnitude up to here fits into an int64 with all its low bits
_FINE_BITS = 20
_BATCH = 1 << 14


def discrete_laplace(*, scale: float, size: int | tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """Draw independent integers with P(x) proportional to exp(-|x| / scale) (Ghosh et al. 2009), exactly.

    What an int64 cannot hold is returned as its largest magnitude.
    """
    scale = checked_discrete_scale(scale, where="discrete_laplace")
    return _filled(size, lambda count: _propose_laplace(scale, count, rng))


def discrete_gaussian(*, scale: float, size: int | tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """Draw independent integers with P(x) proportional to exp(-x**2 / (2 scale**2)), exactly.

    By rejection from the discrete Laplace law, as in Canonne, Kamath and Steinke 2020, algorithm 3.
    """
    scale = checked_discrete_scale(scale, where="discrete_gaussian")
    return _filled(size, lambda count: _propose_gaussian(scale, count, rng))


def checked_discrete_scale(scale: float, *, where: str) -> float:
    """Return a scale for which every step of the samplers is exact: from below 1e-9 to above 1e12."""
    number = as_float(scale)
    if not SMALLEST_SCALE <= number <= LARGEST_SCALE:
        raise InvalidValueError(field="scale", found=scale, allowed="a number between 2**-30 and 2**40", where=where)
    return number


def add_saturating(value: ArrayLike, noise: IntArray) -> IntArray:
    """Add noise to integers (clamped to `LARGEST_VALUE`) and clamp the exact sum to `LARGEST_SUM`: nothing overflows or raises.

    A clamp of the sum is post-processing: it acts on the ideal answer, whatever the value is.
    """
    integers = np.asarray(value)
    if integers.dtype.kind not in "iu":
        raise InvalidValueError(
            field="value", found=f"an array of {integers.dtype}", allowed="an array of integers", where="add_saturating"
        )
    wide = np.minimum(integers.astype(np.uint64), LARGEST_VALUE) if integers.dtype.kind == "u" else integers
    clamped: IntArray = np.clip(wide.astype(np.int64, copy=False), -LARGEST_VALUE, LARGEST_VALUE)
    room = LARGEST_SUM - LARGEST_VALUE
    if noise.size and not (noise.min() >= -room and noise.max() <= room):
        noise = np.clip(noise, -LARGEST_SUM - clamped, LARGEST_SUM - clamped)
    clamped += noise
    return clamped


def _filled(size: int | tuple[int, ...], propose: Callable[[int], Integers]) -> IntArray:
    """Fill an array with the first accepted proposals; which are kept does not depend on what they are.

    Only here, after every acceptance, are magnitudes beyond an int64 cut.
    """
    answer = np.empty(size, dtype=np.int64)
    flat = answer.reshape(-1)
    filled = 0
    while filled < flat.size:
        missing = flat.size - filled
        accepted = propose(min(_BATCH, missing + missing // 2 + 8))[:missing]
        if accepted.dtype == object:
            accepted = np.clip(accepted, -_LARGEST_NOISE, _LARGEST_NOISE)
        flat[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return answer


def _propose_laplace(scale: float, count: int, rng: np.random.Generator) -> Integers:
    """A sign and a geometric magnitude; minus zero is rejected, so that zero is not counted twice."""
    coarse_bits = max(0, math.frexp(scale)[1] - _FINE_BITS)
    negative, magnitude = _signed_geometric(math.ldexp(scale, -coarse_bits), count, rng)
    if coarse_bits:
        magnitude, kept = _with_low_bits(magnitude, coarse_bits, scale, rng)
        negative = negative[kept]
    kept = ~negative | (magnitude != 0)
    accepted: Integers = np.where(negative, -magnitude, magnitude)[kept]
    return accepted


def _signed_geometric(scale: float, count: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Integers]:
    """A fair sign and, independently, G with P(G >= n) = exp(-n / scale): the integer part of a scaled exponential.

    The word's Laplace variate Z has that sign and |Z| exponential; rounding scale * Z -+ 1/2 truncates it.
    """
    words = random_words(rng, count)
    rounder = StepRounder(law=LAPLACE, steps_per_scale=scale)
    negative = words.view(np.int64) < 0
    offset = np.where(negative, 0.5, -0.5)
    rounded, decided = rounder.fast(words, offset)
    integers: Integers = rounded.astype(np.int64)
    if not decided.all():
        open_ones = np.flatnonzero(~decided)
        centres = (Fraction(centre) for centre in offset[open_ones].tolist())
        exact = list(rounder.exact(words[open_ones], centres, rng))
        if max(map(abs, exact)) > _LARGEST_NARROW:
            integers = integers.astype(object)
        integers[open_ones] = exact
    return negative, np.abs(integers)


def _with_low_bits(coarse: Integers, bits: int, scale: float, rng: np.random.Generator) -> tuple[Integers, NDArray[np.bool_]]:
    """Refine a geometric magnitude at 1 / 2**bits of the scale to one at the scale: its low bits are independent of it.

    P(2**bits h + r) is proportional to exp(-2**bits h / scale) exp(-r / scale): uniform low bits r, kept with
    probability exp(-r / scale), which is nearly one.
    """
    low = (random_words(rng, coarse.size) & np.uint64((1 << bits) - 1)).astype(np.int64)
    kept = exponential_coins(low / scale, exact=lambda i: int(low[i]) / Fraction(scale), rng=rng)
    return (coarse[kept] << bits) + low[kept], kept


def _propose_gaussian(scale: float, count: int, rng: np.random.Generator) -> Integers:
    envelope = math.floor(scale) + 1
    proposed = _propose_laplace(float(envelope), count, rng)
    exponent = np.abs(proposed).astype(np.float64)
    exponent -= scale * scale / envelope
    exponent /= scale
    exponent *= exponent
    exponent *= 0.5
    variance = Fraction(scale) ** 2

    def exact(i: int) -> Fraction:
        return (abs(int(proposed[i])) - variance / envelope) ** 2 / (2 * variance)

    return proposed[exponential_coins(exponent, exact=exact, rng=rng)]
