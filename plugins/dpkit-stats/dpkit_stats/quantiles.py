"""Quantiles: few are chosen by exponential mechanisms; many are read from a tree of counts, made consistent, where the counts
reach each probability.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np

import dpkit
from dpkit.authoring import AnyAlgorithm, dataclass
from dpkit_stats.chosen_quantiles import ChoiceNoise, ChosenQuantiles, cells_of, cells_query
from dpkit_stats.columns import number_range, public_count
from dpkit_stats.count_tree import consistent_leaves, rank_coefficients, rank_norm, rising, tree_query, worst_prefix
from dpkit_stats.grouping import released
from dpkit_stats.noise_errors import NoiseErrors, each_of, laplace_combination
from dpkit_stats.one_release import CONFIDENCE, IN_RANK, OneRelease
from dpkit_stats.results import MiddleValue, Quantiles
from dpkit_stats.scaling import Array, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantilesOfTree:
    """The values at which the noisy, consistent counts reach each probability, interpolated within a cell."""

    query: dpkit.Query
    bounds: Interval
    depth: int
    probabilities: tuple[float, ...]
    size: int | None
    error_in: ClassVar[str] = IN_RANK

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
            rank_error=self._prefix_error(errors, confidence),
            confidence=confidence,
            resolution=2.0 * self.bounds.half / 2**self.depth,
            count=count,
        )

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """In rank, in rows."""
        return self._prefix_error(errors, confidence)

    def _error(self, errors: NoiseErrors, confidence: float, count: float) -> float:
        """The error of a rank over the count."""
        return 1.0 if count < 1.0 else min(1.0, self._prefix_error(errors, confidence) / count)

    def _prefix_error(self, errors: NoiseErrors, confidence: float) -> float:
        """A bound on the errors, in rows, of the ranks at which the probabilities are read.

        Each is a combination of released counts, with coefficients that least squares gives. What is known of combinations the
        mechanism says; of one that does not, only that no node is off by more than its `accuracy`.
        """
        entries, noise = 2 ** (self.depth + 1) - 2, errors.noise
        if isinstance(noise, dpkit.Laplace | dpkit.DiscreteLaplace) and errors.cells:
            step = 1.0 if isinstance(noise, dpkit.DiscreteLaplace) else noise.grid
            own, rounding = _laplace_ranks(self.depth, errors.cells, each_of(len(self.probabilities), confidence))
            return noise.scale * own + step * rounding
        if isinstance(noise, dpkit.CombinedAccurate):
            norm = rank_norm(self.depth) * math.sqrt(errors.cells)
            return noise.combined_accuracy(norm, len(self.probabilities), confidence, entries=entries * errors.cells)
        return (
            2.0 * worst_prefix(self.depth) * errors.cells * dpkit.expected_error(noise, (entries * errors.cells,), confidence)
        )


@lru_cache(maxsize=256)
def _laplace_ranks(depth: int, cells: int, confidence: float) -> tuple[float, float]:
    """The error of a rank from Laplace noise of scale 1 in every node of one tree for each cell; and what rounding to whole
    numbers may add: half a step an entry, independently, of which this is several deviations.
    """
    sizes, counts = rank_coefficients(depth)
    times = tuple(cells * count for count in counts)
    squares = sum(count * size * size for size, count in zip(sizes, times, strict=True))
    return laplace_combination(sizes, times, confidence), 2.0 * math.sqrt(squares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Median:
    """The quantile at one half, as one number."""

    of: QuantilesOfTree
    error_in: ClassVar[str] = IN_RANK

    @property
    def query(self) -> dpkit.Query:
        """That of the quantiles."""
        return self.of.query

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> MiddleValue:
        """The one row of the quantiles."""
        return _middle(self.of.answer(released, errors, confidence))

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """In rank, in rows."""
        return self.of.error(errors, confidence, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenMedian:
    """The quantile at one half as it was chosen, as one number."""

    of: ChosenQuantiles
    error_in: ClassVar[str] = IN_RANK

    @property
    def query(self) -> dpkit.Query:
        """That of the quantiles."""
        return self.of.query

    @property
    def released_shape(self) -> tuple[int, ...]:
        """That of the quantiles."""
        return self.of.released_shape

    def noise(self, setting: dpkit.Setting, query: dpkit.Query) -> ChoiceNoise:
        """That of the quantiles."""
        return self.of.noise(setting, query)

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> MiddleValue:
        """The one row of the quantiles."""
        return _middle(self.of.answer(released, errors, confidence))

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """In rank, in rows."""
        return self.of.error(errors, confidence, rows)


def _middle(found: Quantiles) -> MiddleValue:
    ((estimate,), (lower,), (upper,)) = found.estimates, found.lower, found.upper
    return MiddleValue(
        estimate=estimate,
        lower=lower,
        upper=upper,
        rank_error=found.rank_error,
        confidence=found.confidence,
        resolution=found.resolution,
        count=found.count,
    )


def median(
    setting: dpkit.Setting,
    *,
    column: str,
    depth: int | None,
    mechanism: dpkit.Choice | None,
    by: dpkit.Groups | None = None,
) -> AnyAlgorithm:
    """The median of a column, over the rows that have a value."""
    found = _statistic(setting, column, (0.5,), depth, mechanism, by, where="median")
    statistic = ChosenMedian(of=found) if isinstance(found, ChosenQuantiles) else Median(of=found)
    return released(setting, statistic, mechanism or _TREE, by)


def quantiles(
    setting: dpkit.Setting,
    *,
    column: str,
    probabilities: tuple[float, ...],
    depth: int | None,
    mechanism: dpkit.Choice | None,
    by: dpkit.Groups | None = None,
) -> AnyAlgorithm:
    """Several quantiles of a column, over the rows that have a value."""
    if not probabilities or len(set(probabilities)) != len(probabilities):
        allowed = "numbers between 0 and 1 that differ, at least one"
        raise dpkit.InvalidValueError(field="probabilities", found=probabilities, allowed=allowed, where="quantiles")
    statistic = _statistic(setting, column, probabilities, depth, mechanism, by, where="quantiles")
    return released(setting, statistic, mechanism or _TREE, by)


_TREE = dpkit.Choice(name="gaussian")


def _statistic(
    setting: dpkit.Setting,
    column: str,
    asked: tuple[float, ...],
    depth: int | None,
    mechanism: dpkit.Choice | None,
    by: dpkit.Groups | None,
    *,
    where: str,
) -> QuantilesOfTree | ChosenQuantiles:
    """By choice where that was asked for, or where nothing was and its error is the smaller one at the same zCDP; or a tree."""
    bounds = number_range(setting, column, where=where)
    if mechanism is not None and mechanism.name != _EXPONENTIAL:
        return _tree(setting, column, bounds, asked, depth, by)
    if mechanism is not None and mechanism.given:
        allowed = f"{_EXPONENTIAL} without parameters: the plan chooses them"
        raise dpkit.InvalidValueError(field="mechanism", found=str(mechanism), allowed=allowed, where=where)
    cells = cells_of(setting, column, bounds, depth, by.count if by and by.keys is None else 1)
    rows = setting.size if by is None else None
    chosen = ChosenQuantiles(query=cells_query(column, cells), cells=cells, probabilities=asked, rows=rows)
    tree = _tree(setting, column, bounds, asked, depth, by)
    if mechanism is not None or _error_of(setting, chosen) <= _error_of(setting, tree):
        return chosen
    return tree


_EXPONENTIAL = "exponential"


def _error_of(setting: dpkit.Setting, statistic: QuantilesOfTree | ChosenQuantiles) -> float:
    noise = OneRelease(setting=setting, statistic=statistic, mechanism=_TREE).noise(1.0)
    return statistic.error(NoiseErrors(noise=noise), CONFIDENCE, None)


def _tree(
    setting: dpkit.Setting,
    column: str,
    bounds: Interval,
    asked: tuple[float, ...],
    depth: int | None,
    by: dpkit.Groups | None,
) -> QuantilesOfTree:
    cut, size = _DEPTH if depth is None else depth, None if by else public_count(setting, (column,))
    query = tree_query(column, bounds, cut)
    return QuantilesOfTree(query=query, bounds=bounds, depth=cut, probabilities=asked, size=size)


_DEPTH = 10
