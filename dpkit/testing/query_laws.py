"""The laws of a plugin's queries, on any numbers: sensitivities hold, and a contribution depends on its row alone.

Whether sums are exact to the bit within the declared ranges of columns is the subject of `exact_sum_laws`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from dpkit.auditing.algorithms.check_queries import depends_on_others, differs_from_the_sum
from dpkit.contracts.factories import QueryFactory
from dpkit.contracts.query import Block, Query
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.excess_search import AnyRows, contributions_of, relies_on_ranges, search_excess
from dpkit.testing.mechanism_cases import built_or_none, ends_of, numbers_among, typical_parameters
from dpkit.testing.run_laws import LawNotApplicable, LawUnchecked
from dpkit.values import dataclass

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

    def space(self, parameters: dict[str, object], query: Query) -> AnyRows:
        """Rows to try: extremes, the numbers among the parameters, and ordinary ones."""
        return AnyRows(self.factory.width(query), numbers_among(parameters))


def no_neighbours_exceed_the_sensitivity(case: QueryCase) -> None:
    """Extremes first, then optimisation over the rows, then hypothesis; what is found is shrunk to something readable.

    At typical parameters, and with each of them at its ends: where -lower exceeds upper, say.
    """
    for parameters, query in [*case.queries(), *case.at_ends()]:
        width, hints = case.factory.width(query), numbers_among(parameters)
        for relation in Neighbours:
            found = search_excess(query, width, relation, hints=hints, seed=case.seed)
            if found is not None and _exceeds_bound(query, case.space(parameters, query).rows(1_200, np.random.default_rng(8))):
                raise _relying(query, parameters, f" (under {relation}: {found})")
            assert found is None, f"under {relation}: {found}, with parameters {parameters}"


def contributions_keep_their_declared_bound_and_grid(case: QueryCase) -> None:
    """No entry exceeds a declared `bound`, and each is a multiple of a declared `grid`: exact sums rest on both."""
    declared = False
    for parameters, query in case.queries():
        if query.bound is None and query.grid is None:
            continue
        declared = True
        rows = contributions_of(query, case.space(parameters, query).rows(1_200, np.random.default_rng([case.seed, 8])))
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
        rng = np.random.default_rng([case.seed, 5])
        found = depends_on_others(query, case.space(parameters, query), rng=rng, contribute=contributions_of)
        assert found is None, found


def the_fast_sum_is_the_sum(case: QueryCase) -> None:
    """Each fast path is the sum of `rows`, to rounding, on few rows and on many; on no rows it is zero."""
    for parameters, query in case.queries():
        space, rng = case.space(parameters, query), np.random.default_rng([case.seed, 6])
        found = differs_from_the_sum(query, space, rng=rng, contribute=contributions_of, met=_met)
        assert found is None, found


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


def _met(query: Query, block: Block) -> Block:
    """Rows that the query can meet and that count: over declared columns the engine takes NaN as zero, whatever the path."""
    if query.columns and len(block):
        block = block[~np.isnan(contributions_of(query, block).reshape(len(block), -1)).any(axis=1)]
    return _within_bound(query, block)


def _within_bound(query: Query, block: Block) -> Block:
    """Without rows that a query which relies on declared ranges never meets: those whose contribution exceeds its bound."""
    if not relies_on_ranges(query) or not len(block):
        return block
    rows = contributions_of(query, block).reshape(len(block), -1)
    assert query.bound is not None
    return block[(np.abs(rows) <= query.bound).all(axis=1)]


QUERY_LAWS: tuple[Callable[[QueryCase], None], ...] = (
    a_row_contributes_by_itself,
    the_fast_sum_is_the_sum,
    contributions_keep_their_declared_bound_and_grid,
    no_neighbours_exceed_the_sensitivity,
)
