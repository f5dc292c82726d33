"""What released histograms and scatters say: post-processing only, finite whatever it is given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from dpkit_irls.influence_query import Octaves

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPrior:
    """What it costs, in nats, to believe that a column's unit is not the usual one: a part for being apart, and one an octave.

    A usual unit is believed when it gains `surely` times the root of the number of columns, and `least`. Where the mean gain
    (at most `most` a column) is above `differ`, the columns do differ and it costs less.
    """

    surely: float = 4.5
    least: float = 8.0
    differ: float = 2.5
    most: float = 12.0
    alone: float = 8.0
    alone_octave: float = 0.5
    apart: float = 2.0
    octave: float = 0.3


def on_simplex(counts: Array, total: float) -> Array:
    """The nearest nonnegative counts with this total."""
    falling = np.sort(counts)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    last = np.flatnonzero(falling > shifts)
    return np.asarray(np.maximum(counts - (shifts[last[-1]] if last.size else shifts[0]), 0.0))


def octave_median(counts: Array, octaves: Octaves, total: float, *, window: int) -> float:
    """The median magnitude, interpolated geometrically within its octave, looked for in the window that holds most."""
    counts = np.asarray(counts)
    start = int(np.argmax(np.convolve(counts, np.ones(window), mode="valid"))) if counts.size > window else 0
    share = np.cumsum(on_simplex(counts[start : start + window], total)) / total
    place = min(int(np.searchsorted(share, 0.5)), share.size - 1)
    below = float(share[place - 1]) if place else 0.0
    inside = (0.5 - below) / max(float(share[place]) - below, 1e-9)
    return octaves.edge(start + place) * math.exp2(octaves.step * min(max(inside, 0.0), 1.0))


def likely_exponents(counts: Array, octaves: Octaves, *, spread: float, prior: UnitPrior) -> list[int]:
    """For each column, log2 of its standard deviation: the most likely one, were it normal, under noise of this spread.

    Columns are believed to share one exponent unless they say otherwise, and a far one must say so loudly: a false find (a
    column in a unit that is a thousand times too small) would be a disaster. All 0, the declared bounds, where nothing is sure.
    """
    exponents, shapes = _shapes(octaves)
    heights = np.maximum(np.asarray(counts) @ shapes.T / spread, 0.0)
    scores = heights * heights / 2.0  # log-likelihoods, the columns' numbers of nonzero rows profiled out
    pooled = scores.sum(axis=0)
    usual = int(np.argmax(pooled))
    columns = scores.shape[0]
    if pooled[usual] - np.median(pooled) < max(prior.surely * math.sqrt(columns), prior.least):
        return [0] * columns
    excess = np.minimum(scores.max(axis=1) - scores[:, usual], prior.most)
    differ = float(np.mean(excess)) > prior.differ
    apart, octave = (prior.apart, prior.octave) if differ else (prior.alone, prior.alone_octave)
    away = np.abs(exponents - exponents[usual])
    cost = np.where(away == 0, 0.0, apart + octave * away)
    return [int(exponents[place]) for place in np.argmax(scores - cost, axis=1)]


def _shapes(octaves: Octaves) -> tuple[npt.NDArray[np.int64], Array]:
    """Unit vectors: what share of a normal of standard deviation 2^e falls into each bin."""
    from scipy.special import ndtr

    edges = np.array([0.0, *(octaves.edge(place) for place in range(1, octaves.bins)), np.inf])
    exponents = np.arange(octaves.low, octaves.low + octaves.step * octaves.bins + 4)
    within = 2.0 * ndtr(edges / np.exp2(exponents)[:, None]) - 1.0
    shares = np.diff(within, axis=1)
    return exponents, np.asarray(shares / np.linalg.norm(shares, axis=1, keepdims=True))


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
