"""Rows of two numbers as a source, and queries of them."""

import numpy as np

from dpkit.contracts.query import Query
from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import Schema
from dpkit.data.tables.open_source import open_source

SCHEMA = Schema(columns=(Number(name="x", lower=-1, upper=1), Number(name="y", lower=-1, upper=1)))


def source_of(rows, **options):
    return open_source(np.asarray(rows), SCHEMA, names=["x", "y"], **options)


def of_rows(rows, queries, **changes):
    fields = {"name": "q", "rows": rows, "shape": (), "because": queries.SOURCE, "grid": 0.25, "bound": 1.0}
    return Query(**(fields | {"sensitivity": lambda relation: ()} | changes))
