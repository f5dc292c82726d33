"""Several quantiles from one release: a tree of counts, made consistent, and read where the counts reach each probability."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit_stats.columns import number_range, public_count
from dpkit_stats.one_release import OneRelease
from dpkit_stats.results import Quantiles
from dpkit_stats.scaling import Array, Interval
from dpkit_stats.tree import consistent_leaves, rising, tree_query, worst_prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantilesOfTree:
    """The values at which the noisy, consistent counts reach each probability, interpolated within a cell."""

    query: dpkit.Query
    bounds: Interval
    depth: int
    probabilities: tuple[float, ...]
    size: int | None

    def answer(self, released: Array, noise: dpkit.Mechanism, confidence: float) -> Quantiles:
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

    def error(self, noise: dpkit.Mechanism, confidence: float, rows: int | None) -> float:
        """In rank, with this number of rows."""
        known = self.size if self.size is not None else rows
        return 1.0 if known is None else self._error(noise, confidence, known)

    def _error(self, noise: dpkit.Mechanism, confidence: float, count: float) -> float:
        """A prefix is off by at most t, and the probability's share of the count by at most t, too."""
        return 1.0 if count < 1.0 else min(1.0, 2.0 * self._prefix_error(noise, confidence) / count)

    def _prefix_error(self, noise: dpkit.Mechanism, confidence: float) -> float:
        """A bound on the error of every prefix at once.

        A prefix is a sum of at most `depth` nodes, which bounds its variance by least squares, the best linear estimate: its
        coefficients have a norm of at most the root of `depth`. What is known of such combinations the mechanism says; of one
        that does not, only that no node is off by more than its `accuracy`.
        """
        entries = 2 ** (self.depth + 1) - 2
        if isinstance(noise, dpkit.CombinedAccurate):
            return noise.combined_accuracy(math.sqrt(self.depth), 2**self.depth, confidence, entries=entries)
        return worst_prefix(self.depth) * dpkit.expected_error(noise, self.query.shape, confidence)


def quantiles(
    setting: dpkit.Setting, *, column: str, probabilities: tuple[float, ...], depth: int, mechanism: dpkit.Choice
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
