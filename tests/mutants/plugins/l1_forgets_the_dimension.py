"""Rows are cut to L2 norm 1, and the L1 distance is declared to be 1 as well, where it is the root of the dimension."""

import numpy as np

import dpkit

CAUGHT_BY = "no_neighbours_exceed_the_sensitivity"


def l1_forgets_the_dimension(columns):
    def rows(block):
        clean = np.clip(np.nan_to_num(block, nan=0.0), -1.0, 1.0)
        return clean / np.maximum(np.sqrt(np.sum(clean**2, axis=1, keepdims=True)), 1.0)

    def sensitivity(neighbours):
        size = 2.0 if neighbours is dpkit.Neighbours.REPLACE_ONE else 1.0
        return [dpkit.l2(size * (1.0 + 1e-12)), dpkit.l1(size * (1.0 + 1e-12))]

    return dpkit.Query(
        name="l1-forgets-the-dimension",
        rows=rows,
        shape=(columns,),
        sensitivity=sensitivity,
        because=dpkit.Citation(key="DMNS06", locator="Example 2"),
    )


@dpkit.hookimpl
def dpkit_queries():
    columns = dpkit.Parameter(name="columns", kind="integer", doc="How many.", minimum=1, maximum=20, examples=(3,))
    return [
        dpkit.QueryFactory(
            name="l1-forgets-the-dimension",
            doc="A sum of vectors.",
            make=l1_forgets_the_dimension,
            parameters=(columns,),
            width=lambda query: query.shape[0],
        )
    ]
