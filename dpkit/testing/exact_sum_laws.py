"""The laws of exact sums, to the bit and within declared ranges: what an engine relies on in a query, and what it gives.

Usage in any pytest; `ranges` are the lower and upper codes of the columns that the query reads, in order:

    @pytest.mark.parametrize("law", EXACT_SUM_LAWS)
    def test_my_query_obeys(law):
        law(my_query, [(0.0, 1.0), (-1.0, 1.0)])

What every query of a plugin must obey on any numbers at all, its sensitivity above all, is in `query_laws`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from dpkit.contracts.query import Block, Query
from dpkit.data.summing.query_sums import plan_sums
from dpkit.data.summing.repricing import contribution_bound, contribution_grid
from dpkit.numerics.exact_sums import ExactSum, rows_per_exact_sum
from dpkit.testing.strategies import examples

Ranges = Sequence[tuple[float, float]]
Sum = Callable[[Query, Sequence[Block]], ExactSum]
"""The total of a query over rows that come in several blocks."""

ExactSumLaw = Callable[[Query, Ranges], None]

SIZES = (1, 2, 3, 5, 8, 17, 64, 257, 1000, 4096)
"""Numbers of rows around which BLAS changes its kernels."""


def block_engine_sum(query: Query, blocks: Sequence[Block]) -> ExactSum:
    """The total as dpkit's own engine adds it up."""
    width = blocks[0].shape[1]
    names = query.columns or tuple(f"column {place}" for place in range(width))
    plan = plan_sums([query], names)
    partial = plan.zero()
    for block in blocks:
        partial = plan.merge(partial, plan.partial(block))
    return plan.finish(partial)[0]


@st.composite
def blocks_of(draw: st.DrawFn, ranges: Ranges, *, largest: int = SIZES[-1]) -> Block:
    """Rows within the ranges: a few distinct ones, extremes and tiny numbers among them, repeated to many sizes."""
    cells = [_codes(low, high) for low, high in ranges]
    distinct = np.array(draw(st.lists(st.tuples(*cells), min_size=1, max_size=6)), dtype=np.float64)
    size = draw(st.sampled_from([size for size in SIZES if size <= largest]))
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return np.ascontiguousarray(distinct[order.integers(0, distinct.shape[0], size=size)])


def contributions_are_within_bound_and_on_the_grid(query: Query, ranges: Ranges) -> None:
    """Every contribution is finite, of the declared shape, at most the bound, and a multiple of the grid if there is one."""
    bound = contribution_bound(query)

    @examples(60)
    @given(block=st.one_of(blocks_of(ranges, largest=17), _corners(ranges)))
    def law(block: Block) -> None:
        found = _rows(query, block)
        assert found.shape == (block.shape[0], *query.shape), "the shape of `rows` is not as declared"
        assert np.isfinite(found).all(), "a contribution is not finite"
        assert (np.abs(found) <= bound).all(), "a contribution exceeds its bound"
        if query.grid is not None:
            steps = found / query.grid
            assert (steps == np.rint(steps)).all(), "a contribution is not on the grid"

    law()


def contribution_is_the_row_s_own(query: Query, ranges: Ranges) -> None:
    """Permuting, splitting, removing and adding rows never changes another row's contribution, bit for bit."""

    @examples(40)
    @given(block=st.one_of(blocks_of(ranges), _corners(ranges)), seed=st.integers(0, 2**32 - 1))
    def law(block: Block, seed: int) -> None:
        choose = np.random.default_rng(seed)
        count = block.shape[0]
        whole = _bits(_rows(query, block))
        order = choose.permutation(count)
        assert np.array_equal(_bits(_rows(query, block[order])), whole[order]), "it depends on the order of rows"
        cut = int(choose.integers(0, count + 1))
        pieces = [_bits(_rows(query, part)) for part in (block[:cut], block[cut:]) if part.shape[0]]
        assert np.array_equal(np.concatenate(pieces), whole), "it depends on where blocks are cut"
        one = int(choose.integers(0, count))
        assert np.array_equal(_bits(_rows(query, block[one : one + 1])), whole[one : one + 1]), "it depends on other rows"
        if count > 1:
            left = np.delete(np.arange(count), one)
            assert np.array_equal(_bits(_rows(query, block[left])), whole[left]), "removing a row changes another's"
        lower = np.array([[low for low, _ in ranges]])
        assert np.array_equal(_bits(_rows(query, np.vstack([block, lower])))[:count], whole), "adding a row changes another's"

    law()


def block_sum_equals_the_sum_of_rows(query: Query, ranges: Ranges) -> None:
    """The fast path gives the exact sum of the reference, bit for bit, on as many rows as it is ever given."""
    if query.block_sum is None or query.grid is None:
        return
    fast, most = query.block_sum, rows_per_exact_sum(contribution_bound(query), query.grid)

    @examples(40)
    @given(block=st.one_of(blocks_of(ranges), _corners(ranges)))
    def law(block: Block) -> None:
        block = block[:most]
        exact = _rational_sum(_rows(query, block), query.shape)
        found = np.asarray(fast(_frozen(block)), dtype=np.float64)
        assert found.shape == query.shape, "the shape of a fast sum is not as declared"
        assert [Fraction(value) for value in found.ravel().tolist()] == exact

    law()


