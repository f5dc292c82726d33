"""Queries and sums that are broken in the ways that happen, each caught by a law."""

from functools import partial

import numpy as np
import pytest

from dpkit.contracts.query import Preparation, Query
from dpkit.numerics.exact_sums import ExactSum, truncated
from dpkit.privacy.claims import Citation
from dpkit.privacy.neighbours import l1
from dpkit.testing import exact_sum_laws as laws

WIDTH = 11
RANGES = [(-1.0, 1.0)] * WIDTH
STEP = 2.0**-20
THETAS = np.random.default_rng(5).normal(size=(40, WIDTH))
EDGES = [float(np.abs(np.ones((1, WIDTH)) @ theta)[0]) for theta in THETAS]
"""Exactly what one row at the upper corner gives: other kernels round some of them to a neighbour."""


def query(rows, shape=(), **fields):
    because = Citation(key="dpkit", locator="docs/proofs/exact-sums.md")
    given = {"name": "broken", "sensitivity": lambda relation: (l1(1.0),), "because": because, "bound": 1.0} | fields
    return Query(rows=rows, shape=shape, **given)


def x0(block):
    return truncated(block[:, 0], grid=STEP)


def indicator_by_blas(block):
    """The same rule for every row, rounded differently in blocks of different sizes."""
    return np.stack([np.abs(block @ theta) <= edge for theta, edge in zip(THETAS, EDGES, strict=True)], axis=1)


def unit_length(block):
    """0/0 for a row of zeros."""
    return block / np.sqrt(np.sum(block * block, axis=1))[:, None]


def accumulated_in_order(query, blocks):
    """A running sum in floating point."""
    rows = np.concatenate([query.rows(block) for block in blocks])
    return ExactSum.of_steps(np.rint(np.add.accumulate(rows.astype(np.float32))[-1:].sum() / query.grid), grid=query.grid)


def unguarded(query, blocks):
    """NaN becomes the smallest integer."""
    with np.errstate(all="ignore"):
        return ExactSum.of_steps(
            np.nan_to_num(np.sum(query.rows(np.concatenate(blocks)) / query.grid, axis=0)), grid=query.grid
        )


def last_block_only(query, blocks):
    return laws.block_engine_sum(query, blocks[-1:])


def starts_at_one(query, blocks):
    return laws.block_engine_sum(query, blocks).plus(ExactSum.of_steps(np.ones(query.shape), grid=query.grid))


OWN, BOUNDED = laws.contribution_is_the_row_s_own, laws.contributions_are_within_bound_and_on_the_grid
FAST, EXACT = laws.block_sum_equals_the_sum_of_rows, laws.total_is_the_exact_sum_in_any_order_and_partition
BAD, FEW = laws.bad_row_moves_no_more_than_itself, laws.no_rows_give_zero_and_one_row_its_own
PREPARED = laws.prepared_steps_are_the_sum_of_rows
FIRST = query(x0, grid=STEP, block_sum=lambda block: np.sum(x0(block)))


def prepared(steps):
    """The first column, by way of a preparation; `steps` of that column in steps of the grid."""
    preparation = Preparation(rows=lambda block: x0(block)[:, None] / STEP, width=1)
    return query(
        x0,
        grid=STEP,
        block_sum=lambda block: np.sum(x0(block)),
        preparation=preparation,
        prepared_steps=lambda rows: np.atleast_1d(steps(rows[:, 0])).astype(np.int64),
    )


BROKEN = {
    "an indicator of a BLAS product": (OWN, query(indicator_by_blas, (40,), grid=1.0)),
    "a BLAS product": (OWN, query(lambda block: np.clip(block @ THETAS[0], -1, 1))),
    "centred at the block's mean": (OWN, query(lambda block: (block[:, 0] - np.mean(block[:, 0])) / 2)),
    "scaled by the block's largest": (OWN, query(lambda block: block[:, 0] / max(1e-9, np.max(np.abs(block[:, 0]))))),
    "by place": (OWN, query(lambda block: np.arange(len(block)) % 2.0)),
    "NaN for a row of zeros": (BOUNDED, query(unit_length, (WIDTH,))),
    "beyond its bound": (BOUNDED, query(lambda block: 1.01 * block[:, 0])),
    "off its grid": (BOUNDED, query(lambda block: block[:, 0] / 3, grid=STEP)),
    "of the wrong shape": (BOUNDED, query(lambda block: block[:, :1])),
    "a fast path that forgets to cut": (FAST, query(x0, grid=STEP, block_sum=lambda block: np.sum(block[:, 0]))),
    "a fast path in single precision": (
        FAST,
        query(x0, grid=STEP, block_sum=lambda block: np.sum(x0(block), dtype=np.float32)),
    ),
    "a fast path that skips the last row": (FAST, query(x0, grid=STEP, block_sum=lambda block: np.sum(x0(block)[:-1]))),
    "prepared rows in single precision": (PREPARED, prepared(lambda column: np.sum(column, dtype=np.float32))),
    "only the first run of prepared rows": (PREPARED, prepared(lambda column: np.sum(column[:8192]))),
    "integers of 32 bits": (PREPARED, prepared(lambda column: np.sum(column).astype(np.int64).astype(np.int32))),
    "a sum in floating point": (partial(EXACT, total=accumulated_in_order), FIRST),
    "the last block only": (partial(EXACT, total=last_block_only), FIRST),
    "NaN passes through": (partial(BAD, total=unguarded), FIRST),
    "no clamp": (partial(BAD, total=unguarded), query(lambda block: block[:, 0], grid=STEP)),
    "one for nothing": (partial(FEW, total=starts_at_one), FIRST),
}


@pytest.mark.parametrize(("law", "broken"), BROKEN.values(), ids=BROKEN.keys())
def test_the_law_catches_the_mutant(law, broken):
    with pytest.raises(AssertionError):
        law(broken, RANGES)


def test_every_law_has_a_mutant():
    assert {getattr(law, "func", law) for law, _ in BROKEN.values()} == set(laws.EXACT_SUM_LAWS)


def test_the_query_that_the_broken_sums_add_is_right():
    for law in laws.EXACT_SUM_LAWS:
        law(FIRST, RANGES)
        law(prepared(np.sum), RANGES)
