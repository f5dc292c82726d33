"""Public rows that stand in for the private ones in a plan: a published sample, or a table that somebody made up.

They are read as the private rows would be, with the same columns, joins, policies and conditions, so that a plan can try its
algorithms on them. They are public: what is wrong with them is said of them. No private row is read.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path

import numpy as np

from dpkit.analysis.outputs import inputs_of, is_same_file
from dpkit.analysis.reading.spec import Spec
from dpkit.contracts.query import Block
from dpkit.contracts.table import Table
from dpkit.data.columns.dates import Date, Time
from dpkit.data.columns.kinds import Boolean, Category, Column, Number, Policy
from dpkit.data.columns.schema import Schema
from dpkit.data.tables.open_source import expanded_paths, open_source, open_table
from dpkit.data.tables.source import ROWS_OF_A_SCAN, DataSource
from dpkit.errors import SourceError
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

LEAST_ROWS = 30
"""Fewer say hardly anything of how columns vary."""
MOST_ROWS = 100_000
"""Of more, about so many are taken."""
_IN_WORDS = "A stand-in is read by the columns, levels and bounds that `data` declares."


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """A table of public rows: its name, and how many rows it has."""

    name: str
    rows: int
    source: DataSource = field(repr=False)

    def codes(self, schema: Schema) -> Block:
        """Its rows as codes of every column of a step's schema, NaN throughout where a condition leaves a row out."""
        view, rng = self.source.view(schema), np.random.default_rng(2028)
        share, blocks, used = min(1.0, MOST_ROWS / self.rows), [], 0
        for block in view.blocks(view.columns, ROWS_OF_A_SCAN):
            used += len(block)
            blocks.append(block if share == 1.0 else block[rng.random(len(block)) < share])
        unused = round((self.rows - used) * share)
        return np.concatenate([*blocks, np.full((unused, len(view.columns)), np.nan)])


def open_stand_in(spec: Spec, given: object) -> StandIn:
    """What stands in for the data of an analysis: paths, or a table as `open_source` takes it. `SourceError` for the private
    data itself, too few rows, and columns that cannot be read as they are declared.
    """
    name = _name_of(given)
    if isinstance(given, tuple):
        given = list(given)
    if isinstance(given, str | os.PathLike | list):
        _refuse_private(spec, [given] if isinstance(given, str | os.PathLike) else given, name)
    table, schema = open_table(given, **_form(spec, given)), spec.data.schema
    for needed in schema.cells:
        if needed not in table.names:
            near = difflib.get_close_matches(needed, table.names, n=3)
            fix = f"Did you mean {' or '.join(repr(other) for other in near)}?" if near else ""
            reason = f"it has no column named {needed!r}; what stands in for the data has every declared column."
            raise SourceError(source=name, reason=reason, fix=fix)
    source = _read(table, schema)
    rows = source.public_rows()
    if rows < LEAST_ROWS:
        reason = f"it has {rows} rows, which are too few to stand in for the data."
        raise SourceError(source=name, reason=reason, fix=f"At least {LEAST_ROWS} are needed.")
    for column in schema.columns:
        _check_cells(table, column, rows, name)
    return StandIn(name=name, rows=rows, source=source)


def _read(table: Table, schema: Schema) -> DataSource:
    """Rows one by one: whose they are does not matter, as nobody is protected here."""
    return open_source(table, schema, neighbours=Neighbours.REPLACE_ONE, in_memory=True)


def _form(spec: Spec, given: object) -> dict[str, str]:
    """How text files are written: as those of the data, where these are texts."""
    return dict(spec.data.form) if isinstance(given, str | os.PathLike | list) else {}


def _name_of(given: object) -> str:
    if isinstance(given, str | os.PathLike):
        return Path(os.fspath(given)).name
    if isinstance(given, list | tuple) and given and all(isinstance(path, str | os.PathLike) for path in given):
        return ", ".join(Path(os.fspath(path)).name for path in given)
    return f"the {type(given).__name__} that stands in for the data"


def _refuse_private(spec: Spec, given: list[str | os.PathLike[str]], name: str) -> None:
    """The plan of the private data themselves would be told by the private data."""
    private = [path for what, path in inputs_of(spec) if what == "the data"]
    for path in (Path(found) for each in given for found in expanded_paths(os.fspath(each))):
        if any(is_same_file(path, one) for one in private):
            reason = "it is the private data of this analysis, and a plan reads none."
            raise SourceError(source=name, reason=reason, fix="Name public rows, or rows that somebody made up.")


def _check_cells(table: Table, column: Column, rows: int, name: str) -> None:
    """Refuse a column most of whose cells are not as declared: then it is another column, or in another unit."""
    for what, strict in _strict(column):
        found = _read(table, Schema(columns=(strict,)))
        wrong = sum(int(np.isnan(block).sum()) for block in found.blocks((column.name,), ROWS_OF_A_SCAN))
        if 2 * wrong > rows:
            reason = f"{wrong} of {rows} cells of column {column.name!r} {what}."
            raise SourceError(source=name, reason=reason, fix=_IN_WORDS)


def _strict(column: Column) -> Iterator[tuple[str, Column]]:
    """The same column with policies that drop one kind of cell alone, and what is wrong with such a cell."""
    drop, clip = Policy.DROP, Policy.CLIP
    if isinstance(column, Number):
        low = column.lower
        yield "hold no number", replace(column, missing=low, nan=low, text=drop, infinite=clip, outside=clip)
        out = replace(column, missing=low, nan=low, text=low, infinite=clip, outside=drop)
        yield "lie outside of the declared bounds", out
    elif isinstance(column, Category):
        yield "hold none of the declared levels", replace(column, missing=column.levels[0], unknown=drop)
    elif isinstance(column, Boolean):
        yield "hold neither true nor false", replace(column, missing=False, unknown=drop)
    elif isinstance(column, Date | Time):
        first, kind = column.lower, "date" if isinstance(column, Date) else "time"
        yield f"hold no {kind}", replace(column, missing=first, unknown=drop, outside=clip)
        yield "lie outside of the declared bounds", replace(column, missing=first, unknown=first, outside=drop)
