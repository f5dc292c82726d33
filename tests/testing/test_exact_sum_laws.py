"""Right queries obey the laws of queries."""

import numpy as np
import pytest

from dpkit.contracts.query import Query
from dpkit.numerics.exact_sums import truncated
from dpkit.privacy.claims import Citation
from dpkit.privacy.neighbours import l1, l2
from dpkit.testing.exact_sum_laws import EXACT_SUM_LAWS

STEP = 2.0**-20
THETA = truncated([0.3, -0.7, 0.11], grid=STEP)
RANGES = [(-1.0, 1.0)] * 3


def query(rows, shape, **fields):
    because = Citation(key="dpkit", locator="docs/proofs/exact-sums.md")
    given = {"name": "q", "sensitivity": lambda relation: (l1(1.0), l2(1.0)), "because": because, "bound": 1.0} | fields
    return Query(rows=rows, shape=shape, **given)


def residual(block):
    """x'theta of quantised rows and parameters: exact, so any kernel gives the same bits."""
    return truncated(block, grid=STEP) @ THETA


def gradient_rows(block):
    x = truncated(block, grid=STEP)
    return x * truncated(np.clip(residual(block), -1, 1), grid=STEP)[:, None]


def gradient_sum(block):
    return truncated(block, grid=STEP).T @ truncated(np.clip(residual(block), -1, 1), grid=STEP)


RIGHT = {
    "count": query(lambda block: np.ones(len(block)), (), grid=1.0, block_sum=lambda block: np.float64(len(block))),
    "gradient": query(gradient_rows, (3,), grid=STEP**2, block_sum=gradient_sum),
    "indicator": query(lambda block: (np.abs(residual(block)) <= 0.49).astype(float), (), grid=1.0),
    "sum without a grid": query(lambda block: block / 3.0, (3,), bound=1 / 3),
    "bound from the sensitivity": query(lambda block: block[:, 0] * block[:, 1], (), bound=None),
}


@pytest.mark.parametrize("law", EXACT_SUM_LAWS)
@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT.keys())
def test_queries_obey(law, right):
    law(right, RANGES)
