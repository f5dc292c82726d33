"""Under replace-one a row leaves and another comes, from -bound to +bound; declared is one bound."""

import numpy as np

import dpkit

CAUGHT_BY = "no_neighbours_exceed_the_sensitivity"


def replaced_row_counts_once(bound):
    def rows(block):
        return np.clip(np.nan_to_num(block[:, 0], nan=0.0), -bound, bound)

    def sensitivity(neighbours):
        return [dpkit.l1(bound), dpkit.l2(bound)]

    return dpkit.Query(
        name="replaced-row-counts-once",
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
            name="replaced-row-counts-once",
            doc="A sum of clipped numbers.",
            make=replaced_row_counts_once,
            parameters=(bound,),
            width=lambda query: 1,
        )
    ]
