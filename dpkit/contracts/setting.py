"""The setting of an analysis: every public fact about the data that an algorithm may plan with. It holds no row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dpkit.contracts.query import Query
from dpkit.privacy.neighbours import Distance, Neighbours


@runtime_checkable
class Setting(Protocol):
    """Declared columns, the relation, and how far one person can move a query's total. Nothing here was read from the data.

    A plan made from a setting is the price of what the curator of that setting will charge, because both ask the same
    `distances`.
    """

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns, in order."""

    @property
    def size_is_public(self) -> bool:
        """Whether the number of rows is public: replace-one with a row as the unit."""

    @property
    def size(self) -> int | None:
        """The number of rows as declared, or None where it is not declared. Public or a public guess; never read from data."""

    def range(self, column: str) -> tuple[float, float]:
        """The smallest and the largest code of a column."""

    def levels(self, column: str) -> tuple[str, ...]:
        """The names of a category's codes, in order; empty for a column of numbers."""

    def distances(self, query: Query) -> Sequence[Distance]:
        """By how much a neighbouring dataset can move the query's total, under this unit and relation and these policies."""
