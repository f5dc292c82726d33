"""Count and histogram: the released total is the answer, and its error is that of the noise."""

from __future__ import annotations

import numpy as np

import dpkit
from dpkit.authoring import AnyAlgorithm, dataclass, edge_labels, in_full
from dpkit_stats import counting
from dpkit_stats.columns import known_column, truth_values
from dpkit_stats.grouping import released
from dpkit_stats.noise_errors import NoiseErrors
from dpkit_stats.private_keys import CountedKeys, holds_one_key
from dpkit_stats.results import Histogram, Total
from dpkit_stats.scaling import Array
from dpkit_stats.weights import total_weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many rows; the released number is the answer."""

    query: dpkit.Query

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Total:
        """The released number."""
        found, error = float(released), self.error(errors, confidence, None)
        return Total(estimate=found, lower=found - error, upper=found + error, error=error, confidence=confidence)

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """That of the noise."""
        return errors.one(confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCounts:
    """One number a cell."""

    query: dpkit.Query
    cells: tuple[str, ...]

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Histogram:
        """The released numbers."""
        estimates = tuple(float(count) for count in np.asarray(released))
        error = self.error(errors, confidence, None)
        return Histogram(cells=self.cells, estimates=estimates, error=error, confidence=confidence)

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """That of the noise, over all cells."""
        return errors.all_of(len(self.cells), confidence)


def count(
    setting: dpkit.Setting,
    *,
    column: str | None,
    weight: str | None = None,
    mechanism: dpkit.Choice,
    by: dpkit.Groups | None = None,
) -> AnyAlgorithm:
    """How many rows there are; with a column, how many have a value there. In groups, rows that are in one.

    With a weight, how much those together count that have one, and a value in the column where one is named.
    """
    if weight is not None:
        return total_weight(setting, column=column, weight=weight, mechanism=mechanism, by=by)
    if column is not None:
        query = counting.count_query((known_column(setting, column),))
    elif by is None:
        query = counting.rows_query(getattr(setting, "table_columns", setting.columns))
    else:
        query = counting.count_query(by.names if by.keys is None else (*by.names, by.keys.column))
    statistic = Count(query=query)
    if by is not None and by.keys is not None and column is None and not by.columns and holds_one_key(setting):
        return CountedKeys(setting=setting, keys=by.keys)
    return released(setting, statistic, mechanism, by, adds_up=True)


def histogram(
    setting: dpkit.Setting,
    *,
    column: str,
    edges: tuple[float, ...] | None,
    mechanism: dpkit.Choice,
    by: dpkit.Groups | None = None,
) -> AnyAlgorithm:
    """Counts of the levels of a category, of false and true, or of numbers between edges."""
    levels: tuple[str, ...] = setting.levels(known_column(setting, column)) or truth_values(setting, column)
    if levels and edges is not None and not truth_values(setting, column):
        allowed = "nothing: the cells of a category are its levels"
        raise dpkit.InvalidValueError(field="edges", found=edges, allowed=allowed, where="histogram")
    if edges is not None:
        statistic = CellCounts(query=counting.histogram_query(column, edges), cells=edge_labels(edges))
    elif levels:
        statistic = CellCounts(query=counting.categories_query(column, len(levels)), cells=levels)
    else:
        lower, upper = setting.range(column)
        allowed = f"increasing numbers, since {column!r} has no levels"
        fix = f"For example [{in_full(lower)}, {in_full(0.5 * lower + 0.5 * upper)}, {in_full(upper)}]."
        raise dpkit.InvalidValueError(field="edges", found=None, allowed=allowed, where="histogram", fix=fix)
    return released(setting, statistic, mechanism, by)
