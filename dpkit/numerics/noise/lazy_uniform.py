"""A uniform real number of which only the bits that a decision needs are ever drawn, compared exactly with other reals.

Whether a uniform real lies below a fixed real is decided with probability one by finitely many bits of both. So any
sampler that only ever asks such questions is exact, whatever the precision of its parts (docs/proofs, "Exactly rounded
noise", lemma 3).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, Self

import numpy as np

from dpkit.numerics.noise.randomness import WORD_BITS, random_words

# Bits by which the working precision exceeds the bits known of the uniform, and those of it that a function may lose.
_EXTRA_PRECISION = 96
GUARD_BITS = 32


class Real(Protocol):
    """A number of arbitrary precision, as mpmath's `mpf`."""

    def __add__(self, other: Self | int, /) -> Self: ...
    def __sub__(self, other: Self | int, /) -> Self: ...
    def __mul__(self, other: Self | int, /) -> Self: ...
    def __truediv__(self, other: Self | int, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __lt__(self, other: Self | int, /) -> bool: ...
    def __le__(self, other: Self | int, /) -> bool: ...
    def __gt__(self, other: Self | int, /) -> bool: ...
    def __ge__(self, other: Self | int, /) -> bool: ...


class Precision(Protocol):
    """What is used here of an mpmath context; `prec` is its precision in bits."""

    prec: int

    def mpf(self, value: int | float, /) -> Real: ...
    def ldexp(self, value: Real | int, exponent: int, /) -> Real: ...
    def exp(self, value: Real, /) -> Real: ...
    def expm1(self, value: Real, /) -> Real: ...
    def log(self, value: Real, /) -> Real: ...
    def erfc(self, value: Real, /) -> Real: ...
    def sqrt(self, value: Real | int, /) -> Real: ...
    def mag(self, value: Real, /) -> int: ...


Enclosure = Callable[[Precision], tuple[Real, Real]]
"""A real number in [0, 1], as an interval around it. Being inside is what exactness needs; that the interval is at most about
2**-(prec - GUARD_BITS - 1) wide is what ends a comparison soon."""


def new_context() -> Precision:
    """Return a private mpmath context, so that nobody else's precision is read or changed."""
    import mpmath  # type: ignore[import-untyped]

    context: Precision = mpmath.MPContext()
    return context


class LazyUniform:
    """A uniform real in the interval `[leading, leading + 1] * 2**-bits`, known as far as it has been asked about."""

    __slots__ = ("_bits", "_context", "_leading", "_rng")

    def __init__(self, *, leading: int, bits: int, rng: np.random.Generator, context: Precision) -> None:
        self._leading = leading
        self._bits = bits
        self._rng = rng
        self._context = context

    def is_below(self, real: Enclosure) -> bool:
        """Decide exactly whether this number is below the enclosed one, drawing more bits while that is open."""
        context = self._context
        while True:
            context.prec = self._bits + _EXTRA_PRECISION
            low, high = real(context)
            if context.ldexp(context.mpf(self._leading + 1), -self._bits) <= low:
                return True
            if context.ldexp(context.mpf(self._leading), -self._bits) >= high:
                return False
            self._leading = (self._leading << WORD_BITS) | int(random_words(self._rng, 1)[0])
            self._bits += WORD_BITS


def enclose_decreasing(function: Callable[[Precision, Real], Real], at: Fraction) -> Enclosure:
    """Enclose a positive, decreasing function at a rational point.

    Assumes that `function(context, x)` has a relative error of at most 2**-(context.prec - GUARD_BITS). The rational
    is rounded outwards, so however steep the function is, its value at the exact point lies inside.
    """

    def enclose(context: Precision) -> tuple[Real, Real]:
        point = context.mpf(at.numerator) / context.mpf(at.denominator)
        slack = context.ldexp(abs(point), 3 - context.prec)
        low, high = function(context, point + slack), function(context, point - slack)
        widen = GUARD_BITS - context.prec
        return low - context.ldexp(low, widen), high + context.ldexp(high, widen)

    return enclose


def last_true(test: Callable[[int], bool], near: int) -> int:
    """Return the largest integer that passes a test which every smaller integer passes too, searching from `near`."""
    step = 1
    if test(near):
        low = near
        while test(low + step):
            low, step = low + step, 2 * step
        high = low + step
    else:
        high = near
        while not test(high - step):
            high, step = high - step, 2 * step
        low = high - step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if test(middle) else (low, middle)
    return low
