"""The law of counts: Poisson, negative binomial where they are over-dispersed, and normal far up."""

from __future__ import annotations

import math

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
    if dispersion <= 1.0:
        logs = xlogy(counts, mean) - mean - gammaln(counts + 1.0)
    else:
        size = mean / (dispersion - 1.0)
        logs = gammaln(counts + size) - gammaln(size) - gammaln(counts + 1.0)
        logs = logs - size * math.log(dispersion) + xlogy(counts, 1.0 - 1.0 / dispersion)
    shares = np.exp(logs)
    return counts.astype(np.float64), np.asarray(shares / np.sum(shares))
