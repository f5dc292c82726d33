"""A fast sum that works on pieces of 512 rows and forgets the last, shorter one."""

import numpy as np

import dpkit

CAUGHT_BY = "the_fast_sum_is_the_sum"


def fast_sum_drops_rows(bound):
    def rows(block):
        return np.clip(np.nan_to_num(block[:, 0], nan=0.0), -bound, bound)

    def block_sum(block):
        values = rows(block)
        whole = len(values) // 512 * 512
        return np.sum(values[:whole].reshape(-1, 512)) if whole else np.sum(values)

    def sensitivity(neighbours):
        size = bound * (2.0 if neighbours is dpkit.Neighbours.REPLACE_ONE else 1.0)
        return [dpkit.l1(size), dpkit.l2(size)]

    return dpkit.Query(
        name="fast-sum-drops-rows",
        rows=rows,
        shape=(),
        sensitivity=sensitivity,
        because=dpkit.Citation(key="DMNS06", locator="Example 1"),
        block_sum=block_sum,
    )


@dpkit.hookimpl
def dpkit_queries():
    bound = dpkit.Parameter(name="bound", kind="number", doc="The bound.", minimum=0.1, maximum=1e6, examples=(1.0, 2.5))
    return [
        dpkit.QueryFactory(
            name="fast-sum-drops-rows", doc="A sum.", make=fast_sum_drops_rows, parameters=(bound,), width=lambda query: 1
        )
    ]
