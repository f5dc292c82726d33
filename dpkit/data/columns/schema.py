"""What is declared of the rows: the columns in order, by which cells become codes, and the privacy unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpkit.contracts.query import Block
from dpkit.contracts.table import Batch
from dpkit.data.columns.kinds import Column
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.privacy.checks import nonempty_text, tuple_of, whole_number
from dpkit.privacy.neighbours import Neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What the analyst declares of the data, from public knowledge alone: nothing here is ever read from the data."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        allowed = "a tuple of Number, Category and Boolean columns, at least one"
        columns = tuple_of(self.columns, Column, field="columns", where="Schema", allowed=allowed)
        names = [column.name for column in columns if isinstance(column, Column)]
        if not names:
            raise InvalidValueError(field="columns", found=columns, allowed=allowed, where="Schema")
        if len(set(names)) != len(names):
            raise InvalidValueError(field="columns", found=tuple(names), allowed="names that differ", where="Schema")
        object.__setattr__(self, "columns", columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def select(self, names: Sequence[str]) -> tuple[Column, ...]:
        """These columns, in this order; all of them when no name is given."""
        known = {column.name: column for column in self.columns}
        for name in names:
            if name not in known:
                raise UnknownNameError(kind="declared column", name=name, known=known)
        return tuple(known[name] for name in names) if names else self.columns

    def encode(self, batch: Batch, names: Sequence[str]) -> Block:
        """The codes of these columns, one row a record."""
        block = np.empty((batch.rows, len(names)))
        for place, column in enumerate(self.select(names)):
            block[:, place] = column.encode(batch.cells[column.name])
        return block

    def sample(self, names: Sequence[str]) -> Block:
        """Three made-up rows: every column at its lower bound, in the middle, and at its upper bound."""
        ranges = np.array([column.range for column in self.select(names)], dtype=np.float64)
        lower, upper = ranges[:, 0], ranges[:, 1]
        return np.stack([lower, np.rint(0.5 * lower + 0.5 * upper).clip(lower, upper), upper])

    def may_drop(self, names: Sequence[str]) -> bool:
        """Whether some record could contribute zero to a query that reads these columns."""
        return any(column.may_drop for column in self.select(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """Who is protected, and what that costs in distances: docs/proofs/exact-sums.md, theorem 3.

    A row; or, with a column, everybody whose rows share its value, of whom at most `at_most` rows each are used.

    Add-remove then means a person more or less, with all rows. Replace-one means that one person's rows become any other rows
    of one person: their number may change, so the number of rows is private.
    """

    column: str | None = None
    at_most: int = 1

    def __post_init__(self) -> None:
        if self.column is not None:
            nonempty_text(self.column, field="column", where="PrivacyUnit")
        object.__setattr__(self, "at_most", whole_number(self.at_most, field="at_most", where="PrivacyUnit", minimum=1))
        if self.column is None and self.at_most != 1:
            raise InvalidValueError(
                field="at_most",
                found=self.at_most,
                allowed="1 when the unit is a row",
                where="PrivacyUnit",
                fix="Name a column.",
            )

    @property
    def terms(self) -> str | dict[str, object]:
        """The unit as ledgers write it."""
        return "row" if self.column is None else {"column": self.column, "at_most": self.at_most}

    def knows_size(self, neighbours: Neighbours) -> bool:
        """Whether the number of rows is public: neighbours that replace one row have equally many."""
        return self.column is None and neighbours is Neighbours.REPLACE_ONE


ROW = PrivacyUnit()
"""Each row is one person."""
