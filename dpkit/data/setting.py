"""The setting of a declared dataset: what is public of it, for planning before any row is read."""

from __future__ import annotations

from dpkit.contracts.query import Query
from dpkit.data.columns.kinds import Text
from dpkit.data.columns.schema import ROW, PrivacyUnit, Schema
from dpkit.data.expressions.calendar import day_of, second_of
from dpkit.data.expressions.facts import ValueKind, fact_of
from dpkit.data.summing.repricing import priced_distances
from dpkit.privacy.checks import whole_number
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSetting:
    """A schema, the relation and the unit. `rows` is how many rows there are, as declared; it is never read from the data."""

    schema: Schema
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: PrivacyUnit = ROW
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.rows is not None:
            object.__setattr__(self, "rows", whole_number(self.rows, field="rows", where="setting", minimum=1))

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns, in order."""
        return self.schema.names

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The columns that stand in the table, without those that are derived."""
        return self.schema.table_names

    @property
    def size_is_public(self) -> bool:
        """Whether the number of rows that are used is public: not where a condition decides, which a replaced row may meet or
        not.
        """
        return self.unit.knows_size(self.neighbours) and not self.schema.where

    @property
    def size(self) -> int | None:
        """The declared number of rows."""
        return self.rows

    def range(self, column: str) -> tuple[float, float]:
        """The smallest and the largest code of a column."""
        return self.schema.select((column,))[0].range

    def levels(self, column: str) -> tuple[str, ...]:
        """The names of a category's codes."""
        found: object = getattr(self.schema.select((column,))[0], "levels", ())
        return found if isinstance(found, tuple) else ()

    def kind(self, column: str) -> str:
        """What a column holds: "number", "category", "boolean" or "text"."""
        found = self.schema.select((column,))[0]
        if isinstance(found, Text):
            return "text"
        fact = fact_of(found)
        if fact is not None and fact.kind is ValueKind.BOOLEAN:
            return "boolean"
        return "category" if self.levels(column) else "number"

    def moment(self, column: str, written: str) -> float | None:
        """The code of a date, or a time, as ISO writes it; None for another text, or in a column that holds none."""
        fact = fact_of(self.schema.select((column,))[0])
        read = _MOMENTS.get(fact.kind) if fact is not None else None
        return None if read is None else read(written)

    def distances(self, query: Query) -> tuple[Distance, ...]:
        """By how much a neighbouring dataset can move the query's total."""
        self.schema.select(query.columns)
        may_drop = bool(self.schema.where) if query.keeps_missing else self.schema.may_drop(query.columns)
        return priced_distances(query, self.neighbours, unit=self.unit, may_drop=may_drop)


_MOMENTS = {ValueKind.DATE: day_of, ValueKind.TIME: second_of}
