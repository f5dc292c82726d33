"""What released histograms and scatters say: post-processing only, finite whatever it is given."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpkit.authoring import dataclass
from dpkit_irls.bounded.influence_query import Octaves
from dpkit_irls.rows.medians import median

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


def octave_median(counts: Array, octaves: Octaves, total: float, *, window: int, start: int | None = None) -> float:
    """The median magnitude, interpolated geometrically within its octave, looked for in the window that holds most, or in the
    one from `start` on.
    """
    counts = np.asarray(counts)
    if start is None:
        start = int(np.argmax(np.convolve(counts, np.ones(window), mode="valid"))) if counts.size > window else 0
    share = np.cumsum(on_simplex(counts[start : start + window], total)) / total
    place = min(int(np.searchsorted(share, 0.5)), share.size - 1)
    below = float(share[place - 1]) if place else 0.0
    inside = (0.5 - below) / max(float(share[place]) - below, 1e-9)
    return octaves.edge(start + place) * math.exp2(octaves.step * min(max(inside, 0.0), 1.0))


def likely_window(
    counts: Array, octaves: Octaves, *, spread: float, window: int, surely: float, octave: float
) -> tuple[int, bool]:
    """Where the window begins that holds most, and whether that is clear: by so many standard deviations of the noise, and a
    twentieth more for every octave away from 1.

    Where it is not, noise alone would point anywhere, at magnitudes of a billion too: each octave away from 1 costs some nats.
    """
    sums = np.convolve(counts, np.ones(window), mode="valid") / (spread * math.sqrt(window))
    edges = np.array([octaves.edge(place) for place in range(sums.size)])
    away = np.abs(np.log2(edges) + 0.5 * octaves.step * window)
    most = int(np.argmax(sums))
    if sums[most] > surely + 0.05 * away[most]:
        return most, True
    return int(np.argmax(np.maximum(sums, 0.0) ** 2 / 2.0 - octave * away)), False


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
    if pooled[usual] - median(pooled) < max(prior.surely * math.sqrt(columns), prior.least):
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
