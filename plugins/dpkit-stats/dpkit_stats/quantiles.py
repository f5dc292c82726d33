"""Several quantiles from one release: a tree of counts, made consistent, and read where the counts reach each probability."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.authoring import gaussian_accuracy
from dpkit_stats.columns import number_range, public_count
from dpkit_stats.noise import Noise
from dpkit_stats.one_release import OneRelease
from dpkit_stats.results import Quantiles
from dpkit_stats.scaling import Array, Interval
from dpkit_stats.tree import consistent_leaves, rising, tree_query


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantilesOfTree:
    """The values at which the noisy, consistent counts reach each probability, interpolated within a cell."""

    query: dpkit.Query
    bounds: Interval
    depth: int
    probabilities: tuple[float, ...]
    size: int | None

    def answer(self, released: Array, noise: Noise, confidence: float) -> Quantiles:
        """Monotone in the probability, and within the bounds."""
        leaves = consistent_leaves(np.asarray(released, dtype=np.float64), total=self.size)
        count = float(leaves.sum()) if self.size is None else float(self.size)
        reached = rising(np.clip(np.concatenate([[0.0], np.cumsum(leaves)]), 0.0, max(count, 1.0)))
        share = reached / max(reached[-1], 1.0)
        edges = np.linspace(-1.0, 1.0, 2**self.depth + 1)
        units = np.maximum.accumulate(np.interp(self.probabilities, share, edges))
        return Quantiles(
            probabilities=self.probabilities,
            estimates=tuple(self.bounds.value(float(unit)) for unit in units),
            error=self._error(noise, confidence, count - self._prefix_error(noise, confidence)),
            confidence=confidence,
            resolution=2.0 * self.bounds.half / 2**self.depth,
            count=count,
        )

    def error(self, noise: Noise, confidence: float, rows: int | None) -> float:
        """In rank, with so many rows."""
        known = self.size if self.size is not None else rows
        return 1.0 if known is None else self._error(noise, confidence, known)

    def _error(self, noise: Noise, confidence: float, count: float) -> float:
        """A prefix is off by at most t, and the probability's share of the count by at most t, too."""
        return 1.0 if count < 1.0 else min(1.0, 2.0 * self._prefix_error(noise, confidence) / count)

    def _prefix_error(self, noise: Noise, confidence: float) -> float:
        """A bound on the error of every prefix at once.

        A prefix is a sum of at most `depth` nodes, which bounds its variance by least squares, the best linear estimate. For
        Gaussian noise, Sidak's inequality then bounds all prefixes as if they were independent. The others by Chernoff's bound
        and a sum over prefixes: integer Gaussian noise is subgaussian (CKS20, Fact 18); a combination of Laplace noises of
        scale b, integer or not, with coefficients of norm c has E exp(sY) <= e at s = 1/(c b sqrt 2).
        """
        root, many = math.sqrt(self.depth), 2**self.depth
        if isinstance(noise, dpkit.Gaussian):
            return gaussian_accuracy(noise.scale, many, confidence) * root + 2.0 * many * noise.grid
        odds = math.log(2.0 * many / (1.0 - confidence))
        if isinstance(noise, dpkit.DiscreteGaussian):
            return noise.scale * root * math.sqrt(2.0 * odds)
        return noise.scale * root * math.sqrt(2.0) * (1.0 + odds)


def quantiles(
    setting: dpkit.Setting, *, column: str, probabilities: tuple[float, ...], depth: int, mechanism: str
) -> OneRelease:
    """Several quantiles of a column, over the rows that have a value."""
    where = "quantiles"
    bounds, size = number_range(setting, column, where=where), public_count(setting, (column,))
    if not probabilities or list(probabilities) != sorted(set(probabilities)):
        allowed = "increasing numbers between 0 and 1, at least one"
        raise dpkit.InvalidValueError(field="probabilities", found=probabilities, allowed=allowed, where=where)
    query = tree_query(column, bounds, depth)
    statistic = QuantilesOfTree(query=query, bounds=bounds, depth=depth, probabilities=probabilities, size=size)
    return OneRelease(setting=setting, statistic=statistic, mechanism=mechanism)
