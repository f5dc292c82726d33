"""Answers as the tables that a person would make: what tells the rows apart, then `estimate`, `lower`, `upper`.

What is looked at is the JSON of an answer, whatever algorithm gave it; and tables as CSV and Parquet files.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping

from dpkit.analysis.showing.documents import is_number, split_coefficients
from dpkit.errors import MissingExtraError
from dpkit.values import dataclass

_TOLD_BY = {"cells": "cell", "probabilities": "probability", "levels": "level", "names": "name"}
"""Lists beside `estimates` that tell them apart, and what a column of them is called."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_INTERVAL = ("estimate", "lower", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTable:
    """Named columns, and rows of plain values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def csv(self) -> str:
        """The table as CSV, its first line the names; numbers in full, nothing for what is not known.

        A text that a spreadsheet would take for a formula has an apostrophe before it: keys come from the data.
        """
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(_no_formula, self.columns))
        writer.writerows([["" if cell is None else _no_formula(cell) for cell in row] for row in self.rows])
        return text.getvalue()

    def parquet(self) -> bytes:
        """The table as a Parquet file. Needs pyarrow."""
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise MissingExtraError(package="pyarrow", purpose="Writing Parquet", extra="arrow") from None
        columns = {name: _of_one_type([row[place] for row in self.rows]) for place, name in enumerate(self.columns)}
        file = io.BytesIO()
        parquet.write_table(pa.table(columns), file)
        return file.getvalue()


def _no_formula(cell: object) -> object:
    """A text that begins as a formula does, with an apostrophe before it; anything else, and a number, as it is."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def main_table(answer: object) -> AnswerTable:
    """The table of a whole answer (JSON); one row a number, with its name, where it has no form that is known."""
    coefficients, rest = split_coefficients(answer)
    if coefficients:
        rows = tuple((one.name, one.value, one.lower, one.upper) for one in coefficients)
        return AnswerTable(columns=("coefficient", *_INTERVAL), rows=rows)
    tables, _ = split_tables(rest)
    return tables[0] if tables else AnswerTable(columns=("name", "value"), rows=tuple(_named(answer)))


def split_tables(answer: object) -> tuple[list[AnswerTable], object]:
    """The tables that an answer is, its own before those of its margins, and what else it says."""
    if not isinstance(answer, Mapping):
        return [], answer
    for read in (_as_written, _matrix, _several, _single):
        found = read(answer)
        if found is not None:
            table, used = found
            margins = answer.get("margins")
            rest = {key: value for key, value in answer.items() if key not in (*used, "margins")}
            inner = [one for margin in margins for one in split_tables(margin)[0]] if isinstance(margins, list) else []
            return [table, *inner], rest
    return [], answer


Found = tuple[AnswerTable, tuple[str, ...]] | None
"""A table, and the keys of the answer that are in it."""


def _as_written(answer: Mapping[str, object]) -> Found:
    columns, rows = answer.get("columns"), answer.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in rows):
        return None
    table = AnswerTable(columns=tuple(map(str, columns)), rows=tuple(tuple(row) for row in rows))
    return table, ("columns", "rows")


def _matrix(answer: Mapping[str, object]) -> Found:
    columns, values = answer.get("columns"), answer.get("estimate")
    if not isinstance(columns, list) or not isinstance(values, list) or len(values) != len(columns):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in values):
        return None
    names = tuple(map(str, columns))
    return AnswerTable(columns=("column", *names), rows=tuple((name, *row) for name, row in zip(names, values, strict=True))), (
        "columns",
        "estimate",
    )


def _several(answer: Mapping[str, object]) -> Found:
    values = answer.get("estimates")
    if not isinstance(values, list):
        return None
    for key, name in _TOLD_BY.items():
        told = answer.get(key)
        if isinstance(told, list) and len(told) == len(values):
            paired = enumerate(zip(told, values, strict=True))
            rows = tuple((mark, value, *_ends(answer, value, place)) for place, (mark, value) in paired)
            return AnswerTable(columns=(name, *_INTERVAL), rows=rows), (key, "estimates", *_used(answer))
    return None


def _single(answer: Mapping[str, object]) -> Found:
    value = answer.get("estimate")
    if not is_number(value):
        return None
    counted = ("count",) if is_number(answer.get("count")) else ()
    row = (value, *_ends(answer, value, None), *(answer[name] for name in counted))
    return AnswerTable(columns=(*_INTERVAL, *counted), rows=(row,)), ("estimate", *counted, *_used(answer))


def _used(answer: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(name for name in ("lower", "upper") if name in answer)


def _ends(answer: Mapping[str, object], value: object, place: int | None) -> tuple[object, object]:
    """The interval of one estimate: as it is stated, or as far as the error that is stated reaches; else nothing."""
    stated = []
    for name in ("lower", "upper"):
        end = answer.get(name)
        if place is not None:
            end = end[place] if isinstance(end, list) and place < len(end) else None
        stated.append(end if is_number(end) else None)
    error = answer.get("error")
    if stated == [None, None] and is_number(error) and is_number(value) and "probabilities" not in answer:
        return math.nextafter(value - error, -math.inf), math.nextafter(value + error, math.inf)
    return stated[0], stated[1]


def _named(value: object, name: str = "") -> list[tuple[str, object]]:
    """A JSON answer as named numbers."""
    if isinstance(value, Mapping):
        return [row for key, inner in value.items() for row in _named(inner, f"{name}.{key}" if name else str(key))]
    if isinstance(value, list):
        return [row for place, inner in enumerate(value) for row in _named(inner, f"{name}[{place}]")]
    return [(name or "answer", value)]


def _of_one_type(cells: list[object]) -> list[object]:
    """Cells that a column of Arrow can hold: numbers as floats where they are mixed, else texts."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) <= 1:
        return cells
    if kinds <= {int, float}:
        return [None if cell is None else float(cell) for cell in cells]  # type: ignore[arg-type]
    return [None if cell is None else str(cell) for cell in cells]
