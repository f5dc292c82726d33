"""Queries that share prepared rows: squares of two columns."""

import numpy as np

from dpkit.contracts.query import Query
from dpkit.numerics.exact_sums import truncated
from dpkit.privacy.claims import Citation
from dpkit.privacy.neighbours import l1

STEP = 2.0**-20


def squares(block):
    return truncated(block * block, grid=STEP)


def steps_of(values):
    """In two runs."""
    middle = len(values) // 2
    return np.array([np.sum(values[:middle]) / STEP, np.sum(values[middle:]) / STEP]).astype(np.int64)


def query(preparation, place, *, prepared_steps=None, **fields):
    def of_prepared(prepared):
        return steps_of(prepared[:, place])

    given = {
        "name": f"square {place}", "shape": (), "sensitivity": lambda relation: (l1(1.0),), "bound": 1.0, "grid": STEP,
        "because": Citation(key="dpkit", locator="docs/proofs/exact-sums.md"), "columns": ("x", "y"),
        "rows": lambda block: squares(block)[:, place], "block_sum": lambda block: np.sum(squares(block)[:, place]),
        "preparation": preparation, "prepared_steps": of_prepared if prepared_steps is None else prepared_steps,
    }  # fmt: skip
    return Query(**(given | fields))
