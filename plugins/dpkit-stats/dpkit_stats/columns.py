"""What a statistic may know of its columns before any row is read: their names, bounds and levels, and the number of rows."""

from __future__ import annotations

import dpkit
from dpkit.authoring import kind_of
from dpkit_stats.counting import count_query
from dpkit_stats.scaling import Interval


def known_column(setting: dpkit.Setting, column: str) -> str:
    """The name of a declared column; of an unknown one, the nearest is offered."""
    if column not in setting.columns:
        raise dpkit.UnknownNameError(kind="declared column", name=column, known=setting.columns)
    return column


def number_range(setting: dpkit.Setting, column: str, *, where: str, field: str = "column") -> Interval:
    """The declared bounds of a column of numbers."""
    if kind_of(setting, known_column(setting, column)) not in ("number", "boolean"):
        numbers = [name for name in setting.columns if kind_of(setting, name) in ("number", "boolean")]
        allowed = f"a column of numbers ({', '.join(numbers) or 'none is declared'})"
        raise dpkit.InvalidValueError(field=field, found=column, allowed=allowed, where=where)
    lower, upper = setting.range(column)
    if not lower < upper:
        allowed = "a column whose bounds differ"
        raise dpkit.InvalidValueError(field=field, found=column, allowed=allowed, where=where)
    return Interval(lower=lower, upper=upper)


def truth_values(setting: dpkit.Setting, column: str) -> tuple[str, ...]:
    """The names of the codes 0 and 1 of a boolean column; none for others."""
    return ("false", "true") if kind_of(setting, column) == "boolean" else ()


def count_is_free(setting: dpkit.Setting, columns: tuple[str, ...]) -> bool:
    """Whether nobody can move the number of rows that have a value in these columns.

    So it is under replace-one with a row as the unit, where no policy drops a row: every neighbour has as many.
    """
    return setting.size_is_public and all(distance.value == 0.0 for distance in setting.distances(count_query(columns)))


def public_count(setting: dpkit.Setting, columns: tuple[str, ...]) -> int | None:
    """How many rows have a value in these columns, where that is public and declared; None where it must be released."""
    return setting.size if count_is_free(setting, columns) else None
