"""Many answers of one statistic on one table: rows are summed once, and noise is drawn again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import dpkit
from dpkit.authoring import Array

BUDGET = dpkit.ApproxDP(epsilon=1.0, delta=1e-6)


def solved(algorithm: dpkit.IterativeAlgorithm[Any], budget: dpkit.ApproxDP = BUDGET) -> float:
    """The noise multiplier at which this statistic alone spends the budget."""
    noises, _ = dpkit.solve_noise([algorithm], budget)
    return noises[0]


def draw_answers(
    algorithm: Any, table: Mapping[str, Array], setting: dpkit.DeclaredSetting, *, noise: float, runs: int, seed: int = 0
) -> Iterator[Any]:
    """Answers of independent runs: a statistic of one release, with what comes out beside it."""
    source = dpkit.open_source(table, setting.schema, unit=setting.unit, neighbours=setting.neighbours)
    rng = np.random.default_rng(seed)
    state = algorithm.init(noise)
    pairs = algorithm._pairs(noise)
    totals = dpkit.BlockEngine(source).evaluate([query for query, _ in pairs])
    values = []
    for total, (_, mechanism) in zip(totals, pairs, strict=True):
        whole = isinstance(mechanism, dpkit.OnGrid) and mechanism.grid == 1.0
        values.append(total.nearest().astype(np.int64) if whole else total.nearest())
    for _ in range(runs):
        found = [np.asarray(mechanism.release(value, rng)) for value, (_, mechanism) in zip(values, pairs, strict=True)]
        yield algorithm.result(type(state)(noise=noise, released=found[0] if len(found) == 1 else np.stack(found)))
