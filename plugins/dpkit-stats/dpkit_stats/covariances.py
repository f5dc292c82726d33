"""The covariance matrix of several columns, with their means and the count, from one release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit_stats import sums
from dpkit_stats.columns import number_range, public_count
from dpkit_stats.one_release import OneRelease
from dpkit_stats.results import Covariance
from dpkit_stats.scaling import Array, Interval

MOST_COLUMNS = 100
_CUTTING = 8.0 * sums.FACTOR
_HUGE = 1e100


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

    def answer(self, released: Array, noise: dpkit.Mechanism, confidence: float) -> Covariance:
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
            error=self._error(noise, confidence, count),
            confidence=confidence,
            count=count,
        )

    def error(self, noise: dpkit.Mechanism, confidence: float, rows: int | None) -> float:
        """With this number of rows; a noisy count may fall short of them by the error of an entry."""
        if self.size is not None or rows is None:
            return self._error(noise, confidence, 0.0 if self.size is None else self.size)
        return self._error(noise, confidence, rows - dpkit.expected_error(noise, self.query.shape, confidence))

    def _error(self, noise: dpkit.Mechanism, confidence: float, count: float) -> float:
        entry = 2.0
        if count >= 1.0:
            ratio = dpkit.expected_error(noise, self.query.shape, confidence) / count
            entry = min(entry, 4.0 * ratio + 4.0 * ratio * ratio + _CUTTING)
        return entry * float(np.sum(np.square([interval.half for interval in self.bounds])))


def covariance(setting: dpkit.Setting, *, columns: tuple[str, ...], mechanism: dpkit.Choice) -> OneRelease:
    """The covariance matrix of these columns, over the rows that have a value in all of them."""
    if not 1 <= len(columns) <= MOST_COLUMNS or len(set(columns)) != len(columns):
        allowed = f"1 to {MOST_COLUMNS} columns that differ"
        raise dpkit.InvalidValueError(field="columns", found=columns, allowed=allowed, where="covariance")
    bounds = tuple(number_range(setting, column, where="covariance") for column in columns)
    query, size = sums.covariance_query(columns, bounds), public_count(setting, columns)
    statistic = CovarianceOfMoments(query=query, bounds=bounds, size=size)
    return OneRelease(setting=setting, statistic=statistic, mechanism=mechanism)


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
