"""Mean and variance: ratios of totals. Where the number of rows is private, it comes out of the same release."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.authoring import UNIT_ROUNDOFF
from dpkit_stats import sums
from dpkit_stats.columns import number_range, public_count
from dpkit_stats.one_release import OneRelease
from dpkit_stats.results import Average
from dpkit_stats.scaling import GRID, Array, Interval

_HUGE = 1e100
_CUTTING = 8.0 * GRID
"""What cutting contributions to the grid can move an average on the unit scale by."""
_ROUNDING = 4.0 * UNIT_ROUNDOFF
"""What writing an answer as a float can move it by, relative to its size: seen where bounds are narrow and far from zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """(A - B) / (A + B) on the unit scale, for the sums A of (1+u)/2 and B of (1-u)/2.

    With errors of at most t, numerator minus truth times denominator is a(1-m) - b(1+m) for errors a and b: at most 2t.
    So the error is at most 2t over the denominator, whatever the truth. With a public count, the same.
    """

    query: dpkit.Query
    bounds: Interval
    size: int | None

    def answer(self, released: Array, noise: dpkit.Mechanism, confidence: float) -> Average:
        """The noisy ratio, with the count floored at 1."""
        totals = np.asarray(released, dtype=np.float64)
        high = float(totals[0])
        low = float(totals[1]) if self.size is None else self.size - high
        count = high + low
        estimate = self.bounds.value(float(np.clip((high - low) / max(count, 1.0), -1.0, 1.0)))
        error = self._error(noise, confidence, count)
        return Average(estimate=estimate, error=error, confidence=confidence, count=count)

    def error(self, noise: dpkit.Mechanism, confidence: float, rows: int | None) -> float:
        """With this number of rows; a noisy count may fall short of them by twice the error of an entry."""
        if self.size is not None or rows is None:
            return self._error(noise, confidence, 0.0 if self.size is None else self.size)
        return self._error(noise, confidence, rows - 2.0 * dpkit.expected_error(noise, (2,), confidence))

    def _error(self, noise: dpkit.Mechanism, confidence: float, count: float) -> float:
        error = self.bounds.half * (2.0 * _ratio(self.query, noise, confidence, count) + _CUTTING)
        return min(2.0 * self.bounds.half, error + _ROUNDING * self.bounds.largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variance:
    """The mean square minus the squared mean, of the rows themselves (over n, not n - 1).

    From the sums A, C, B of (1+u)^2/4, (1-u)^2/4 and (1-u^2)/2: count A + B + C, sum A - C, squares A + C - B. With errors of
    at most t and r = t / count, the error's linear part has coefficients that add up to at most 4, for every mean m and mean
    square q with m^2 <= q <= 1; the mean is within 3r (2r where the count is public), and its square adds 9r^2.
    """

    query: dpkit.Query
    bounds: Interval
    size: int | None

    def answer(self, released: Array, noise: dpkit.Mechanism, confidence: float) -> Average:
        """From the noisy ratios, with the count floored at 1."""
        totals = np.asarray(released, dtype=np.float64)
        high, low = float(totals[0]), float(totals[1])
        middle = float(totals[2]) if self.size is None else self.size - high - low
        count = high + low + middle
        square, mean = (high + low - middle) / max(count, 1.0), (high - low) / max(count, 1.0)
        unit = square - min(abs(mean), _HUGE) ** 2  # not clipped one by one: their errors partly cancel
        estimate = self.bounds.half**2 * min(max(unit, 0.0), 1.0)
        error = self._error(noise, confidence, count)
        return Average(estimate=estimate, error=error, confidence=confidence, count=count)

    def error(self, noise: dpkit.Mechanism, confidence: float, rows: int | None) -> float:
        """With this number of rows; a noisy count may fall short of them by three times the error of an entry."""
        if self.size is not None or rows is None:
            return self._error(noise, confidence, 0.0 if self.size is None else self.size)
        return self._error(noise, confidence, rows - 3.0 * dpkit.expected_error(noise, (3,), confidence))

    def _error(self, noise: dpkit.Mechanism, confidence: float, count: float) -> float:
        ratio = _ratio(self.query, noise, confidence, count)
        return self.bounds.half**2 * min(1.0, 4.0 * ratio + 9.0 * ratio * ratio + _CUTTING)


def mean(setting: dpkit.Setting, *, column: str, mechanism: dpkit.Choice) -> OneRelease:
    """The mean of a column, over the rows that have a value."""
    bounds, size = number_range(setting, column, where="mean"), public_count(setting, (column,))
    query = sums.mean_query(column, bounds, with_count=size is None)
    return OneRelease(setting=setting, statistic=Mean(query=query, bounds=bounds, size=size), mechanism=mechanism)


def variance(setting: dpkit.Setting, *, column: str, mechanism: dpkit.Choice) -> OneRelease:
    """The variance of a column, over the rows that have a value."""
    bounds, size = number_range(setting, column, where="variance"), public_count(setting, (column,))
    query = sums.variance_query(column, bounds, with_count=size is None)
    return OneRelease(setting=setting, statistic=Variance(query=query, bounds=bounds, size=size), mechanism=mechanism)


def _ratio(query: dpkit.Query, noise: dpkit.Mechanism, confidence: float, count: float) -> float:
    """The error of an entry over the count that it is divided by; nothing is known where the count was floored."""
    return dpkit.expected_error(noise, query.shape, confidence) / count if count >= 1.0 else math.inf
