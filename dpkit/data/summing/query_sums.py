"""Exact summation of queries over blocks: the part of an engine that does not care where the rows are.

A row's contribution is what `rows` makes of it, guarded: an entry that is NaN counts as 0, a magnitude above the bound is
clamped to it, and a row on which `rows` fails, be it by `sys.exit`, contributes zero. So nothing raises on a value, and one bad
row stays one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.contracts.query import Block, Preparation, Query
from dpkit.data.summing.repricing import contribution_bound, contribution_grid
from dpkit.data.without_warnings import quietly
from dpkit.debugging import show
from dpkit.errors import DpkitError, InvalidValueError
from dpkit.numerics.exact_sums import FEW_ROWS, ExactSum, FloatArray, guarded_steps, rows_per_exact_sum
from dpkit.values import dataclass

_ENTRIES_AT_ONCE = 1 << 18
"""How many entries of contributions are held at a time where integers add them up."""

Totals = tuple[ExactSum, ...]
Prepared = tuple[Preparation, tuple[str, ...]]
"""A preparation, and the columns that it is given, in order."""
Ready = dict[tuple[int, tuple[int, ...]], Block | None]
"""What was prepared of one block, by preparation and columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySum:
    """How one query is summed: which columns of a block it reads, its grid, and how many rows float64 adds exactly; and whether
    it is known that no cell is missing, so that no row is dropped.
    """

    query: Query
    places: tuple[int, ...]
    bound: float
    grid: float
    rows_at_once: int
    is_complete: bool = False

    def total(self, block: Block, prepared: Block | None = None) -> ExactSum:
        """The exact total of a block, from what was prepared of it where that is given and the query can use it."""
        if prepared is not None:
            found = self.prepared_total(prepared)
            if found is not None:
                return found
        mine = self.own_columns(block)
        total = ExactSum.zero(self.query.shape, grid=self.grid)
        by_integers = self.rows_at_once <= FEW_ROWS
        at_once = max(1, _ENTRIES_AT_ONCE // max(1, math.prod(self.query.shape))) if by_integers else self.rows_at_once
        for start in range(0, mine.shape[0], at_once):
            part = mine[start : start + at_once]
            if by_integers:
                total = total.plus(ExactSum.of_rows(self._row_steps(part), grid=self.grid))
            else:
                total = total.plus(ExactSum.of_steps(self._steps(part), grid=self.grid))
        return total

    def prepared_total(self, prepared: Block) -> ExactSum | None:
        """The exact total of prepared rows; None where `prepared_steps` failed or cannot be right, so that rows are needed."""
        if self.query.prepared_steps is None:
            return None
        of = f"`prepared_steps` of the query {self.query.name!r}"
        found = _made_of(self.query.prepared_steps, prepared, of=of, kind=None)
        if found is None or found.dtype != np.int64 or found.shape != (found.shape[0] if found.ndim else 0, *self.query.shape):
            return None
        most = prepared.shape[0] * self.bound / self.grid * (1.0 + 2.0**-40)
        sane = np.abs(np.sum(found, axis=0, dtype=np.float64)) <= most
        return ExactSum.of_integers(found, grid=self.grid) if sane.all() else None

    def own_columns(self, block: Block) -> Block:
        """The columns of this query, without the rows that it drops, if it drops any; nobody may write into them."""
        mine = block if self.places == tuple(range(block.shape[1])) else block.take(self.places, axis=1)
        if not (self.query.keeps_missing or self.is_complete):
            mine = _complete(mine)
        mine = np.ascontiguousarray(mine).view()
        mine.flags.writeable = False
        return mine

    def _steps(self, part: Block) -> FloatArray:
        """The sum of some rows in grid steps: by the fast path where it is there, does not fail, and gives what rows of this
        bound and grid can add up to.
        """
        fast = self.query.block_sum if self.query.grid is not None else None
        found = None if fast is None else _made_of(fast, part, of=f"`block_sum` of the query {self.query.name!r}")
        if found is not None and found.shape == self.query.shape:
            steps = found / self.grid
            if ((np.abs(found) <= part.shape[0] * self.bound) & (steps == np.rint(steps))).all():  # False for NaN
                return steps
        return np.asarray(np.sum(self._row_steps(part), axis=0))

    def _row_steps(self, part: Block) -> FloatArray:
        """The contributions of some rows in grid steps. Where `rows` fails, halves are tried, down to the rows it fails on."""
        found = _made_of(self.query.rows, part, of=f"`rows` of the query {self.query.name!r}")
        if found is not None and found.shape == (part.shape[0], *self.query.shape):
            return guarded_steps(found, bound=self.bound, grid=self.grid)
        if part.shape[0] <= 1:
            return np.zeros((part.shape[0], *self.query.shape))
        middle = part.shape[0] // 2
        return np.concatenate([self._row_steps(part[:middle]), self._row_steps(part[middle:])])


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySums:
    """How several queries are summed in one pass; partial totals form a commutative monoid. Holds no rows."""

    columns: tuple[str, ...]
    sums: tuple[QuerySum, ...]

    def zero(self) -> Totals:
        """The totals of no rows."""
        return tuple(ExactSum.zero(one.query.shape, grid=one.grid) for one in self.sums)

    def partial(self, block: Block) -> Totals:
        """The totals of some rows, given as codes of `columns`. Raises on no value, and warns of none."""
        with quietly():
            ready: Ready = {}
            for one in self.sums:  # once for all queries that share a preparation and read the same
                key = (id(one.query.preparation), one.places)
                if one.query.preparation is not None and key not in ready:
                    ready[key] = prepared_rows(one.query.preparation, one.own_columns(block))
            return tuple(one.total(block, ready.get((id(one.query.preparation), one.places))) for one in self.sums)

    @property
    def prepared(self) -> Prepared | None:
        """The one preparation that all these queries share, if it may be kept, and the columns that all give it; or None."""
        first = self.sums[0] if self.sums else None
        if first is None or any(
            one.query.preparation is not first.query.preparation or one.places != first.places for one in self.sums
        ):
            return None
        preparation = first.query.preparation
        return (
            None
            if preparation is None or not preparation.keep
            else (preparation, tuple(self.columns[place] for place in first.places))
        )

    def partial_and_prepared(self, block: Block) -> tuple[Totals, Block | None]:
        """The totals of some rows, and what the shared preparation made of them; None where these totals need the rows."""
        assert self.prepared is not None
        with quietly():
            prepared = prepared_rows(self.prepared[0], self.sums[0].own_columns(block))
        partial = None if prepared is None else self.prepared_partial(prepared)
        return (self.partial(block), None) if partial is None else (partial, prepared)

    def prepared_partial(self, prepared: Block) -> Totals | None:
        """The totals of prepared rows; None where some query needs the rows themselves."""
        with quietly():
            found = [one.prepared_total(prepared) for one in self.sums]
        return None if any(total is None for total in found) else tuple(total for total in found if total is not None)

    def merge(self, one: Totals, other: Totals) -> Totals:
        """The totals of both."""
        return tuple(left.plus(right) for left, right in zip(one, other, strict=True))

    def finish(self, partial: Totals) -> Totals:
        """The total of each query."""
        return partial


def _complete(rows: Block) -> Block:
    """The rows without a NaN. A row with one has no sum, which is the cheapest look; codes as large as that are seldom."""
    without_sum = np.flatnonzero(np.isnan(rows @ np.ones(rows.shape[1])))
    if not without_sum.size:
        return rows
    kept = np.ones(rows.shape[0], dtype=np.bool_)
    kept[without_sum] = ~np.isnan(rows[without_sum]).any(axis=1)
    return rows.take(np.flatnonzero(kept), axis=0)


def _made_of(function: Callable[[Block], object], rows: Block, *, of: str, kind: Any = np.float64) -> npt.NDArray[Any] | None:
    """What an author's function makes of rows; None where it fails. What it raises may depend on a value, and stays here."""
    try:
        found: npt.NDArray[Any] = np.asarray(function(rows), dtype=kind)
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        show(error, of=of)
        return None
    return found


def prepared_rows(preparation: Preparation, block: Block) -> Block | None:
    """What a preparation makes of some rows, read-only; None where it fails."""
    found = _made_of(preparation.rows, block, of="a preparation")
    if found is None or found.shape != (block.shape[0], preparation.width):
        return None
    found.flags.writeable = False
    return found


def plan_sums(queries: Sequence[Query], declared: Sequence[str], *, complete: bool = False) -> QuerySums:
    """Which columns of those declared must be read, and how each query is summed; `complete` where no cell is missing."""
    wanted = {name for query in queries for name in (query.columns or declared)}
    columns = tuple(name for name in declared if name in wanted)
    sums = []
    for query in queries:
        bound, grid = contribution_bound(query), contribution_grid(query)
        places = tuple(columns.index(name) for name in (query.columns or declared))
        at_once = rows_per_exact_sum(bound, grid)
        sums.append(QuerySum(query=query, places=places, bound=bound, grid=grid, rows_at_once=at_once, is_complete=complete))
    return QuerySums(columns=columns, sums=tuple(sums))


def dry_run(query: Query, sample: Block) -> None:
    """Refuse, from made-up rows alone, a query that gives the wrong shape or fails."""
    sample = np.array(sample)
    sample.flags.writeable = False
    where = f"Query({query.name})"
    expected = {"rows": (sample.shape[0], *query.shape), "block_sum": query.shape, "prepared_steps": query.shape}
    for field, shape in expected.items():
        function = getattr(query, field)
        if function is None:
            continue
        with np.errstate(all="ignore"):
            try:
                if field == "prepared_steps":
                    found = query.steps_of_prepared(sample).shape
                else:
                    found = np.asarray(function(sample), dtype=np.float64).shape
            except DpkitError:
                raise
            except Exception as error:  # from made-up rows: what it says shows no data
                found_text = f"{type(error).__name__}: {error}"
                raise InvalidValueError(field=field, found=found_text, allowed="a function of rows", where=where) from error
        if found != shape:
            allowed = f"an array of shape {shape} for {sample.shape[0]} rows"
            raise InvalidValueError(field=field, found=f"shape {found}", allowed=allowed, where=where)
