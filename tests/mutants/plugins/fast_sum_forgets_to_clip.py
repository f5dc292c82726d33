"""The fast path sums what the reference clips."""

import numpy as np

import dpkit

CAUGHT_BY = "the_fast_sum_is_the_sum"


def fast_sum_forgets_to_clip(bound):
    def rows(block):
        return np.clip(np.nan_to_num(block[:, 0], nan=0.0), -bound, bound)

    def sensitivity(neighbours):
        size = 2.0 * bound if neighbours is dpkit.Neighbours.REPLACE_ONE else bound
        return [dpkit.l1(size), dpkit.l2(size)]

    return dpkit.Query(
        name="fast-sum-forgets-to-clip",
        rows=rows,
        shape=(),
        sensitivity=sensitivity,
        because=dpkit.Citation(key="DMNS06", locator="Example 1"),
        block_sum=lambda block: np.sum(np.nan_to_num(block[:, 0], nan=0.0, posinf=bound, neginf=-bound)),
    )


@dpkit.hookimpl
def dpkit_queries():
    bound = dpkit.Parameter(name="bound", kind="number", doc="The bound.", minimum=0.1, maximum=1e6, examples=(1.0, 2.5))
    return [
        dpkit.QueryFactory(
            name="fast-sum-forgets-to-clip",
            doc="A sum of clipped numbers.",
            make=fast_sum_forgets_to_clip,
            parameters=(bound,),
            width=lambda query: 1,
        )
    ]
