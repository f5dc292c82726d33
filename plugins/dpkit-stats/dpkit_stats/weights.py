"""Row weights: a declared column from 0 to a public upper bound W says how much a row counts.

A weighted mean is released as the sums of v(1+u)/2 and v(1-u)/2 for v = w/W in [0, 1]: points of the simplex without its upper
face, so that one row moves them by at most as much as without weights (L1 at most 1; replaced, L1 at most 2 and L2 at most the
root of 2). Their sum is the total weight in units of W.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import dpkit
from dpkit.authoring import AnyAlgorithm
from dpkit_stats import sums, totals
from dpkit_stats.columns import known_column, number_range
from dpkit_stats.grouping import released
from dpkit_stats.scaling import GRID, Array, Interval, cut_down
from dpkit_stats.totals import Sum


def weight_range(setting: dpkit.Setting, weight: str, *, where: str) -> Interval:
    """The bounds of a column of weights, which are never negative."""
    bounds = number_range(setting, weight, where=where, field="weight")
    if bounds.lower < 0.0:
        allowed = "a column of numbers from 0 on"
        fix = f"Declare it so: {weight}: [0, {bounds.upper:g}]."
        raise dpkit.InvalidValueError(field="weight", found=weight, allowed=allowed, where=where, fix=fix)
    return bounds


def weighted_mean_query(column: str, bounds: Interval, weight: str, weights: Interval) -> dpkit.Query:
    """Sums of v(1+u)/2 and of v(1-u)/2, for v the weight in units of its upper bound."""
    known = sums.mean_query(column, bounds)
    own = (column,) if column == weight else (column, weight)

    def rows(block: Array) -> Array:
        share = cut_down(np.clip(block[:, -1] / weights.upper, 0.0, 1.0))
        high = cut_down(share * ((1.0 + bounds.unit(block[:, 0])) / 2.0))  # at most `share`: cutting down is monotone
        return np.stack([high, share - high], axis=1)

    return replace(
        known,
        name="weighted mean",
        columns=own,
        rows=rows,
        block_sum=lambda block: np.sum(rows(block), axis=0),
        grid=GRID,
        because=dpkit.Citation(key="dpkit", locator="docs/statistics.md: row weights"),
    )


def total_weight(
    setting: dpkit.Setting, *, column: str | None, weight: str, mechanism: dpkit.Choice, by: dpkit.Groups | None
) -> AnyAlgorithm:
    """How much the rows count together that have a value in a column."""
    bounds = weight_range(setting, weight, where="count")
    if column is None or column == weight:
        return totals.total(setting, column=weight, mechanism=mechanism, by=by)
    fine = sums.FINE if by is None else sums.FINE_IN_BLOCKS
    query = replace(sums.sum_query(weight, bounds, fine=fine), columns=(weight, known_column(setting, column)))
    return released(setting, Sum(query=query, bounds=bounds, fine=fine), mechanism, by)
