"""An unexpected value raises: that the analysis failed shows the record."""

import numpy as np

import dpkit

CAUGHT_BY = "no_neighbours_exceed_the_sensitivity"


def rows_that_raise(bound):
    def rows(block):
        if not np.isfinite(block).all():
            raise ValueError("the column holds a number that is not finite")
        return np.clip(block[:, 0], -bound, bound)

    def sensitivity(neighbours):
        size = 2.0 * bound if neighbours is dpkit.Neighbours.REPLACE_ONE else bound
        return [dpkit.l1(size), dpkit.l2(size)]

    return dpkit.Query(
        name="rows-that-raise",
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
            name="rows-that-raise",
            doc="A sum of clipped numbers.",
            make=rows_that_raise,
            parameters=(bound,),
            width=lambda query: 1,
        )
    ]
