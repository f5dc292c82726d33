"""What released histograms and scatters say: post-processing only, finite whatever it is given."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpkit_irls.influence_query import Octaves

SURELY = 2.0
"""Standard deviations above the largest of noise alone from which a sum is believed."""

Array = npt.NDArray[np.float64]


def on_simplex(counts: Array, total: float) -> Array:
    """The nearest nonnegative counts with this total."""
    falling = np.sort(counts)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    last = np.flatnonzero(falling > shifts)
    return np.asarray(np.maximum(counts - (shifts[last[-1]] if last.size else shifts[0]), 0.0))


def octave_median(counts: Array, octaves: Octaves, total: float) -> float:
    """The median magnitude, interpolated geometrically within its octave."""
    share = np.cumsum(on_simplex(np.asarray(counts), total)) / total
    place = min(int(np.searchsorted(share, 0.5)), octaves.bins - 1)
    below = float(share[place - 1]) if place else 0.0
    inside = (0.5 - below) / max(float(share[place]) - below, 1e-9)
    return octaves.edge(place) * math.exp2(octaves.step * min(max(inside, 0.0), 1.0))


def likely_exponents(counts: Array, octaves: Octaves, *, spread: float, window: int = 2) -> list[int]:
    """For each column, log2 of its usual magnitude: the centre of mass of the neighbouring bins that hold most.

    Where that may be noise, the column follows the median of the others; where that is so for most, 0: the declared bound.
    A false find would be a disaster (a column in a unit that is a thousand times too small), so few are allowed.
    """
    found: list[float | None] = []
    for row in np.asarray(counts):
        sums = np.convolve(row, np.ones(window), mode="valid")
        best = int(np.argmax(sums))
        # the largest of so many sums of pure noise is about sqrt(2 ln n) standard deviations high
        surely = spread * np.sqrt(window) * (np.sqrt(2.0 * np.log(sums.size)) + SURELY)
        held = np.maximum(row[best : best + window], 0.0)
        middles = octaves.low - 1 + octaves.step * (best + np.arange(window) + 0.5)
        found.append(float(middles @ held / held.sum()) if sums[best] > surely else None)
    known = [exponent for exponent in found if exponent is not None]
    usual = float(np.median(known)) if 2 * len(known) >= len(found) else 0.0
    return [round(usual if exponent is None else exponent) for exponent in found]


def preconditioned(scatter: Array, *, total: float, spread: float, floor: float) -> Array:
    """The inverse square root of a noisy scatter matrix with trace 1, times 1/sqrt(d): shrunk to I/d (James-Stein), floored."""
    size = scatter.shape[0]
    identity = np.eye(size)
    centred = (scatter - identity * (np.trace(scatter) - total) / size) / total
    noise = spread / total
    apart = centred - identity / size
    energy = float(np.sum(apart * apart))
    free = size * (size + 1) / 2 - 1
    keep = max(0.0, 1.0 - noise * noise * free / energy) if energy > 0.0 else 0.0
    values, vectors = np.linalg.eigh(identity / size + keep * apart)
    values = np.maximum(values, max(floor * noise * np.sqrt(2.0 * size), 1e-9))
    values = values / values.sum()
    return np.asarray((vectors / np.sqrt(values * size)) @ vectors.T)
