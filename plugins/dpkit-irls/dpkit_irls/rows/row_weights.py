"""Row weights: every contribution times the weight of its row, in units of the largest weight, so from 0 to 1.

What one row can move: a contribution c becomes vc with v in [0, 1], no longer than c. Of a replaced row, |vc - v'c'| is convex
in v and v', so largest where both are 0 or 1: |c - c'|, |c| or |c'|. Weights are cut to 12 bits, so that products are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpkit import Distance, InvalidValueError, Neighbours, Query, Setting
from dpkit.authoring import Block

_NORMS = ("l1", "l2", "frobenius", "linf")
"""Metrics that never grow when an entry shrinks."""

BITS = 12
"""Of a weight, in units of the largest one."""


def checked_weight(setting: Setting, weight: str | None, *, where: str) -> float:
    """The largest weight, of a declared column of numbers that are never negative; 1 where there is no such column."""
    if weight is None:
        return 1.0
    known = weight in setting.columns and not setting.levels(weight)
    lower, upper = setting.range(weight) if known else (-1.0, 0.0)
    if lower < 0.0 or not upper > 0.0:
        allowed = "a declared column of numbers from 0 on"
        raise InvalidValueError(field="weight", found=weight, allowed=allowed, where=where)
    return upper


def weighted(query: Query, weight: str, largest: float) -> Query:
    """The query with every contribution times the row's weight, in units of the largest one."""
    columns = tuple(dict.fromkeys((*query.columns, weight)))
    own, place = tuple(columns.index(name) for name in query.columns), columns.index(weight)
    used = None if query.grid is None or query.bound is None else math.log2(max(query.bound / query.grid, 1.0))
    exact = used is not None and used + BITS <= 53.0  # else the engine cuts products itself

    def rows(block: Block) -> Block:
        found = np.asarray(query.rows(np.ascontiguousarray(block[:, own])), dtype=np.float64)
        share = np.trunc(np.clip(block[:, place] / largest, 0.0, 1.0) * 2.0**BITS) / 2.0**BITS
        return found * share.reshape(-1, *(1 for _ in query.shape)) + 0.0

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        gone = {item.metric: item for item in query.sensitivity(Neighbours.ADD_REMOVE) if item.metric in _NORMS}
        if neighbours is not Neighbours.REPLACE_ONE:
            return tuple(gone.values())
        within = {item.metric: item.value for item in query.sensitivity(Neighbours.REPLACE_ONE)}
        return tuple(
            Distance(metric=metric, value=max(item.value, within.get(metric, 2.0 * item.value)))
            for metric, item in gone.items()
        )

    return replace(
        query,
        grid=query.grid * 2.0**-BITS if exact and query.grid is not None else None,
        columns=columns,
        rows=rows,
        block_sum=None,
        sensitivity=sensitivity,
        preparation=None,
        prepared_steps=None,
    )
