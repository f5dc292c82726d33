"""A sum that declares no distance at all: a search over nothing finds nothing."""

import numpy as np

import dpkit

CAUGHT_BY = "no_neighbours_exceed_the_sensitivity"


def no_distance_declared(bound):
    def rows(block):
        return np.clip(np.nan_to_num(block[:, 0], nan=0.0), -bound, bound)

    def sensitivity(neighbours):
        return []

    return dpkit.Query(
        name="no-distance-declared",
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
            name="no-distance-declared",
            doc="A sum.",
            make=no_distance_declared,
            parameters=(bound,),
            width=lambda query: 1,
        )
    ]
