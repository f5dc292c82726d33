"""The engine interfaces: queries become exact totals, in one pass, on one machine or on many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from dpkit.contracts.query import Block, Query
from dpkit.contracts.setting import Setting
from dpkit.contracts.table import Source
from dpkit.numerics.exact_sums import ExactSum

Partial = TypeVar("Partial")


@runtime_checkable
class Engine(Protocol):
    """Evaluates queries over all rows. Totals are exact: all engines give the same bits, in whatever order they add.

    What it may offer beside: `DeclaresSetting`, `CountsRows`, `Closing`. So may a `Source`.
    """

    def check(self, queries: Sequence[Query]) -> None:
        """Raise what is publicly wrong with these queries, from made-up rows. Called before anything is charged."""

    def evaluate(self, queries: Sequence[Query]) -> tuple[ExactSum, ...]:
        """The total of each query, from one pass over the data. Raises on no value."""


@runtime_checkable
class Summation(Protocol[Partial]):
    """How several queries are summed, apart from where the rows are: a commutative monoid of partial totals.

    It holds no rows and can be pickled, so that a cluster sends it to the rows and never the rows to it.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a block must hold, in this order."""

    def zero(self) -> Partial:
        """The partial totals of no rows."""

    def partial(self, block: Block) -> Partial:
        """The partial totals of some rows."""

    def merge(self, one: Partial, other: Partial) -> Partial:
        """The partial totals of both."""

    def finish(self, partial: Partial) -> tuple[ExactSum, ...]:
        """The total of each query."""


@runtime_checkable
class DeclaresSetting(Protocol):
    """An engine, or a source, that knows what was declared of its data. A plan for another declaration is then refused."""

    @property
    def setting(self) -> Setting | None:
        """The declared columns, relation and unit; None where nothing is declared."""


@runtime_checkable
class CountsRows(Protocol):
    """An engine, or a source, that can count its rows where their number is public. A plan that declares another is refused."""

    def public_rows(self) -> int | None:
        """How many rows there are; None where it cannot say. `PrivateFactError` where the number is private."""


@runtime_checkable
class Closing(Protocol):
    """An engine, or a source, that holds something to give back: files, memory, a cluster."""

    def close(self) -> None:
        """Give it back. Called once, when a run is over, however it ended."""


@runtime_checkable
class Reopening(Protocol):
    """An engine that shares what it runs on, such as a cluster, with engines over other views of the same data.

    Without it, a step that filters or computes columns of its own gets an engine of its own from the factory.
    """

    def over(self, source: Source) -> Engine:
        """An engine over another view. It is closed before this one."""
