"""The tests that laws decide by. Each is valid at every sample size, so that the false-alarm probability is what it says."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpkit.auditing.screening import FALSE_ALARM

Array = npt.NDArray[np.float64]


def uniformity_gap(uniforms: Array) -> tuple[float, float]:
    """The Kolmogorov-Smirnov distance to the uniform law and its limit (Massart's constant in the DKW inequality)."""
    ordered = np.sort(uniforms)
    n = ordered.size
    ranks = np.arange(n)
    gap = max(float(np.max(ordered - ranks / n)), float(np.max((ranks + 1) / n - ordered)))
    return gap, _dkw(n, FALSE_ALARM)


def samples_gap(one: Array, other: Array) -> tuple[float, float]:
    """The largest difference of two empirical distribution functions, and its limit where both samples are of one law."""
    points = np.union1d(one, other)
    functions = [np.searchsorted(np.sort(sample), points, "right") / sample.size for sample in (one, other)]
    limit = _dkw(one.size, FALSE_ALARM / 2.0) + _dkw(other.size, FALSE_ALARM / 2.0)  # each is near the law of both
    return float(np.max(np.abs(functions[0] - functions[1]))), limit


def _dkw(n: int, alpha: float) -> float:
    return math.sqrt(math.log(2.0 / alpha) / (2.0 * n))
