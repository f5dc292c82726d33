"""Strategies for data: floats that break things, values at a distance, and neighbouring datasets under each relation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from dpkit.auditing.search.metrics import sizes_in
from dpkit.privacy.losses import GDP, ZCDP, ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.testing.strategies import log_uniform

Array = npt.NDArray[np.float64]

AWKWARD = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.0**-1022, 1e-162, 0.1, 1.0 / 3.0, 2.0**53 + 2.0, 1e308, -1e308)
"""Finite floats at which rounding, underflow and overflow show."""


def adversarial_floats(*, finite: bool = True) -> st.SearchStrategy[float]:
    """Floats that break naive code, ordinary ones among them; with `finite=False`, NaN and infinities, too."""
    odd = AWKWARD if finite else (*AWKWARD, math.inf, -math.inf, math.nan)
    return st.one_of(st.sampled_from(odd), st.floats(-4.0, 4.0), st.floats(allow_nan=not finite, allow_infinity=not finite))


def budgets() -> st.SearchStrategy[Loss]:
    """Budgets as analysts write them, of every notion that a budget may have."""
    epsilons, deltas = log_uniform(1e-2, 20.0), log_uniform(1e-12, 1e-2)
    return st.one_of(
        st.builds(PureDP, epsilon=epsilons),
        st.builds(ApproxDP, epsilon=epsilons, delta=deltas),
        st.builds(ZCDP, rho=epsilons),
        st.builds(GDP, mu=epsilons),
    )


@st.composite
def values_at(draw: st.DrawFn, distance: Distance, *, shape: tuple[int, ...] = (3,)) -> tuple[Array, Array]:
    """Two values at most this distance apart, in l1, l2, linf, frobenius or rank_one; often at just that distance."""
    entries = st.floats(-1.0, 1.0).filter(lambda x: x == 0.0 or abs(x) > 1e-9)
    count = math.prod(shape)
    start = np.array(draw(st.lists(st.floats(-1e6, 1e6), min_size=count, max_size=count))).reshape(shape)
    move = np.array(draw(st.lists(entries, min_size=count, max_size=count))).reshape(shape)
    if distance.metric == "rank_one":
        vector = move[0]
        move = np.outer(vector, vector) * draw(st.sampled_from([1.0, -1.0]))
    if distance.metric in ("rank_one", "frobenius") and len(shape) == 2:
        start, move = start + start.T, move + move.T
    size = float(sizes_in(distance.metric, move[None])[0])
    if size == 0.0 or not math.isfinite(size):
        return start, start.copy()
    other = start + move * (distance.value / size)
    # rounding may have moved it too far: halve the step until it has not
    for _ in range(8):
        if float(sizes_in(distance.metric, (other - start)[None])[0]) <= distance.value:
            return start, other
        other = start + (other - start) * 0.5
    return start, start.copy()


@st.composite
def neighbouring_datasets(
    draw: st.DrawFn, relation: Neighbours, *, columns: int = 2, most: int = 8, cells: st.SearchStrategy[Any] | None = None
) -> tuple[Array, Array]:
    """Two datasets that differ in one record: one more or less, or one in another's place. Rows are any floats at all."""
    cell = adversarial_floats(finite=False) if cells is None else cells
    row = st.lists(cell, min_size=columns, max_size=columns)
    rows = draw(st.lists(row, min_size=1 if relation is Neighbours.REPLACE_ONE else 0, max_size=most))
    place = draw(st.integers(0, len(rows) - (1 if relation is Neighbours.REPLACE_ONE else 0)))
    changed = draw(row)
    if relation is Neighbours.REPLACE_ONE:
        others = [*rows[:place], changed, *rows[place + 1 :]]
    else:
        others = [*rows[:place], changed, *rows[place:]]
    one, other = (np.array(found, dtype=np.float64).reshape(len(found), columns) for found in (rows, others))
    return (one, other) if draw(st.booleans()) else (other, one)
