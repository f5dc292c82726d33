"""The law of counts: Poisson, negative binomial where they are over-dispersed, and normal far up."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpkit_irls.rows.fixed_point import Array


def count_law(predictor: float, dispersion: float) -> tuple[Array, Array]:
    """Counts with this log-mean and a variance `dispersion` times the mean: Poisson, negative binomial, or normal far up."""
    from scipy.special import gammaln, xlogy

    mean = math.exp(predictor)
    spread = math.sqrt(dispersion * mean)
    if mean > 100.0 * dispersion:
        places = np.linspace(-8.0, 8.0, 801)
        shares = np.exp(-0.5 * places * places)
        return np.asarray(mean + spread * places), np.asarray(shares / np.sum(shares))
    counts = np.arange(math.ceil(mean + 12.0 * spread + 12.0 * dispersion + 12.0))
    factorials = _log_factorials(1 << counts.size.bit_length())[: counts.size]
    if dispersion <= 1.0:
        logs = xlogy(counts, mean) - mean - factorials
    else:
        size = mean / (dispersion - 1.0)
        logs = gammaln(counts + size) - gammaln(size) - factorials
        logs = logs - size * math.log(dispersion) + xlogy(counts, 1.0 - 1.0 / dispersion)
    shares = np.exp(logs)
    return counts.astype(np.float64), np.asarray(shares / np.sum(shares))


@lru_cache(maxsize=8)
def _log_factorials(size: int) -> Array:
    """ln of 0!, 1!, 2!, ..., which laws of all means share."""
    from scipy.special import gammaln

    return np.asarray(gammaln(np.arange(size) + 1.0))
