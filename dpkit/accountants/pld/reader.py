"""What every route gives: bounds on a profile near one target, rounded to their sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF, exp_up

ErrorTerms = tuple[tuple[str, float], ...]
"""Names and sizes of what was added to an upper bound, relative to it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reader:
    """Bounds on delta(epsilon) near one target: an upper sum, and a lower one that is built only when it is asked for."""

    upper: Callable[[float], tuple[float, ErrorTerms]]
    lower: Callable[[float], float]
    route: str
    start: float
    tilt: float
    note: str = ""


def scaled(value: float, log_scale: float, *, size: float, up: bool = True) -> float:
    """value * e^log_scale, rounded to its safe side, without overflow; a delta, so at most 1.

    `size` is the largest number that was cancelled in forming log_scale.
    """
    if value <= 0.0:
        return 0.0
    margin = 16.0 * UNIT_ROUNDOFF * (1.0 + abs(math.log(value)) + abs(log_scale) + size)
    exponent = min(math.log(value) + log_scale, 1.0)
    if up:
        return min(1.0, exp_up(exponent + margin))
    return min(1.0, max(0.0, math.exp(exponent) * max(0.0, 1.0 - margin) - 2.0 * SMALLEST))
