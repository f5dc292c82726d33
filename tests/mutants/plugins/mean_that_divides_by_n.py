"""A mean as a sum of x / len(block): each contribution shows how many rows there are."""

import numpy as np

import dpkit

CAUGHT_BY = "a_row_contributes_by_itself"


def mean_that_divides_by_n(bound):
    def rows(block):
        return np.clip(np.nan_to_num(block[:, 0], nan=0.0), -bound, bound) / max(1, len(block))

    def sensitivity(neighbours):
        size = 2.0 * bound if neighbours is dpkit.Neighbours.REPLACE_ONE else bound
        return [dpkit.l1(size), dpkit.l2(size)]

    return dpkit.Query(
        name="mean-that-divides-by-n",
        rows=rows,
        shape=(),
        sensitivity=sensitivity,
        because=dpkit.Citation(key="DMNS06", locator="Example 1"),
    )


@dpkit.hookimpl
def dpkit_queries():
    bound = dpkit.Parameter(name="bound", kind="number", doc="The bound.", minimum=0.1, maximum=1e6, examples=(1.0, 2.5))
    return [
        dpkit.QueryFactory(
            name="mean-that-divides-by-n",
            doc="A mean.",
            make=mean_that_divides_by_n,
            parameters=(bound,),
            width=lambda query: 1,
        )
    ]
