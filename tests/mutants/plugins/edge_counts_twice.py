"""A histogram whose bins include both of their ends: a row that lies on an inner edge counts in two of them."""

import numpy as np

import dpkit

CAUGHT_BY = "no_neighbours_exceed_the_sensitivity"


def edge_counts_twice(edges):
    lower, upper = np.array(edges[:-1]), np.array(edges[1:])

    def rows(block):
        return ((block[:, :1] >= lower) & (block[:, :1] <= upper)).astype(np.float64)

    def sensitivity(neighbours):
        return [dpkit.l1(2.0 if neighbours is dpkit.Neighbours.REPLACE_ONE else 1.0)]

    return dpkit.Query(
        name="edge-counts-twice",
        rows=rows,
        shape=(len(lower),),
        sensitivity=sensitivity,
        because=dpkit.Citation(key="DMNS06", locator="histograms"),
    )


@dpkit.hookimpl
def dpkit_queries():
    edges = dpkit.Parameter(name="edges", kind="numbers", doc="The edges.", examples=((0.0, 6.7, 12.3, 24.0),))
    return [
        dpkit.QueryFactory(
            name="edge-counts-twice", doc="A histogram.", make=edge_counts_twice, parameters=(edges,), width=lambda query: 1
        )
    ]
