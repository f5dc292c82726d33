"""Queries: a sum over rows of a bounded contribution, with the distances that one row can move it by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_sums import ExactSum, is_power_of_two, rows_per_exact_sum
from dpkit.privacy.checks import finite_number, nonempty_text, tuple_of, whole_number
from dpkit.privacy.claims import Citation
from dpkit.privacy.distances import Distance
from dpkit.privacy.neighbours import Neighbours

Block = npt.NDArray[np.float64]
"""Some rows, as an array whose first axis is the row."""
Steps = npt.NDArray[np.int64]
"""Sums in whole steps of a grid, one a run of rows; the first axis is the run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Preparation:
    """What several queries compute from a row before they differ: a map of rows to `width` numbers each, of that row alone.

    An engine computes it once a block for all queries that hold the same object, and may keep it for later passes.
    """

    rows: Callable[[Block], Block]
    width: int

    def __post_init__(self) -> None:
        if not callable(self.rows):
            raise InvalidValueError(field="rows", found=self.rows, allowed="a function", where="Preparation")
        whole_number(self.width, field="width", where="Preparation", minimum=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`rows(block)` gives one contribution a row (the reference); `block_sum(block)` the same sum, fast.

    A row's contribution depends on that row and on released values alone. `sensitivity(neighbours)` lists every distance
    that is known of the sum, because of a citation.

    What makes the sum exact (docs/proofs/exact-sums.md): `bound` is the largest magnitude of an entry of a contribution, and
    every entry is a multiple of `grid`, a power of two. With a grid, `block_sum` is used, on so few rows at a time that
    float64 cannot round; without one the engine cuts the contributions of `rows` to a grid of its own. `columns` names what
    a block holds, in that order; none means every declared column.

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

    def __post_init__(self) -> None:
        nonempty_text(self.name, field="name", where="Query")
        where = f"Query({self.name})"
        if isinstance(self.shape, str | int):
            raise InvalidValueError(field="shape", found=self.shape, allowed="a tuple of whole numbers", where=where)
        shape = tuple(whole_number(size, field="shape", where=where, minimum=1) for size in self.shape)
        object.__setattr__(self, "shape", shape)
        for field in ("rows", "sensitivity"):
            if not callable(getattr(self, field)):
                raise InvalidValueError(field=field, found=getattr(self, field), allowed="a function", where=where)
        if self.block_sum is not None and not callable(self.block_sum):
            raise InvalidValueError(field="block_sum", found=self.block_sum, allowed="a function, or None", where=where)
        if not isinstance(self.because, Citation):
            raise InvalidValueError(field="because", found=self.because, allowed="a Citation", where=where)
        self._check_columns_and_grid(where)
        self._check_preparation(where)

    def _check_preparation(self, where: str) -> None:
        if self.preparation is None and self.prepared_steps is None:
            return
        if not isinstance(self.preparation, Preparation):
            raise InvalidValueError(field="preparation", found=self.preparation, allowed="a Preparation", where=where)
        if not callable(self.prepared_steps) or self.block_sum is None or self.grid is None:
            allowed = "a function, beside a block_sum and a grid"
            raise InvalidValueError(field="prepared_steps", found=self.prepared_steps, allowed=allowed, where=where)

    def _check_columns_and_grid(self, where: str) -> None:
        columns = tuple_of(self.columns, str, field="columns", where=where, allowed="a tuple of column names")
        if len(set(columns)) != len(columns):
            raise InvalidValueError(field="columns", found=columns, allowed="names that differ", where=where)
        object.__setattr__(self, "columns", columns)
        if self.bound is not None:
            object.__setattr__(self, "bound", finite_number(self.bound, field="bound", where=where, minimum=0.0, strict=True))
        if self.grid is not None:
            grid = finite_number(self.grid, field="grid", where=where, minimum=0.0, strict=True)
            if not is_power_of_two(grid):
                raise InvalidValueError(field="grid", found=self.grid, allowed="a power of two", where=where)
            object.__setattr__(self, "grid", grid)
        if self.grid is not None and self.bound is not None:
            rows_per_exact_sum(self.bound, self.grid)

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
