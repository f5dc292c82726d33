"""How many rows have each level of a column, by the engine."""

import numpy as np

import dpkit

CITATION = dpkit.Citation(key="dpkit", locator="tests")


def levels(column, count):
    def rows(block):
        return (block[:, :1] == np.arange(count)).astype(np.float64)

    return dpkit.Query(
        name="levels", columns=(column,), rows=rows, shape=(count,), grid=1.0, bound=1.0,
        sensitivity=lambda relation: (dpkit.l1(1.0), dpkit.l2(1.0)), because=CITATION,
    )  # fmt: skip


def totals(data, schema, **options):
    (total,) = dpkit.BlockEngine(dpkit.open_source(data, schema, **options)).evaluate([levels(schema.names[0], 2)])
    return total.nearest()
