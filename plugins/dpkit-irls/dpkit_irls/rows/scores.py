"""Scores of prepared rows in whole steps of the grid, at most 1: of residuals, or of a predictor and a target by a table.

A score acts on one row alone, by operations that are exact or correctly rounded, so it is the same bits wherever that row is
read. Tables are made once, where a query is made: no function of a library is evaluated on a row.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np
import numpy.typing as npt

from dpkit.authoring import dataclass
from dpkit_irls.rows.fixed_point import LARGEST_STEP, STEP, Array, fixed_point

CLIPPED, TABLED, BISQUARE = 0.0, 1.0, 2.0
"""Kinds of score, as the compiled pass knows them."""
PEAK = 25.0 * 5.0**0.5 / 16.0
"""1 over the largest value of u (1 - u^2)^2."""
_NO_TABLE = np.zeros((6, 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """At a position of z cut to 20 bits; the product w'position is exact.

    `shape` holds the kind, and then what it needs. A clipped score is r/k plus a shift, between two ends, all in steps. Tukey's
    has k, the factor that makes its peak 1, and the square of r/k where that is. A
    tabled one looks the predictor up: from where, how many cells a unit, and the last place. `table` has a row for the target
    of score 0, for the inverse of how far the target of score 1 is from it, and for a slope, each followed by its differences.
    """

    direction: Array = field(repr=False)
    scale: float
    shape: Array = field(repr=False)
    table: Array = field(repr=False, default_factory=lambda: _NO_TABLE)

    def __call__(self, prepared: Array) -> Array:
        """Of each row; 0 where that is not a number."""
        found = self.of_numbers(prepared)
        if np.isnan(np.sum(found)):
            np.copyto(found, 0.0, where=np.isnan(found))
        return found

    def of_numbers(self, prepared: Array) -> Array:
        """Of each row, NaN where that is not a number: for fast sums, which refuse one."""
        if self.shape[0] == TABLED:
            found = self._tabled(prepared)[0]
        else:
            found = self._clipped(prepared) if self.shape[0] == CLIPPED else self._bisquare(prepared)
        return np.asarray(np.trunc(found, out=found))

    def slopes(self, prepared: Array) -> Array:
        """How fast the score falls as the predictor grows, of each row, as a part of the steepest: from 0 to 1."""
        return self._tabled(prepared)[1]

    def nearness(self, scores: Array, prepared: Array) -> Array:
        """sqrt(1 - s^2) in whole steps, cut towards zero, for scores in whole steps: the difference below the root is exact.

        0 for a score at an end, or beyond the peak, where the curvature is none.
        """
        found = scores * scores
        np.subtract(LARGEST_STEP * LARGEST_STEP, found, out=found)
        np.sqrt(found, out=found)
        np.trunc(found, out=found)
        if self.shape[0] == CLIPPED and max(-self.shape[3], self.shape[4]) > min(-self.shape[3], self.shape[4]):
            found[(scores <= self.shape[3]) | (scores >= self.shape[4])] = 0.0
        if self.shape[0] == BISQUARE:
            parts = self._parts(prepared)
            found[~(parts * parts < self.shape[3])] = 0.0
        return np.asarray(found)

    def _predictors(self, prepared: Array) -> Array:
        found = self.direction @ prepared.T[:-2]
        found *= prepared[:, -2]
        found *= self.scale
        return np.asarray(found)

    def _clipped(self, prepared: Array) -> Array:
        _, step, shift, low, high = self.shape
        found = self._predictors(prepared)
        np.subtract(prepared[:, -1], found, out=found)
        found /= step
        if shift != 0.0:
            found += shift
        return np.clip(found, low, high, out=found)

    def _parts(self, prepared: Array) -> Array:
        """r/k."""
        found = self._predictors(prepared)
        np.subtract(prepared[:, -1], found, out=found)
        found /= self.shape[1]
        return found

    def _bisquare(self, prepared: Array) -> Array:
        found = self._parts(prepared)
        np.clip(found, -1.0, 1.0, out=found)
        falls = 1.0 - found * found
        falls *= falls
        found *= falls
        found *= self.shape[2]
        return np.clip(found, -LARGEST_STEP, LARGEST_STEP, out=found)

    def _tabled(self, prepared: Array) -> tuple[Array, Array]:
        _, low, per, last, _ = self.shape
        place = self._predictors(prepared)
        place -= low
        place *= per
        if np.isnan(np.sum(place)):
            np.copyto(place, 0.0, where=np.isnan(place))
        np.clip(place, 0.0, last, out=place)
        cell = place.astype(np.int64)
        place -= cell
        middle, width, slope = (_interpolated(self.table, row, cell, place) for row in (0, 2, 4))
        found = np.subtract(prepared[:, -1], middle, out=middle)
        found *= width
        return np.clip(found, -LARGEST_STEP, LARGEST_STEP, out=found), slope


def _interpolated(table: Array, row: int, cell: npt.NDArray[np.int64], part: Array) -> Array:
    found = table[row + 1][cell]
    found *= part
    found += table[row][cell]
    return np.asarray(found)


def clipped_scores(position: Array, threshold: float, *, shift: float = 0.0, low: float = -1.0, high: float = 1.0) -> Scores:
    """clip(r/k + shift, low, high) for residuals r; ends are cut to the grid. k is less by a power of two, so that the quotient
    rounds as r/k does.
    """
    direction, scale = fixed_point(position)
    ends = np.trunc(np.clip([low, high], -1.0, 1.0) * LARGEST_STEP)
    shape = np.array([CLIPPED, threshold * STEP, shift * LARGEST_STEP, *ends])
    return Scores(direction=direction * STEP, scale=scale, shape=shape)  # prepared rows hold w in steps


def bisquare_scores(position: Array, threshold: float) -> Scores:
    """Tukey's score of residuals, over its peak."""
    direction, scale = fixed_point(position)
    shape = np.array([BISQUARE, threshold, PEAK * LARGEST_STEP, 0.2, 0.0])
    return Scores(direction=direction * STEP, scale=scale, shape=shape)


def tabled_scores(position: Array, *, low: float, per: float, middles: Array, widths: Array, slopes: Array) -> Scores:
    """(y - middle) / width, clipped to -1 and 1, by what these are at predictors `low`, `low` + 1/`per`, ...; slopes are parts
    of the steepest.
    """
    direction, scale = fixed_point(position)
    rows = []
    for values in (middles, LARGEST_STEP / widths, np.clip(slopes, 0.0, 1.0)):
        rows += [values[:-1], np.diff(values)]
    shape = np.array([TABLED, low, per, np.nextafter(middles.size - 1.0, 0.0), 0.0])
    return Scores(direction=direction * STEP, scale=scale, shape=shape, table=np.ascontiguousarray(rows))