def prepared_steps_are_the_sum_of_rows(query: Query, ranges: Ranges) -> None:
    """So is the sum by way of the preparation, on any number of rows: it has to cut them into runs itself."""
    if query.preparation is None or query.grid is None:
        return
    grid = query.grid

    def check(block: Block, times: int) -> None:
        found = query.steps_of_prepared(_frozen(np.tile(block, (times, 1))))
        assert found.shape == query.shape, "the shape of a fast sum is not as declared"
        once = ExactSum.of_rows(np.rint(_rows(query, block) / grid), grid=grid)
        assert np.array_equal(found.steps(), times * once.steps())

    @examples(40)
    @given(block=st.one_of(blocks_of(ranges), _corners(ranges)), times=st.sampled_from((1, 1, 1, 2, 5)))
    def law(block: Block, times: int) -> None:
        check(block, times)

    law()
    for times in (0, 33):  # no rows at all, and more than a run
        check(_ordinary(ranges, 1_000), times)


def total_is_the_exact_sum_in_any_order_and_partition(query: Query, ranges: Ranges, total: Sum = block_engine_sum) -> None:
    """The total is the rational sum of the contributions, cut to the grid, however the rows are ordered and dealt out."""
    bound, grid = contribution_bound(query), contribution_grid(query)

    def check(block: Block, seed: int) -> None:
        choose = np.random.default_rng(seed)
        rows = np.clip(_rows(query, block), -bound, bound)
        exact = _rational_sum(np.trunc(rows / grid) * grid, query.shape)
        cuts = np.sort(choose.integers(0, block.shape[0] + 1, size=3))
        for blocks in ([block], np.split(block[choose.permutation(block.shape[0])], cuts)):
            found = total(query, blocks)
            assert [Fraction(int(step)) * Fraction(grid) for step in found.steps().ravel()] == exact

    @examples(30)
    @given(block=blocks_of(ranges, largest=257), seed=st.integers(0, 2**32 - 1))
    def law(block: Block, seed: int) -> None:
        check(block, seed)

    law()
    upper = [(0.5 * low + 0.5 * high, high) for low, high in ranges]
    check(_ordinary(upper, 257), 0)  # a large sum of many digits, whatever was drawn


def bad_row_moves_no_more_than_itself(query: Query, ranges: Ranges, total: Sum = block_engine_sum) -> None:
    """A row of NaN, infinities or huge numbers, should one get through, moves no entry of the total by more than the bound."""
    bound = Fraction(contribution_bound(query))
    bad = st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0])

    @examples(40)
    @given(block=blocks_of(ranges, largest=17), place=st.integers(0, 17), cells=st.lists(bad, min_size=1, max_size=len(ranges)))
    def law(block: Block, place: int, cells: list[float]) -> None:
        row = block[0].copy()
        row[: len(cells)] = cells
        worse = np.insert(block, min(place, block.shape[0]), row, axis=0)
        before, after = total(query, [block]), total(query, [worse])
        for one, other in zip(before.steps().ravel().tolist(), after.steps().ravel().tolist(), strict=True):
            assert abs(other - one) * Fraction(before.grid) <= bound, "one row moved the total beyond its bound"

    law()


def no_rows_give_zero_and_one_row_its_own(query: Query, ranges: Ranges, total: Sum = block_engine_sum) -> None:
    """An empty dataset has the total zero; a single row's is its contribution, cut to the grid."""
    empty = total(query, [np.zeros((0, len(ranges)))])
    assert empty.shape == query.shape
    assert not empty.steps().any()
    bound, grid = contribution_bound(query), contribution_grid(query)

    @examples(30)
    @given(block=blocks_of(ranges, largest=1))
    def law(block: Block) -> None:
        alone = np.trunc(np.clip(_rows(query, block)[0], -bound, bound) / grid)
        assert [int(step) for step in total(query, [block]).steps().ravel()] == [int(step) for step in alone.ravel()]

    law()


EXACT_SUM_LAWS: tuple[ExactSumLaw, ...] = (
    contributions_are_within_bound_and_on_the_grid,
    contribution_is_the_row_s_own,
    block_sum_equals_the_sum_of_rows,
    prepared_steps_are_the_sum_of_rows,
    total_is_the_exact_sum_in_any_order_and_partition,
    bad_row_moves_no_more_than_itself,
    no_rows_give_zero_and_one_row_its_own,
)


def _codes(low: float, high: float) -> st.SearchStrategy[float]:
    middle = 0.5 * low + 0.5 * high
    special = [low, high, middle, *(value for value in (0.0, 5e-324, -5e-324, 1e-162, 1.0 / 3.0) if low <= value <= high)]
    return st.one_of(st.sampled_from(special), st.floats(low, high))


def _corners(ranges: Ranges) -> st.SearchStrategy[Block]:
    """Many equal rows at a corner: where a kernel's rounding shows in a count, and where sums are largest."""
    corners = np.array(
        [[low for low, _ in ranges], [high for _, high in ranges], [0.5 * low + 0.5 * high for low, high in ranges]]
    )
    return st.builds(lambda corner, size: np.tile(corners[corner], (size, 1)), st.integers(0, 2), st.sampled_from(SIZES))


def _ordinary(ranges: Ranges, count: int) -> Block:
    lower, upper = np.array(ranges).T
    return np.random.default_rng(0).uniform(lower, upper, size=(count, len(ranges)))


def _frozen(block: Block) -> Block:
    copy = np.array(block, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def _rows(query: Query, block: Block) -> Block:
    with np.errstate(all="ignore"):
        return np.asarray(query.rows(_frozen(block)), dtype=np.float64)


def _bits(values: Block) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(values + 0.0).view(np.int64)


def _rational_sum(rows: Block, shape: tuple[int, ...]) -> list[Fraction]:
    entries = rows.reshape(rows.shape[0], -1)
    columns = entries.T.tolist() if rows.shape[0] else [[] for _ in range(int(np.prod(shape)))]
    return [sum(map(Fraction, column), start=Fraction(0)) for column in columns]
