"""Statistics for dpkit: count, sum, mean, variance, histogram, quantiles, covariance."""

from __future__ import annotations

import dpkit
from dpkit_stats import factories
from dpkit_stats.one_release import OneRelease
from dpkit_stats.results import Average, Covariance, GroupTable, Histogram, Quantiles, Total

__all__ = ["Average", "Covariance", "GroupTable", "Histogram", "OneRelease", "Quantiles", "Total"]


@dpkit.hookimpl
def dpkit_queries() -> list[dpkit.QueryFactory]:
    """The sums behind the statistics."""
    return factories.queries()


@dpkit.hookimpl
def dpkit_algorithms() -> list[dpkit.AlgorithmFactory]:
    """The statistics, each in one release."""
    return factories.algorithms()
