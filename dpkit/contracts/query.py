"""Queries: a sum over rows of a bounded contribution, with the distances that one row can move it by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_sums import ExactSum, is_power_of_two, rows_per_exact_sum
from dpkit.privacy.checks import checked, function, instance_of, nonempty_text, or_none, positive, tuple_of, whole_number
from dpkit.privacy.claims import Citation
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

Block = npt.NDArray[np.float64]
"""Some rows, as an array whose first axis is the row."""
Steps = npt.NDArray[np.int64]
"""Sums in whole steps of a grid, one a run of rows; the first axis is the run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
@checked(rows=function, width=partial(whole_number, minimum=1), keep=partial(instance_of, kind=bool, allowed="true or false"))
class Preparation:
    """What several queries compute from a row before they differ: a map of rows to `width` numbers each, of that row alone.

    An engine computes it once a block for all queries that hold the same object, and may keep it for later passes, unless
    `keep` is false because no later pass asks for it.
    """

    rows: Callable[[Block], Block]
    width: int
    keep: bool = True


def _shape(value: object, *, field: str, where: str) -> tuple[int, ...]:
    sizes = tuple_of(value, object, field=field, where=where, allowed="a tuple of whole numbers")
    return tuple(whole_number(size, field=field, where=where, minimum=1) for size in sizes)


def _columns(value: object, *, field: str, where: str) -> tuple[object, ...]:
    columns = tuple_of(value, str, field=field, where=where, allowed="a tuple of column names")
    if len(set(columns)) != len(columns):
        raise InvalidValueError(field=field, found=columns, allowed="names that differ", where=where)
    return columns


def _grid(value: object, *, field: str, where: str) -> float:
    grid = positive(value, field=field, where=where)
    if not is_power_of_two(grid):
        raise InvalidValueError(field=field, found=value, allowed="a power of two", where=where)
    return grid


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(
    name=nonempty_text,
    shape=_shape,
    rows=function,
    sensitivity=function,
    block_sum=or_none(partial(function, allowed="a function, or None")),
    because=partial(instance_of, kind=Citation, allowed="a Citation"),
    columns=_columns,
    bound=or_none(positive),
    grid=or_none(_grid),
    preparation=or_none(partial(instance_of, kind=Preparation, allowed="a Preparation")),
)
class Query:
    """`rows(block)` gives one contribution a row (the reference); `block_sum(block)` the same sum, fast.

    A row's contribution depends on that row and on released values alone. `sensitivity(neighbours)` lists every distance
    that is known of the sum, because of a citation.

    What makes the sum exact (docs/proofs/exact-sums.md): `bound` is the largest magnitude of an entry of a contribution, and
    every entry is a multiple of `grid`, a power of two. With a grid, `block_sum` is used, on so few rows at a time that
    float64 cannot round; without one the engine cuts the contributions of `rows` to a grid of its own. `columns` names what
    a block holds, in that order; none means every declared column. A row with a missing cell in one of them that its policy
    drops contributes nothing; with `keeps_missing` it contributes like others, its missing cells being NaN: rows are counted.

    With a `preparation`, `prepared_steps(preparation.rows(block))` is the same sum, faster where work is shared or kept: whole
    steps of the grid as int64, of one run of rows after the other. A run is so short that nothing rounds and 64 bits hold it.
    """

    name: str
    rows: Callable[[Block], Block]
    shape: tuple[int, ...]
    sensitivity: Callable[[Neighbours], Sequence[Distance]]
    because: Citation
    block_sum: Callable[[Block], Block] | None = None
    columns: tuple[str, ...] = ()
    grid: float | None = None
    bound: float | None = None
    preparation: Preparation | None = None
    prepared_steps: Callable[[Block], Steps] | None = None
    keeps_missing: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.keeps_missing, bool):
            where = f"Query({self.name})"
            raise InvalidValueError(field="keeps_missing", found=self.keeps_missing, allowed="true or false", where=where)
        if self.grid is not None and self.bound is not None:
            rows_per_exact_sum(self.bound, self.grid)
        if (self.preparation, self.prepared_steps) == (None, None):
            return
        if self.preparation is None or not callable(self.prepared_steps) or self.block_sum is None or self.grid is None:
            found, allowed = self.prepared_steps, "a function, beside a preparation, a block_sum and a grid"
            raise InvalidValueError(field="prepared_steps", found=found, allowed=allowed, where=f"Query({self.name})")

    def total(self, block: Block) -> Block:
        """The sum over a block, by the fast path where there is one."""
        return self.block_sum(block) if self.block_sum is not None else np.sum(self.rows(block), axis=0)

    def steps_of_prepared(self, block: Block) -> ExactSum:
        """The exact sum over a block, by way of the preparation."""
        assert self.preparation is not None
        assert self.prepared_steps is not None
        assert self.grid is not None
        prepared = np.array(self.preparation.rows(block), order="K")
        prepared.flags.writeable = False
        return ExactSum.of_integers(self.prepared_steps(prepared), grid=self.grid)
