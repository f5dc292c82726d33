"""A sum scaled by the largest number seen so far: later blocks are treated otherwise than earlier ones."""

import numpy as np

import dpkit

CAUGHT_BY = "a_row_contributes_by_itself"


def largest_so_far(bound):
    seen = [bound]

    def rows(block):
        values = np.clip(np.nan_to_num(block[:, 0], nan=0.0), -bound, bound)
        seen[0] = min(2.0 * bound, max(seen[0], 2.0 * float(np.max(np.abs(values), initial=0.0))))
        return values * bound / seen[0]

    def sensitivity(neighbours):
        size = 2.0 * bound if neighbours is dpkit.Neighbours.REPLACE_ONE else bound
        return [dpkit.l1(size), dpkit.l2(size)]

    return dpkit.Query(
        name="largest-so-far",
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
            name="largest-so-far",
            doc="A sum.",
            make=largest_so_far,
            parameters=(bound,),
            width=lambda query: 1,
        )
    ]
