"""The laws of a plugin's queries, on any numbers: sensitivities hold, and a contribution depends on its row alone.

Whether sums are exact to the bit within the declared ranges of columns is the subject of `exact_sum_laws`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpkit.contracts.factories import QueryFactory
from dpkit.contracts.query import Block, Query
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.cases import built_or_none, ends_of, numbers_among, typical_parameters
from dpkit.testing.conformance import LawNotApplicable, LawUnchecked
from dpkit.testing.sensitivity_search import Array, contributions_of, relies_on_ranges, row_pool, search_excess

SUMMED = (0, 1, 300, 1_025, 4_096)
"""Rows of the blocks that are summed: fast paths change at powers of two and at whole pieces."""

MOST_ENDS = 6
"""Queries at the ends of their parameters: each takes a search."""
MOST_ENTRIES = 64
"""Entries and columns of those: a search among a million levels takes minutes, and finds no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCase:
    """A factory of queries under test."""

    factory: QueryFactory
    seed: int = 0

    def queries(self, limit: int = 4) -> list[tuple[dict[str, object], Query]]:
        """Queries with typical parameters."""
        found = []
        for values in itertools.islice(typical_parameters(self.factory), 4 * limit):
            query = built_or_none(self.factory, values)
            if query is not None:
                found.append((values, query))
            if len(found) == limit:
                break
        assert found, "no typical parameters build this query: declare `examples` for its parameters"
        return found

    def at_ends(self) -> list[tuple[dict[str, object], Query]]:
        """Queries with one parameter at one of its declared ends, the others as they are in the first typical one."""
        typical = self.queries(1)[0][0]
        varied = [
            {**typical, parameter.name: value}
            for parameter in self.factory.parameters
            for value in ends_of(parameter, typical)
            if parameter.name in typical and value != typical[parameter.name]
        ]
        made = [(values, built_or_none(self.factory, values)) for values in varied[:MOST_ENDS]]
        return [(values, query) for values, query in made if query is not None and self._is_small(query)]

    def _is_small(self, query: Query) -> bool:
        return max(math.prod(query.shape), self.factory.width(query)) <= MOST_ENTRIES

    def pool(self, parameters: dict[str, object], query: Query, rng: np.random.Generator, count: int) -> Array:
        """Rows to try: extremes, the numbers among the parameters, and ordinary ones."""
        return row_pool(self.factory.width(query), numbers_among(parameters), rng, count)


def no_neighbours_exceed_the_sensitivity(case: QueryCase) -> None:
    """Extremes first, then optimisation over the rows, then hypothesis; what is found is shrunk to something readable.

    At typical parameters, and with each of them at its ends: where -lower exceeds upper, say.
    """
    for parameters, query in [*case.queries(), *case.at_ends()]:
        width, hints = case.factory.width(query), numbers_among(parameters)
        for relation in Neighbours:
            found = search_excess(query, width, relation, hints=hints, seed=case.seed)
            if found is not None and _exceeds_bound(query, case.pool(parameters, query, np.random.default_rng(8), 1_200)):
                raise _relying(query, parameters, f" (under {relation}: {found})")
            assert found is None, f"under {relation}: {found}, with parameters {parameters}"


def contributions_keep_their_declared_bound_and_grid(case: QueryCase) -> None:
    """No entry exceeds a declared `bound`, and each is a multiple of a declared `grid`: exact sums rest on both."""
    declared = False
    for parameters, query in case.queries():
        if query.bound is None and query.grid is None:
            continue
        declared = True
        rows = contributions_of(query, case.pool(parameters, query, np.random.default_rng([case.seed, 8]), 1_200))
        finite = rows[np.isfinite(rows)]  # what is not finite exceeds every sensitivity, and has a law for that
        if query.bound is not None and not (np.abs(finite) <= query.bound).all():
            if not relies_on_ranges(query):
                raise AssertionError(f"a contribution exceeds its bound, with parameters {parameters}")
            if query.block_sum is not None or query.preparation is not None:  # what `rows` gives is clamped by the engine
                raise _relying(query, parameters)
        if query.grid is not None:
            steps = finite / query.grid
            assert (steps == np.rint(steps)).all(), f"a contribution is not on its grid, with parameters {parameters}"
    if not declared:
        raise LawNotApplicable("the query declares neither bound nor grid")


