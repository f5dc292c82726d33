"""The loss: Huber's score of a residual, bounded by 1, and what its law tells when residuals are normal.

A score acts on prepared rows alone, so that it is the same bits for a row wherever that row is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from dpkit_irls.rows.fixed_point import LARGEST_STEP, STEP, Array, fixed_point


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Residuals:
    """y - z'position of prepared rows, for a position of z cut to 20 bits; the product w'position is exact."""

    direction: Array = field(repr=False)
    scale: float

    def __call__(self, prepared: Array) -> Array:
        """Of each row."""
        found = self.direction @ prepared.T[:-2]
        found *= prepared[:, -2]
        found *= self.scale
        return np.asarray(np.subtract(prepared[:, -1], found, out=found))


def residuals_at(position: Array) -> Residuals:
    """Those of a released position."""
    direction, scale = fixed_point(position)
    return Residuals(direction=direction * STEP, scale=scale)  # prepared rows hold w in steps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """clip(r/k, -1, 1) in whole steps of the grid, for residuals r; 0 for NaN. `step` is k in those steps."""

    residuals: Residuals
    step: float

    def __call__(self, prepared: Array) -> Array:
        """Of each row."""
        found = self.residuals(prepared)
        found /= self.step
        np.clip(found, -LARGEST_STEP, LARGEST_STEP, out=found)
        np.trunc(found, out=found)
        if np.isnan(np.sum(found)):
            np.copyto(found, 0.0, where=np.isnan(found))
        return found


def scores_at(position: Array, threshold: float) -> Scores:
    """Those of a released position and threshold: a power of two less, so the quotient rounds as r/k does."""
    return Scores(residuals=residuals_at(position), step=threshold * STEP)


def share_near(ratio: float) -> float:
    """The mean of sqrt(1 - (r/k)^2) where |r| < k, for a normal r with k / sd = ratio; it grows from 0 to 1.

    The integral of sqrt(1 - s^2) exp(-2 a s^2) over [-1, 1] is (pi/2) exp(-a) (I0(a) + I1(a)), here with a = ratio^2 / 4.
    """
    from scipy.special import ive

    quarter = ratio * ratio / 4.0
    return float(ratio * math.sqrt(math.pi / 8.0) * (ive(0, quarter) + ive(1, quarter)))


def ratio_of_share(share: float) -> float:
    """The inverse of `share_near` between 1e-3 and 1e2: two steps of Newton's from a table."""
    ratios, shares = _share_table()
    ratio = float(np.interp(share, shares, ratios))
    for _ in range(2):
        slope = (share_near(ratio * 1.001) - share_near(ratio)) / (0.001 * ratio)
        ratio = min(max(ratio + (share - share_near(ratio)) / max(slope, 1e-12), 0.9 * ratio), 1.1 * ratio)
    return min(max(ratio, 1e-3), 1e2)


@cache
def _share_table() -> tuple[Array, Array]:
    ratios = np.geomspace(1e-3, 1e2, 256)
    return ratios, np.array([share_near(float(ratio)) for ratio in ratios])


def mean_squared_score(threshold: float) -> float:
    """The mean of min(|r| / threshold, 1)^2 for a normal r of standard deviation 1."""
    from scipy.special import ndtr

    inside = 2.0 * float(ndtr(threshold)) - 1.0
    density = math.exp(-0.5 * min(threshold * threshold, 1400.0)) / math.sqrt(2.0 * math.pi)
    small = max(threshold, 1e-6)
    return min(1.0, (inside - 2.0 * threshold * density) / (small * small) + 1.0 - inside)
