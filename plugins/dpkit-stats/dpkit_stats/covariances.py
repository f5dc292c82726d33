"""The covariance matrix of several columns, with their means and the count, from one release."""

from __future__ import annotations

import math

import numpy as np

import dpkit
from dpkit.authoring import dataclass, in_full
from dpkit_stats import sums
from dpkit_stats.columns import number_range, public_count
from dpkit_stats.noise_errors import NoiseErrors
from dpkit_stats.one_release import OneRelease
from dpkit_stats.results import Average, Covariance
from dpkit_stats.scaling import Array, Interval

MOST_COLUMNS = 100
_CUTTING = 8.0 * sums.FACTOR
_HUGE = 1e100
_DEVIATION = 0.25
"""An eighth of the bounds, on the scale from -1 to 1: the middle of twelve columns of real data sets."""
_OFF, _CORRELATED = 0.5, 0.5
"""Where a plan takes means to be on the scale from -1 to 1, on different sides of the middle; and the correlation."""
_DRAWS = 4000
"""How often the noise is drawn again for the interval of a correlation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CovarianceOfMoments:
    """Mean products minus products of means, over n, on the unit scale; then back to the columns' units.

    With errors of at most t and r = t / count, the linear part of an entry's error has coefficients that add up to at most 4
    (by Cauchy's inequality, m m' and the covariance are together at most 1), and a mean is within 2r: 4r + 4r^2 in all. The
    nearest positive semidefinite matrix is at most as far from the truth in Frobenius norm.
    """

    query: dpkit.Query
    bounds: tuple[Interval, ...]
    size: int | None

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Covariance:
        """From the noisy moments, with the count floored at 1."""
        moments = _symmetric(np.asarray(released, dtype=np.float64), len(self.bounds) + 1)
        count = float(moments[0, 0]) if self.size is None else float(self.size)
        ratios = np.clip(moments / max(count, 1.0), -_HUGE, _HUGE)
        means, halves = ratios[0, 1:], np.array([interval.half for interval in self.bounds])
        units = np.clip(ratios[1:, 1:] - np.outer(means, means), -1.0, 1.0)
        matrix = _nearest_semidefinite(units * np.outer(halves, halves))
        return Covariance(
            columns=self.query.columns,
            estimate=tuple(tuple(row) for row in matrix.tolist()),
            means=tuple(interval.value(float(mean)) for interval, mean in zip(self.bounds, means, strict=True)),
            error=self._error(errors, confidence, count),
            confidence=confidence,
            count=count,
        )

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """With this number of rows; a noisy count may fall short of them by the error of an entry."""
        if self.size is not None or rows is None:
            return self._error(errors, confidence, 0.0 if self.size is None else self.size)
        return self._error(errors, confidence, rows - errors.all_of(self.query.shape[0], confidence))

    def _error(self, errors: NoiseErrors, confidence: float, count: float) -> float:
        entry = 2.0
        if count >= 1.0:
            ratio = errors.all_of(self.query.shape[0], confidence) / count
            entry = min(entry, 4.0 * ratio + 4.0 * ratio * ratio + _CUTTING)
        return entry * float(np.sum(np.square([interval.half for interval in self.bounds])))


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationOfMoments:
    """The correlation of two columns, from the same moments as their covariance.

    Its interval comes from drawing the noise again, whose law is public: the middle of what correlations the released moments
    would have had without their noise. Nothing of the data is read for it.
    """

    query: dpkit.Query
    size: int | None
    deviations: tuple[float, float] | None = None

    @property
    def error_in(self) -> str:
        """Which columns a plan speaks of."""
        return "columns whose deviation is an eighth of their bounds" if self.deviations is None else "deviations as declared"

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Average:
        """The ratio, between -1 and 1; no interval but the whole where a variance may be zero."""
        moments = np.asarray(released, dtype=np.float64)
        count = float(moments[0]) if self.size is None else float(self.size)
        draws = np.asarray(errors.noise.release_many(np.zeros(moments.shape), _DRAWS, np.random.default_rng(_DRAWS)))
        around = self._correlations(moments[None, :] - np.asarray(draws, dtype=np.float64))
        estimate = float(self._correlations(moments[None, :])[0])
        lower, upper = -1.0, 1.0
        if np.isfinite(estimate) and np.isfinite(around).mean() > confidence:
            tail = (1.0 - confidence) / 2.0
            found = np.sort(np.where(np.isfinite(around), around, 1.0))
            lower, upper = float(np.quantile(found, tail)), float(np.quantile(found, 1.0 - tail))
        estimate = float(np.clip(estimate, -1.0, 1.0)) if np.isfinite(estimate) else 0.0
        lower, upper = max(-1.0, min(lower, estimate)), min(1.0, max(upper, estimate))
        error = max(upper - estimate, estimate - lower)
        return Average(estimate=estimate, lower=lower, upper=upper, error=error, confidence=confidence, count=count)

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """For columns that vary as `error_in` says, by the linear part of what noise of moments does to the ratio. Means and
        the correlation are taken as half; of columns in the middle that are not correlated it is two thirds of this.
        """
        known = self.size if rows is None else rows
        if not known:
            return math.inf
        x, y = self.deviations or (_DEVIATION, _DEVIATION)
        both, half = x * y, 0.5 * _CORRELATED
        xx, yy = half / (x * x), half / (y * y)
        first, second = _OFF / both + 2.0 * _OFF * xx, _OFF / both + 2.0 * _OFF * yy
        of_count = _OFF * _OFF * (1.0 / both + xx + yy)
        return min(2.0, errors.combined((of_count, first, second, xx, 1.0 / both, yy), confidence) / known)

    def _correlations(self, moments: Array) -> Array:
        """Of many released moments at once: (n, x, y, xx, xy, yy). NaN where a variance is not above zero."""
        count = moments[:, 0] if self.size is None else np.full(moments.shape[0], float(self.size))
        ratios = moments / np.where(count >= 1.0, count, np.nan)[:, None]
        x, y, xx, xy, yy = (ratios[:, place] for place in range(1, 6))
        with np.errstate(all="ignore"):
            spread = (xx - x * x) * (yy - y * y)
            found = (xy - x * y) / np.sqrt(np.where((xx > x * x) & (yy > y * y), spread, np.nan))
        return np.asarray(np.where(np.isfinite(found), found, np.nan))


def correlation(
    setting: dpkit.Setting, *, columns: tuple[str, ...], deviations: tuple[float, ...] | None, mechanism: dpkit.Choice
) -> OneRelease:
    """The correlation of two columns, over the rows that have a value in both."""
    if len(columns) != 2 or len(set(columns)) != 2:
        allowed = "two columns that differ"
        raise dpkit.InvalidValueError(field="columns", found=columns, allowed=allowed, where="correlation")
    bounds = tuple(number_range(setting, column, where="correlation") for column in columns)
    query = sums.covariance_query(columns, bounds)
    vary = None if deviations is None else _on_the_unit_scale(deviations, bounds)
    statistic = CorrelationOfMoments(query=query, size=public_count(setting, columns), deviations=vary)
    return OneRelease(setting=setting, statistic=statistic, mechanism=mechanism)


def covariance(setting: dpkit.Setting, *, columns: tuple[str, ...], mechanism: dpkit.Choice) -> OneRelease:
    """The covariance matrix of these columns, over the rows that have a value in all of them."""
    if not 1 <= len(columns) <= MOST_COLUMNS or len(set(columns)) != len(columns):
        allowed = f"1 to {MOST_COLUMNS} columns that differ"
        raise dpkit.InvalidValueError(field="columns", found=columns, allowed=allowed, where="covariance")
    bounds = tuple(number_range(setting, column, where="covariance") for column in columns)
    query, size = sums.covariance_query(columns, bounds), public_count(setting, columns)
    statistic = CovarianceOfMoments(query=query, bounds=bounds, size=size)
    return OneRelease(setting=setting, statistic=statistic, mechanism=mechanism)


def _on_the_unit_scale(deviations: tuple[float, ...], bounds: tuple[Interval, ...]) -> tuple[float, float]:
    """No column deviates by more than half of its bounds."""
    halves = [interval.half for interval in bounds]
    if len(deviations) != 2 or not all(0.0 < one <= half for one, half in zip(deviations, halves, strict=True)):
        allowed = f"two numbers above 0, at most {in_full(halves[0])} and {in_full(halves[1])}: half of the bounds"
        raise dpkit.InvalidValueError(field="deviations", found=deviations, allowed=allowed, where="correlation")
    x, y = (one / half for one, half in zip(deviations, halves, strict=True))
    return x, y


def _symmetric(triangle: Array, size: int) -> Array:
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = triangle
    return matrix + np.triu(matrix, 1).T


def _nearest_semidefinite(matrix: Array) -> Array:
    """In Frobenius norm: negative eigenvalues become zero."""
    scale = float(np.max(np.abs(matrix))) or 1.0  # entries in large units must not overflow inside
    values, vectors = np.linalg.eigh(matrix / scale)
    nearest = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return scale * (nearest + nearest.T) / 2.0
