"""Fourier transforms of laws on a lattice: their rounding, products of their powers, and lengths that are fast.

docs/proofs/pld.md, theorem 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex

Number = TypeVar("Number", Array, Complex)

_NEGLIGIBLE = 1e-43
"""The size below which a frequency is only bounded, not summed."""

_TINY = 1e-140
"""Where moduli are cut off, upwards: their squares are still normal numbers."""


def transform_rounding(size: int) -> float:
    """How far each value of a Fourier transform of this length is off, relatively to the sum of the moduli that enter it.

    Each input reaches each output through log2(size) stages of a twiddle factor and a few additions: less than 8 units of
    rounding a stage for lengths of 2, 3 and 5 alone, and twice that is allowed (docs/proofs/pld.md, theorem 5).
    """
    return 16.0 * UNIT_ROUNDOFF * math.log2(max(2, size))


def geometric_sequence(log_ratio: float, size: int) -> Array:
    """e^(log_ratio * i) for i below size, as products of two short sequences: a relative error of a few units a value."""
    short = 512
    rows = np.exp(log_ratio * short * np.arange(-(-size // short)))
    sequence = np.multiply.outer(rows, np.exp(log_ratio * np.arange(short))).reshape(-1)[:size]
    return np.asarray(sequence, dtype=np.float64)


def modulus(values: Complex) -> Array:
    """|values|, faster than a guarded hypotenuse: no value here is near the ends of the floats."""
    return np.asarray(np.sqrt(values.real * values.real + values.imag * values.imag), dtype=np.float64)


def multiply_powers(
    transforms: Iterable[tuple[Complex, int]], size: int, *, few: bool
) -> tuple[NDArray[np.int64], Complex, Array, float]:
    """Powers of transforms multiplied: (frequencies kept, their values, bounds of their errors, bound of the rest).

    A few transforms are held, and only the frequencies that count are raised to their powers; of many, one at a time is.
    """
    blur = transform_rounding(size)
    bound = np.ones(size // 2 + 1)
    running = None if few else np.ones(size // 2 + 1, dtype=np.complex128)
    held: list[tuple[Complex, int]] = []
    releases = factors = 0
    with np.errstate(under="ignore"):
        for transform, count in transforms:
            bound *= np.maximum(power(modulus(transform) + blur, count), _TINY)
            np.maximum(bound, _TINY, out=bound)
            releases, factors = releases + count, factors + 1
            if running is None:
                held.append((transform, count))
            else:
                running *= power(transform, count)
    bound *= 1.0 + 8.0 * UNIT_ROUNDOFF * (releases + factors)
    kept = np.flatnonzero(bound > _NEGLIGIBLE)
    everything = kept.size == bound.size
    kept_bound = bound if everything else bound[kept]
    dropped = 0.0 if everything else 2.0 * (float(np.sum(bound)) - float(np.sum(kept_bound)) * (1.0 - 1e-9))
    value = np.ones(kept.size, dtype=np.complex128) if running is None else running[kept]
    for transform, count in held:
        value *= power(transform if everything else transform[kept], count)
    # |prod (a + e)^k - prod a^k| <= prod (|a| + |e|)^k - prod |a|^k, and a few roundings a multiplication
    spread = np.maximum(kept_bound - modulus(value), 0.0) + kept_bound * (16.0 * UNIT_ROUNDOFF * (releases + factors))
    return kept.astype(np.int64), value, spread, min(dropped, 2.0 * bound.size * _NEGLIGIBLE)


def power(base: Number, count: int) -> Number:
    """base^count by repeated squaring: a relative error of at most 3 units of rounding a factor; tiny values are cut off."""
    result: Number | None = None
    square = base
    while True:
        if count & 1:
            result = square.copy() if result is None else result * square
        count >>= 1
        if not count:
            return base * 0.0 + 1.0 if result is None else result
        square = square * square
        if square.dtype.kind == "f":
            np.maximum(square, _TINY, out=square)  # numbers below the normal ones would be very slow


def fast_length(size: int) -> int:
    """The next even length of 2, 3 and 5 alone."""
    from scipy.fft import next_fast_len

    length = int(next_fast_len(max(16, size), real=True))
    while length % 2:
        length = int(next_fast_len(length + 1, real=True))
    return length
