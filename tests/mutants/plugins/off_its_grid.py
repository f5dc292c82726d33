"""Contributions that are said to be whole quarters and are not: the engine's sums round, and sensitivities end there."""

import numpy as np

import dpkit

CAUGHT_BY = "contributions_keep_their_declared_bound_and_grid"


def off_its_grid(bound):
    def rows(block):
        return np.clip(np.nan_to_num(block[:, 0], nan=0.0), -bound, bound)

    def sensitivity(neighbours):
        size = bound * (2.0 if neighbours is dpkit.Neighbours.REPLACE_ONE else 1.0)
        return [dpkit.l1(size), dpkit.l2(size)]

    return dpkit.Query(
        name="off-its-grid",
        rows=rows,
        shape=(),
        sensitivity=sensitivity,
        because=dpkit.Citation(key="DMNS06", locator="Example 1"),
        block_sum=lambda block: np.sum(rows(block)),
        grid=0.25,
        bound=bound,
    )


@dpkit.hookimpl
def dpkit_queries():
    bound = dpkit.Parameter(name="bound", kind="number", doc="The bound.", minimum=0.1, maximum=1e6, examples=(1.0, 2.5))
    return [
        dpkit.QueryFactory(name="off-its-grid", doc="A sum.", make=off_its_grid, parameters=(bound,), width=lambda query: 1)
    ]