def a_row_contributes_by_itself(case: QueryCase) -> None:
    """A row's contribution is the same to the bit alone, among others, in another place; nothing leaks the number of rows."""
    for parameters, query in case.queries():
        width = case.factory.width(query)
        rng = np.random.default_rng([case.seed, 5])
        block = case.pool(parameters, query, rng, 257)
        ordinary = rng.standard_normal((31, width))
        before = contributions_of(query, ordinary)
        together = contributions_of(query, block)
        after = contributions_of(query, ordinary)
        assert np.array_equal(before, after, equal_nan=True), "a row's contribution depends on the blocks that came before it"
        # with and without numbers beside which all others are nothing
        moderate = rng.standard_normal((257, width)) * rng.choice([1.0, *numbers_among(parameters)], size=(257, 1))
        for rows, made in ((block, together), (moderate, contributions_of(query, moderate))):
            order = rng.permutation(len(rows))
            shuffled = contributions_of(query, rows[order])
            assert np.array_equal(shuffled, made[order], equal_nan=True), "a row's contribution depends on its place"
            for start, stop in ((0, 1), (100, 101), (256, 257), (0, 128), (130, 200)):
                alone = contributions_of(query, rows[start:stop])
                message = "a row's contribution depends on the other rows, or on how many there are"
                assert np.array_equal(alone, made[start:stop], equal_nan=True), message
        kept = block.copy()
        contributions_of(query, block)
        assert np.array_equal(kept, block, equal_nan=True), "rows() changed its input"


def the_fast_sum_is_the_sum(case: QueryCase) -> None:
    """Each fast path is the sum of `rows`, to rounding, on few rows and on many; on no rows it is zero."""
    for parameters, query in case.queries():
        rng = np.random.default_rng([case.seed, 6])
        for count in SUMMED:
            block = _within_bound(query, _counted(query, case.pool(parameters, query, rng, count)))
            rows = contributions_of(query, block).reshape(len(block), *query.shape)
            limit = 1e-12 * (1.0 + np.sum(np.abs(rows), axis=0))
            paths = {"total": query.total} | ({"prepared_steps": _by_preparation(query)} if query.preparation else {})
            for path, fast in paths.items():
                with np.errstate(all="ignore"):
                    total = np.asarray(fast(block), dtype=np.float64)
                assert total.shape == query.shape, f"the sum has shape {total.shape}, declared {query.shape}"
                message = f"{path} is not the sum of rows, on {count} of them"
                assert (np.abs(total - np.sum(rows, axis=0)) <= limit).all(), message


_RELIES = (
    "it clips nothing itself, so that it keeps its bound and its distances only where the declared ranges of its columns do, "
)


def _relying(query: Query, parameters: dict[str, object], found: str = "") -> AssertionError | LawUnchecked:
    """Of a query that leaves its bound beyond some range: wrong where an analyst names the column, with any range."""
    texts = [text for value in parameters.values() for text in (value if isinstance(value, tuple) else (value,))]
    if any(column in texts for column in query.columns):
        return AssertionError(_RELIES + f"and an analyst may name any column{found}: clip to the bound, with {parameters}")
    return LawUnchecked(_RELIES + "which the kit does not know: `dpkit audit analysis.yaml` tries it at those of an analysis")


def _exceeds_bound(query: Query, block: Block) -> bool:
    """Whether the query relies on declared ranges, and leaves its own bound beyond them."""
    return relies_on_ranges(query) and len(_within_bound(query, block)) < len(block)


def _counted(query: Query, block: Block) -> Block:
    """Without rows whose contribution is NaN: over declared columns the engine counts those as zero, whatever the path."""
    if not query.columns or not len(block):
        return block
    return block[~np.isnan(contributions_of(query, block).reshape(len(block), -1)).any(axis=1)]


def _within_bound(query: Query, block: Block) -> Block:
    """Without rows that a query which relies on declared ranges never meets: those whose contribution exceeds its bound."""
    if not relies_on_ranges(query) or not len(block):
        return block
    rows = contributions_of(query, block).reshape(len(block), -1)
    assert query.bound is not None
    return block[(np.abs(rows) <= query.bound).all(axis=1)]


def _by_preparation(query: Query) -> Callable[[Block], Block]:
    return lambda block: query.steps_of_prepared(block).nearest()


QUERY_LAWS: tuple[Callable[[QueryCase], None], ...] = (
    a_row_contributes_by_itself,
    the_fast_sum_is_the_sum,
    contributions_keep_their_declared_bound_and_grid,
    no_neighbours_exceed_the_sensitivity,
)
