"""The first distance is in a metric that nobody can measure; behind it, the second is half of what it should be."""

import numpy as np

import dpkit

CAUGHT_BY = "no_neighbours_exceed_the_sensitivity"


def a_metric_of_its_own(bound):
    def rows(block):
        return np.clip(np.nan_to_num(block[:, 0], nan=0.0), -bound, bound)

    def sensitivity(neighbours):
        return [dpkit.Distance(metric="steps", value=1.0), dpkit.l1(bound)]

    return dpkit.Query(
        name="a-metric-of-its-own",
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
            name="a-metric-of-its-own", doc="A sum.", make=a_metric_of_its_own, parameters=(bound,), width=lambda query: 1
        )
    ]
