"""Mean and variance: ratios of totals. Where the number of rows is private, it comes out of the same release."""

from __future__ import annotations

import math

import numpy as np

import dpkit
from dpkit.authoring import UNIT_ROUNDOFF, AnyAlgorithm, dataclass
from dpkit_stats import counting, sums
from dpkit_stats.columns import known_column, number_range, public_count, truth_values
from dpkit_stats.grouping import released
from dpkit_stats.noise_errors import NoiseErrors
from dpkit_stats.results import Average
from dpkit_stats.scaling import GRID, Array, Interval
from dpkit_stats.weights import weight_range, weighted_mean_query

_HUGE = 1e100
_CUTTING = 8.0 * GRID
"""What cutting contributions to the grid can move an average on the unit scale by."""
_ROUNDING = 4.0 * UNIT_ROUNDOFF
"""What writing an answer as a float can move it by, relative to its size: seen where bounds are narrow and far from zero."""
_RARELY = 0.02
"""The part of the failure probability that is kept for terms of second order."""
_TYPICAL = 3.2
"""Between the norms of a variance's coefficients at the worst data, 4, and at the best, 1.63: at most a factor 2 too large, and
at least 0.8 of what is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """(A - B) / (A + B) on the unit scale, for the sums A of (1+u)/2 and B of (1-u)/2.

    For errors a and b of the sums, the estimate is off by (a(1-m) - b(1+m)) / count at the true m, exactly, for the count that
    is divided by. The combination is largest at the m furthest from zero that the data allow. With a public count, b = -a.

    With weights, sums and counts are in units of `heaviest`, the largest weight; a row is expected to count `typical` of it.
    """

    query: dpkit.Query
    bounds: Interval
    size: int | None
    heaviest: float = 1.0
    typical: float = 1.0

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Average:
        """The noisy ratio, with the count floored at 1."""
        totals = np.asarray(released, dtype=np.float64)
        high = float(totals[0])
        low = float(totals[1]) if self.size is None else self.size - high
        count = high + low
        unit = float(np.clip((high - low) / max(count, 1.0), -1.0, 1.0))
        most = min(1.0, abs(unit) + self._unit_error(errors, confidence, count, 1.0))
        error = self._error(errors, confidence, count, most)
        estimate = self.bounds.value(unit)
        lower, upper = max(self.bounds.lower, estimate - error), min(self.bounds.upper, estimate + error)
        weight = count * self.heaviest
        return Average(estimate=estimate, lower=lower, upper=upper, error=error, confidence=confidence, count=weight)

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """With this number of rows, for a mean at an end of the bounds: at most 1.42 times that in the middle."""
        known = rows if self.size is None else self.size
        return math.inf if known is None else self._error(errors, confidence, known * self.typical, 1.0)

    def _error(self, errors: NoiseErrors, confidence: float, count: float, most: float) -> float:
        error = self.bounds.half * (self._unit_error(errors, confidence, count, most) + _CUTTING)
        return min(2.0 * self.bounds.half, error + _ROUNDING * self.bounds.largest)

    def _unit_error(self, errors: NoiseErrors, confidence: float, count: float, most: float) -> float:
        coefficients = (2.0,) if self.size is not None else (1.0 - most, 1.0 + most)
        return errors.combined(coefficients, confidence) / count if count >= 1.0 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Variance:
    """The mean square minus the squared mean, of the rows themselves (over n, not n - 1).

    From the sums A, C, B of (1+u)^2/4, (1-u)^2/4 and (1-u^2)/2: count A + B + C, sum A - C, squares A + C - B. For the true
    mean m and mean square q, the estimate is off by a combination of the errors over the count, minus the squared error of the
    mean: exactly, for the count that is divided by. The coefficients are those of `_coefficients`.
    """

    query: dpkit.Query
    bounds: Interval
    size: int | None

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Average:
        """From the noisy ratios, with the count floored at 1."""
        totals = np.asarray(released, dtype=np.float64)
        high, low = float(totals[0]), float(totals[1])
        middle = float(totals[2]) if self.size is None else self.size - high - low
        count = high + low + middle
        square, mean = (high + low - middle) / max(count, 1.0), (high - low) / max(count, 1.0)
        unit = square - min(abs(mean), _HUGE) ** 2  # not clipped one by one: their errors partly cancel
        estimate = self.bounds.half**2 * min(max(unit, 0.0), 1.0)
        error = self._error(errors, confidence, count, near=(min(abs(mean), 1.0), min(max(square, 0.0), 1.0)))
        lower, upper = max(0.0, estimate - error), min(self.bounds.half**2, estimate + error)
        return Average(estimate=estimate, lower=lower, upper=upper, error=error, confidence=confidence, count=count)

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """With this number of rows, for data between the best and the worst."""
        known = rows if self.size is None else self.size
        if known is None:
            return math.inf
        linear = errors.combined((4.0,) if self.size is not None else (_TYPICAL,), confidence) / known
        return self.bounds.half**2 * min(1.0, linear + _CUTTING)

    def _error(self, errors: NoiseErrors, confidence: float, count: float, *, near: tuple[float, float]) -> float:
        """At the worst mean and mean square that are as near to the estimates as their own errors allow."""
        if count < 1.0:
            return self.bounds.half**2
        rarely = 1.0 - (1.0 - confidence) * _RARELY
        off = self._ratio(errors, [(0.0, -2.0, -1.0), (0.0, 0.0, -2.0)], rarely, count)  # the worst mean, the worst square
        means = [min(max(near[0] + step * off, 0.0), 1.0) for step in (-1.0, 0.0, 1.0)]
        squares = [min(max(near[1] + step * off, 0.0), 1.0) for step in (-1.0, 0.0, 1.0)]
        looked_at = [_coefficients(mean, max(square, mean * mean)) for mean in means for square in squares]
        usually = 1.0 - (1.0 - confidence) * (1.0 - _RARELY)
        worst = self._ratio(errors, looked_at, usually, count) + min(off, 1.0) ** 2
        return self.bounds.half**2 * min(1.0, worst + _CUTTING)

    def _ratio(
        self, errors: NoiseErrors, coefficients: list[tuple[float, float, float]], confidence: float, count: float
    ) -> float:
        """The largest of these combinations. Where the count is public, the third error is minus the sum of the others."""
        found: list[tuple[float, ...]] = [*coefficients]
        if self.size is not None:
            found = [(high - middle, low - middle) for high, low, middle in coefficients]
        largest = max(found, key=lambda one: math.hypot(*one))
        return errors.combined(largest, confidence) / count


def _coefficients(mean: float, square: float) -> tuple[float, float, float]:
    """Of the errors of A, C and B in that of a variance, to first order."""
    return (
        (1.0 - square) - 2.0 * mean * (1.0 - mean),
        (1.0 - square) + 2.0 * mean * (1.0 + mean),
        2.0 * mean * mean - 1.0 - square,
    )


def mean(
    setting: dpkit.Setting,
    *,
    column: str,
    weight: str | None = None,
    mechanism: dpkit.Choice,
    by: dpkit.Groups | None = None,
) -> AnyAlgorithm:
    """The mean of a column, over the rows that have a value; with a weight, over those that have both."""
    bounds, size = number_range(setting, column, where="mean"), None if by else public_count(setting, (column,))
    if weight is not None:
        weights = weight_range(setting, weight, where="mean")
        query = weighted_mean_query(column, bounds, weight, weights)
        typical = weights.centre / weights.upper
        statistic = Mean(query=query, bounds=bounds, size=None, heaviest=weights.upper, typical=typical)
        return released(setting, statistic, mechanism, by)
    query = sums.mean_query(column, bounds, with_count=size is None)
    return released(setting, Mean(query=query, bounds=bounds, size=size), mechanism, by, adds_up=True)


def variance(setting: dpkit.Setting, *, column: str, mechanism: dpkit.Choice, by: dpkit.Groups | None = None) -> AnyAlgorithm:
    """The variance of a column, over the rows that have a value."""
    bounds, size = number_range(setting, column, where="variance"), None if by else public_count(setting, (column,))
    query = sums.variance_query(column, bounds, with_count=size is None)
    return released(setting, Variance(query=query, bounds=bounds, size=size), mechanism, by, adds_up=True)


def proportion(
    setting: dpkit.Setting, *, column: str, level: str | None, mechanism: dpkit.Choice, by: dpkit.Groups | None = None
) -> AnyAlgorithm:
    """The share of rows that hold this level, or true, among those that have a value."""
    levels = setting.levels(known_column(setting, column)) or truth_values(setting, column)
    where, wanted = "proportion", "true" if level is None and truth_values(setting, column) else level
    if not levels:
        allowed = "a category, or a boolean"
        raise dpkit.InvalidValueError(field="column", found=column, allowed=allowed, where=where)
    if wanted not in levels:
        allowed = f"a level of {column!r}: {', '.join(levels)}"
        raise dpkit.InvalidValueError(field="level", found=level, allowed=allowed, where=where)
    size = None if by else public_count(setting, (column,))
    query = counting.share_query(column, float(levels.index(wanted)), with_others=size is None)
    # the counts of yes and no are the sums behind a mean of ones and zeros
    statistic = Mean(query=query, bounds=Interval(lower=0.0, upper=1.0), size=size)
    return released(setting, statistic, mechanism, by, adds_up=True)
