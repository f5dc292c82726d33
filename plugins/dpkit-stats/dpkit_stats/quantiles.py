"""Several quantiles from one release: a tree of counts, made consistent, and read where the counts reach each probability."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.authoring import AnyAlgorithm
from dpkit_stats.columns import number_range, public_count
from dpkit_stats.count_tree import consistent_leaves, rank_norm, rising, tree_query, worst_prefix
from dpkit_stats.grouping import released
from dpkit_stats.noise_errors import NoiseErrors
from dpkit_stats.results import Average, Quantiles
from dpkit_stats.scaling import Array, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantilesOfTree:
    """The values at which the noisy, consistent counts reach each probability, interpolated within a cell."""

    query: dpkit.Query
    bounds: Interval
    depth: int
    probabilities: tuple[float, ...]
    size: int | None

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Quantiles:
        """Monotone in the probability, and within the bounds."""
        leaves = consistent_leaves(np.asarray(released, dtype=np.float64), total=self.size)
        count = float(leaves.sum()) if self.size is None else float(self.size)
        reached = rising(np.clip(np.concatenate([[0.0], np.cumsum(leaves)]), 0.0, max(count, 1.0)))
        share = reached / max(reached[-1], 1.0)
        edges = np.linspace(-1.0, 1.0, 2**self.depth + 1)
        asked = np.array(self.probabilities)
        error = self._error(errors, confidence, count - self._prefix_error(errors, confidence))
        step = 2.0 / 2**self.depth

        def units(probabilities: Array, *, beyond: float = 0.0) -> tuple[float, ...]:
            found = np.interp(probabilities, share, edges) + beyond
            return tuple(self.bounds.value(float(unit)) for unit in np.clip(found, -1.0, 1.0))

        return Quantiles(
            probabilities=self.probabilities,
            estimates=units(asked),
            lower=units(asked - error, beyond=-step) if error < 1.0 else (self.bounds.lower,) * len(asked),
            upper=units(asked + error, beyond=step) if error < 1.0 else (self.bounds.upper,) * len(asked),
            error=error,
            confidence=confidence,
            resolution=2.0 * self.bounds.half / 2**self.depth,
            count=count,
        )

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """In rank, with this number of rows."""
        known = self.size if self.size is not None else rows
        return 1.0 if known is None else self._error(errors, confidence, known)

    def _error(self, errors: NoiseErrors, confidence: float, count: float) -> float:
        """The error of a rank over the count."""
        return 1.0 if count < 1.0 else min(1.0, self._prefix_error(errors, confidence) / count)

    def _prefix_error(self, errors: NoiseErrors, confidence: float) -> float:
        """A bound on the errors, in rows, of the ranks at which the probabilities are read.

        Each is a combination of released counts, with coefficients that least squares gives. What is known of combinations the
        mechanism says; of one that does not, only that no node is off by more than its `accuracy`.
        """
        entries, noise = 2 ** (self.depth + 1) - 2, errors.noise
        if isinstance(noise, dpkit.CombinedAccurate):
            norm = rank_norm(self.depth) * math.sqrt(errors.cells)
            return noise.combined_accuracy(norm, len(self.probabilities), confidence, entries=entries * errors.cells)
        return (
            2.0 * worst_prefix(self.depth) * errors.cells * dpkit.expected_error(noise, (entries * errors.cells,), confidence)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Median:
    """The quantile at one half, as one number."""

    tree: QuantilesOfTree

    @property
    def query(self) -> dpkit.Query:
        """That of the tree."""
        return self.tree.query

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Average:
        """The one row of the quantiles."""
        found = self.tree.answer(released, errors, confidence)
        ((estimate,), (lower,), (upper,)) = found.estimates, found.lower, found.upper
        error = max(upper - estimate, estimate - lower)
        return Average(estimate=estimate, lower=lower, upper=upper, error=error, confidence=confidence, count=found.count)

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """In rank."""
        return self.tree.error(errors, confidence, rows)


def median(
    setting: dpkit.Setting, *, column: str, depth: int, mechanism: dpkit.Choice, by: dpkit.Groups | None = None
) -> AnyAlgorithm:
    """The median of a column, over the rows that have a value."""
    statistic = Median(tree=_tree(setting, column, (0.5,), depth, by, where="median"))
    return released(setting, statistic, mechanism, by)


def quantiles(
    setting: dpkit.Setting,
    *,
    column: str,
    probabilities: tuple[float, ...],
    depth: int,
    mechanism: dpkit.Choice,
    by: dpkit.Groups | None = None,
) -> AnyAlgorithm:
    """Several quantiles of a column, over the rows that have a value."""
    if not probabilities or len(set(probabilities)) != len(probabilities):
        allowed = "numbers between 0 and 1 that differ, at least one"
        raise dpkit.InvalidValueError(field="probabilities", found=probabilities, allowed=allowed, where="quantiles")
    return released(setting, _tree(setting, column, probabilities, depth, by, where="quantiles"), mechanism, by)


def _tree(
    setting: dpkit.Setting, column: str, asked: tuple[float, ...], depth: int, by: dpkit.Groups | None, *, where: str
) -> QuantilesOfTree:
    bounds, size = number_range(setting, column, where=where), None if by else public_count(setting, (column,))
    query = tree_query(column, bounds, depth)
    return QuantilesOfTree(query=query, bounds=bounds, depth=depth, probabilities=asked, size=size)
