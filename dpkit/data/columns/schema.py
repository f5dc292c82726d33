"""What is declared of the rows: the columns in order, by which cells become codes, and the privacy unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dpkit.contracts.query import Block
from dpkit.contracts.table import Batch
from dpkit.data.columns.cells import FloatArray
from dpkit.data.columns.kinds import Coded, Column, cell_of, encoded
from dpkit.data.columns.plain_block import plain_block
from dpkit.data.expressions.derived import Condition, Derived, derive, require
from dpkit.data.expressions.facts import Fact, fact_of
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.privacy.checks import finite_number, nonempty_text, tuple_of, whole_number
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

Used = npt.NDArray[np.bool_]

_DERIVED = "for each name SQL, or {'sql': ..., 'lower': ..., 'upper': ...}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What the analyst declares of the data, from public knowledge alone: nothing here is ever read from the data.

    `columns` are those of the table. `let` are computed from them, row by row, each from those before it. Rows for which one
    of `where` is not true contribute zero to every query. `extended` makes both from SQL.
    """

    columns: tuple[Column, ...]
    let: tuple[Derived, ...] = ()
    where: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        allowed = "a tuple of Number, Category, Boolean, Date and Time columns, at least one"
        columns = tuple_of(self.columns, Column, field="columns", where="Schema", allowed=allowed)
        if not columns:
            raise InvalidValueError(field="columns", found=columns, allowed=allowed, where="Schema")
        object.__setattr__(self, "columns", columns)
        names = self.names
        if len(set(names)) != len(names):
            raise InvalidValueError(field="columns", found=names, allowed="names that differ", where="Schema")

    @property
    def every(self) -> tuple[Coded, ...]:
        """The columns of the table, then the derived ones."""
        return (*self.columns, *self.let)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns that queries may read, in order."""
        return (*self.table_names, *(column.name for column in self.let))

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of the columns that the table must have, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns of the table that the declared ones are read from: one may be read in two ways."""
        return self.cells_of(self.table_names)

    def cells_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of the table that these, declared ones, are read from."""
        return tuple(dict.fromkeys(cell_of(column) for column in self.columns if column.name in names))

    @property
    def facts(self) -> Mapping[str, Fact | None]:
        """What expressions may know of each column."""
        return {column.name: fact_of(column) for column in self.every}

    def extended(self, *, let: Mapping[str, str | Mapping[str, str | float]] | None = None, where: str | None = None) -> Schema:
        """With more derived columns and one more condition, in SQL. `ExpressionError` for one that rows cannot answer alone.

        A column with bounds of its own is `{"sql": ..., "lower": ..., "upper": ...}`, as in YAML.
        """
        found = self
        for name, said in (let or {}).items():
            parts = said if isinstance(said, Mapping) else {"sql": said}
            sql = parts.get("sql")
            if not isinstance(sql, str) or not set(parts) <= {"sql", "lower", "upper"}:
                raise InvalidValueError(field="let", found=said, allowed=_DERIVED, where="Schema")
            bounds = {
                end: finite_number(parts[end], field=end, where=f"let[{name!r}]") for end in ("lower", "upper") if end in parts
            }
            column = derive(nonempty_text(name, field="let", where="Schema"), sql, found.facts, **bounds)
            found = found.with_derived(column)
        return found if where is None else found.with_condition(require(where, found.facts))

    def with_derived(self, column: Derived) -> Schema:
        """With one more derived column."""
        return Schema(columns=self.columns, let=(*self.let, column), where=self.where)

    def with_condition(self, condition: Condition) -> Schema:
        """With one more condition on rows."""
        return Schema(columns=self.columns, let=self.let, where=(*self.where, condition))

    def select(self, names: Sequence[str]) -> tuple[Coded, ...]:
        """These columns, in this order; all of them when no name is given."""
        known = {column.name: column for column in self.every}
        for name in names:
            if name not in known:
                raise UnknownNameError(kind="declared column", name=name, known=known)
        return tuple(known[name] for name in names) if names else self.every

    def reads(self, names: Sequence[str], *, where: bool = True, given: Schema | None = None) -> tuple[str, ...]:
        """The columns of the table from which these are made; with `where`, also those that decide which rows are used.

        With `given`, which this schema extends: of the columns that it has, and without its conditions, which hold already.
        """
        there = self.table_names if given is None else given.names
        wanted = set(names)
        if where:
            more = self.where if given is None else self.where[len(given.where) :]
            wanted.update(name for condition in more for name in condition.columns)
        wanted = self._needed(tuple(wanted), there)
        return tuple(name for name in there if name in wanted)

    def encode(self, batch: Batch, names: Sequence[str], *, used: Used | None = None, into: Block | None = None) -> Block:
        """The codes of these columns, one row a record that is used: those for which every condition holds, or as given.

        They may be made in `into`, where there is one with a row a record.
        """
        plain = None if self.where or used is not None else plain_block(self.select(names), batch, into=into)
        if plain is not None:
            return plain
        wanted = self.reads(names, where=used is None)
        codes = {column.name: encoded(column, batch.cells[cell_of(column)]) for column in self.columns if column.name in wanted}
        return self.block(codes, batch.rows, names, used=used)

    def used_rows(self, batch: Batch) -> Used | None:
        """For which rows every condition holds; None where there is no condition."""
        if not self.where:
            return None
        wanted = self.reads(())
        codes = {column.name: encoded(column, batch.cells[cell_of(column)]) for column in self.columns if column.name in wanted}
        return self._used(codes, batch.rows, self.where)

    def block(
        self,
        codes: dict[str, FloatArray],
        rows: int,
        names: Sequence[str],
        *,
        used: Used | None = None,
        after: int = 0,
    ) -> Block:
        """The codes of these columns, from those that are there. The first `after` conditions are known to hold."""
        if used is None and self.where[after:]:
            used = self._used(codes, rows, self.where[after:])
        if used is not None:
            needed, places = self._needed(names), np.flatnonzero(used)  # places are found once, for all columns
            codes = {name: found.take(places) for name, found in codes.items() if name in needed}
            rows = places.size
        self._derive(codes, rows, names)
        block = np.empty((rows, len(names)))
        for place, name in enumerate(names):
            block[:, place] = codes[name]
        return block

    def _used(self, codes: dict[str, FloatArray], rows: int, conditions: Sequence[Condition]) -> Used:
        self._derive(codes, rows, [name for condition in conditions for name in condition.columns])
        found = conditions[0].holds(codes, rows)
        for condition in conditions[1:]:
            found = found & condition.holds(codes, rows)
        return found

    def _needed(self, names: Sequence[str], there: Collection[str] = ()) -> set[str]:
        """These columns, and those that they are made of, unless they are there already."""
        wanted = set(names)
        for column in reversed(self.let):
            if column.name in wanted and column.name not in there:
                wanted |= column.columns
        return wanted

    def _derive(self, codes: dict[str, FloatArray], rows: int, names: Sequence[str]) -> None:
        """Add the derived columns among these, and those that they are made of."""
        wanted = self._needed(names, there=codes)
        for column in self.let:
            if column.name in wanted and column.name not in codes:
                codes[column.name] = column.codes(codes, rows)

    def sample(self, names: Sequence[str]) -> Block:
        """Three made-up rows: every column at its lower bound, in the middle, and at its upper bound."""
        ranges = np.array([column.range for column in self.select(names)], dtype=np.float64)
        lower, upper = ranges[:, 0], ranges[:, 1]
        return np.stack([lower, np.rint(0.5 * lower + 0.5 * upper).clip(lower, upper), upper])

    def may_drop(self, names: Sequence[str]) -> bool:
        """Whether some record could contribute zero to a query that reads these columns."""
        return bool(self.where) or any(column.may_drop for column in self.select(names))


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
