"""The delta that an approximate loss brings into a sum: how slacks combine, and how they enter a reading.

Slacks compose as 1 - prod(1 - delta_i) (BS16, Lemma 8.2), so what is summed is -ln(1 - delta_i), exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpkit.numerics.rounding import outward, round_down, round_up


def log_slack(delta: float) -> Fraction:
    """-ln(1 - delta), rounded up to a float and then held exactly."""
    if delta == 0.0:
        return Fraction(0)
    value = -math.log1p(-delta)
    return Fraction(outward(value, magnitude=value, ulps=2.0))


def slack_total(log_total: Fraction) -> float:
    """The delta of a sum of log slacks, rounded up; 1.0 when nothing is left."""
    if log_total == 0:
        return 0.0
    value = -math.expm1(-round_up(log_total))
    return min(1.0, outward(value, magnitude=value, ulps=2.0))


def slack_limit(sum_of_deltas: float) -> float:
    """The largest slack whose log sum is at most this, rounded down: then the plain sum of deltas is at most this, too.

    Filter theorems bound the sum of deltas; what is summed here is -ln(1 - delta), which is at least delta.
    """
    return max(0.0, -math.expm1(-sum_of_deltas) * (1.0 - 2.0**-50)) if sum_of_deltas else 0.0


def delta_left(delta: float, slack: float) -> float:
    """The delta' with slack + (1 - slack) delta' <= delta, rounded down; negative when the slack alone exceeds delta.

    A slack-approximate loss whose good part is (epsilon, delta')-DP is (epsilon, slack + (1 - slack) delta')-DP
    (BS16, section 8).
    """
    if slack == 0.0:
        return delta
    if slack >= 1.0:
        return -1.0
    return round_down((Fraction(delta) - Fraction(slack)) / (1 - Fraction(slack)))


def delta_with(delta: float, slack: float) -> float:
    """slack + (1 - slack) delta, rounded up."""
    if slack == 0.0:
        return delta
    return min(1.0, round_up(Fraction(slack) + (1 - Fraction(slack)) * Fraction(delta)))
