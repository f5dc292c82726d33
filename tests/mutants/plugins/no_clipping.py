"""The bound is documented, and not enforced."""

import numpy as np

import dpkit

CAUGHT_BY = "no_neighbours_exceed_the_sensitivity"


def no_clipping(bound):
    def rows(block):
        return np.nan_to_num(block[:, 0], nan=0.0, posinf=0.0, neginf=0.0)

    def sensitivity(neighbours):
        size = 2.0 * bound if neighbours is dpkit.Neighbours.REPLACE_ONE else bound
        return [dpkit.l1(size), dpkit.l2(size)]

    return dpkit.Query(
        name="no-clipping",
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
            name="no-clipping", doc="A sum of clipped numbers.", make=no_clipping, parameters=(bound,), width=lambda query: 1
        )
    ]
