"""Rows are scaled by the largest one in the data before they are clipped."""

import numpy as np

import dpkit

CAUGHT_BY = "a_row_contributes_by_itself"


def scaled_by_the_data(bound):
    def rows(block):
        finite = np.clip(np.nan_to_num(block[:, 0], nan=0.0), -1e9, 1e9)
        return bound * finite / max(1e-9, np.max(np.abs(finite), initial=0.0))

    def sensitivity(neighbours):
        size = 2.0 * bound if neighbours is dpkit.Neighbours.REPLACE_ONE else bound
        return [dpkit.l1(size), dpkit.l2(size)]

    return dpkit.Query(
        name="scaled-by-the-data",
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
            name="scaled-by-the-data",
            doc="A sum of clipped numbers.",
            make=scaled_by_the_data,
            parameters=(bound,),
            width=lambda query: 1,
        )
    ]
