"""Rounding to the safe side: a reported loss is never below the bound that the mathematics gives.

Two tools. Exact: sums of floats are dyadic rationals, so they are kept as `Fraction` and rounded once, upwards.
Outward: a value that went through elementary functions is moved up by a stated number of units in the last place
of the largest magnitude that entered it.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable
from fractions import Fraction

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one correctly rounded float64 operation."""

SMALLEST = 2.0**-1074
"""The smallest float above 0: what a positive number that underflows is rounded up to."""

_LOG_SMALLEST = -744.5
"""e to this is below the smallest float."""

_MANTISSA = 1 << 53


def next_up(value: float) -> float:
    """The next float above `value`."""
    return math.nextafter(value, math.inf)


def outward(value: float, *, magnitude: float, ulps: float = 8.0) -> float:
    """`value` moved up by `ulps` rounding units of `magnitude`, the largest number that entered the computation.

    Promise: if the computed value differs from the exact one by at most `ulps * 2**-53 * magnitude`, the result is an
    upper bound of the exact one.
    """
    if not math.isfinite(value):
        return value
    return next_up(value + ulps * UNIT_ROUNDOFF * max(abs(magnitude), abs(value)))


def exp_up(exponent: float) -> float:
    """e^exponent, rounded up: also below the normal floats, where relative margins round to nothing."""
    if exponent < _LOG_SMALLEST:
        return SMALLEST
    value = math.exp(exponent)
    return value * (1.0 + 4.0 * UNIT_ROUNDOFF) + SMALLEST


def round_up(exact: Fraction) -> float:
    """The smallest float that is not below an exact rational; infinity when it exceeds the largest float."""
    try:
        nearest = exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -_LARGEST
    if math.isinf(nearest):
        return math.inf if exact > 0 else -_LARGEST
    return nearest if Fraction(nearest) >= exact else next_up(nearest)


def round_down(exact: Fraction) -> float:
    """The largest float that is not above an exact rational."""
    return -round_up(-exact)


def exact_sum(terms: Iterable[tuple[float | Fraction, int]]) -> Fraction:
    """The exact value of `sum(value * count)`: no order of the terms can change it.

    Floats are dyadic, so their mantissas are added as integers, one bucket an exponent; that is far faster than adding
    fractions one by one.
    """
    buckets: dict[int, int] = {}
    rest = Fraction(0)
    for value, count in terms:
        if isinstance(value, Fraction):
            denominator = value.denominator
            if denominator & (denominator - 1):
                rest += value * count
                continue
            exponent, mantissa = 1 - denominator.bit_length(), value.numerator
        else:
            fraction, power = math.frexp(value)
            mantissa, exponent = int(fraction * _MANTISSA), power - 53
        buckets[exponent] = buckets.get(exponent, 0) + mantissa * count
    if not buckets:
        return rest
    lowest = min(buckets)
    total = sum(mantissa << (exponent - lowest) for exponent, mantissa in buckets.items())
    return rest + (Fraction(total << lowest) if lowest >= 0 else Fraction(total, 1 << -lowest))


def sqrt_up(exact: Fraction) -> float:
    """The square root of an exact rational, rounded up to a float."""
    # scaled by a power of four to about 1, so that no square under- or overflows
    shift = (exact.numerator.bit_length() - exact.denominator.bit_length()) // 2
    scaled = math.sqrt(round_up(exact / Fraction(4) ** shift))
    try:
        root = math.ldexp(scaled, shift)
    except OverflowError:
        return math.inf
    while math.isfinite(root) and Fraction(root) ** 2 < exact:
        root = next_up(root)
    return root


def sqrt_down(exact: Fraction) -> float:
    """The square root of an exact rational, rounded down to a float."""
    root = sqrt_up(exact)
    while root > 0.0 and (math.isinf(root) or Fraction(root) ** 2 > exact):
        root = math.nextafter(root, 0.0)
    return root


_LARGEST = math.ldexp(1.0 - 2.0**-53, 1024)


# How bounds are printed: a printed bound is a bound, too. Text and HTML go through these; JSON carries the floats themselves.


def format_up(value: float, *, digits: int = 6) -> str:
    """An upper bound in `digits` significant digits: never below the value, in decimal, exactly."""
    return _formatted(value, digits, decimal.ROUND_CEILING)


def format_down(value: float, *, digits: int = 6) -> str:
    """A lower bound in `digits` significant digits: never above the value, in decimal, exactly."""
    return _formatted(value, digits, decimal.ROUND_FLOOR)


def percent_up(share: float, *, places: int = 1) -> str:
    """An upper bound as a percentage with `places` decimals."""
    return _percent(math.ceil(Fraction(share) * 100 * 10**places), places)


def percent_down(share: float, *, places: int = 1) -> str:
    """A lower bound as a percentage with `places` decimals."""
    return _percent(math.floor(Fraction(share) * 100 * 10**places), places)


def in_full(value: float) -> str:
    """A number that somebody declared, as declared: the shortest text that reads back as this very float."""
    return repr(float(value)).removesuffix(".0")


def _formatted(value: float, digits: int, side: str) -> str:
    if not math.isfinite(value):
        return str(value)
    context = decimal.Context(prec=digits, rounding=side)
    rounded = context.create_decimal(decimal.Decimal(value + 0.0)).normalize(context)
    return f"{rounded:f}" if -5 < rounded.adjusted() < 7 else f"{rounded:e}"


def _percent(units: int, places: int) -> str:
    return f"{decimal.Decimal(units).scaleb(-places):f}%"
