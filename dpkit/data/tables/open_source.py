"""`open_source`: whatever holds the data, with its declared columns, becomes a source that engines can read."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from dpkit.contracts.factories import Factory
from dpkit.contracts.parameters import Parameter
from dpkit.contracts.table import DivisibleTable, Table
from dpkit.data.columns.schema import ROW, PrivacyUnit, Schema
from dpkit.data.tables.arrays import ColumnsTable, table_of_array
from dpkit.data.tables.arrow import ParquetTable, arrow_table
from dpkit.data.tables.csv import CsvTable
from dpkit.data.tables.files import no_such_file
from dpkit.data.tables.frames import frame_table
from dpkit.data.tables.source import DataSource
from dpkit.data.tables.text_files import COMPRESSED
from dpkit.errors import DpkitError, InvalidValueError, SourceError, kind_of
from dpkit.privacy.neighbours import Neighbours

Answer = TypeVar("Answer")

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv", ".txt")


def open_source(
    data: object,
    schema: Schema,
    *,
    unit: PrivacyUnit = ROW,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    names: Sequence[str] | None = None,
    in_memory: bool | None = None,
    **form: str,
) -> DataSource:
    """A source over a CSV or Parquet path, a glob, a list of paths, a frame, an Arrow table, a numpy array or named columns.

    Only public facts can be refused, and they are refused here: no such file or column, an unknown format. No row is read.
    `names` names the columns of a plain two-dimensional array. `delimiter`, `quote` and `encoding` say how text files are
    written (`TextForm`). `in_memory` keeps the codes of all declared columns after the
    first pass; by default for what was in memory already.
    """
    table = open_table(data, names=names, **form)
    needed = schema.cells if unit.column is None else (*schema.cells, unit.column)
    found = _asked_of_table(lambda: tuple(table.names))
    for name in needed:
        if name not in found:
            raise _missing_column(name, table, found, has_header=any(other in found for other in needed))
    keep = not isinstance(table, DivisibleTable) if in_memory is None else in_memory
    return DataSource(table=table, schema=schema, unit=unit, neighbours=neighbours, in_memory=keep)


def open_table(data: object, *, names: Sequence[str] | None = None, **form: str) -> Table:
    """The raw table of what was given; `form` says how text files are written."""
    if isinstance(data, str | os.PathLike):
        return _files(expanded_paths(os.fspath(data)), form)
    if isinstance(data, list | tuple) and data and all(isinstance(path, str | os.PathLike) for path in data):
        return _files([path for item in data for path in expanded_paths(os.fspath(item))], form)
    if isinstance(data, np.ndarray):
        return table_of_array(data, names)
    if isinstance(data, Mapping):
        return ColumnsTable(data)
    found = frame_table(data) or arrow_table(data)
    if found is not None:
        return found
    if _asked_of_table(lambda: isinstance(data, Table)):
        return data  # type: ignore[return-value]
    allowed = "a path, a list of paths, a numpy array, a mapping of columns, a pandas or polars frame, or an Arrow table"
    raise InvalidValueError(field="data", found=type(data).__name__, allowed=allowed, where="open_source")


def holds_csv(path: str | os.PathLike[str]) -> bool:
    """Whether files are CSV: what names their columns is then a first line, and a record where somebody forgot it.

    No file is read. `SourceError` where there is none, or its format is not known.
    """
    paths = expanded_paths(os.fspath(path))
    kind = _kind(paths)
    for name in paths:
        if not os.path.exists(name):
            raise no_such_file(name)
    return kind == "csv"


def expanded_paths(path: str | bytes) -> list[str]:
    """The files that a path or a glob names; a path that names none stands for itself."""
    text = os.fsdecode(path)
    if "\n" in text or "\r" in text:
        raise SourceError(source="the data", reason="it is a text of several lines, not a path.", fix="Write it to a file.")
    if os.path.exists(text) or not glob.has_magic(text):
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    if not found:
        raise SourceError(source=text, reason="no file matches.")
    return found


def _files(paths: list[str], form: Mapping[str, str]) -> Table:
    if _kind(paths) == "parquet":
        return ParquetTable(paths)
    by_ending = "\t" if all(_ending(path) == ".tsv" for path in paths) else ","
    return CsvTable(paths, **{"delimiter": by_ending, **form})


def _kind(paths: list[str]) -> str:
    endings = set(map(_ending, paths))
    for kind, known in (("parquet", _PARQUET), ("csv", _CSV)):
        if endings <= set(known):
            return kind
    source = paths[0] if all(map(os.path.exists, paths)) else "the data"  # what is no file may be data that was given as text
    reason = "its format is not known by its name, or formats are mixed."
    raise SourceError(
        source=source, reason=reason, fix=f"Known: {', '.join((*_CSV, *_PARQUET))}; of text also .csv.gz, .csv.zst."
    )


def is_text(path: str) -> bool:
    """Whether a file, or what a pattern matches, is CSV by its name."""
    return _ending(path) in _CSV


def _ending(path: str) -> str:
    """How the name of a file ends; of a compressed text, before that."""
    name, ending = os.path.splitext(path.lower())
    inner = os.path.splitext(name)[1]
    return inner if ending in COMPRESSED and inner in _CSV else ending


def _asked_of_table(ask: Callable[[], Answer]) -> Answer:
    """What a plugin's table answers, which may be asked for its names; what it raises may quote a row, and is not passed on."""
    kind = ""
    try:
        return ask()
    except (DpkitError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        kind = kind_of(error)
    raise SourceError(source="the data", reason=f"it does not say the names of its columns ({kind}).")


def _missing_column(name: str, table: Table, names: Sequence[str], *, has_header: bool) -> SourceError:
    """Near names are offered where they are names for certain. The first line of a CSV without a header is a record; that one
    of its cells is spelt like a declared column does not make it a header.
    """
    reason = f"it has no column named {name!r}."
    if isinstance(table, CsvTable) and name in table.repeated:
        reason = f"two columns of its header have the same name, {name!r}."
        return SourceError(source="the data", reason=reason, fix="Name each column once.")
    if not has_header:
        fix = "It has none of the declared columns: does its first line name them, and is its delimiter the declared one?"
    elif isinstance(table, CsvTable):
        fix = "The names in its first line are not shown here; `dpkit init FILE --header` writes them down."
    else:
        near = difflib.get_close_matches(name, names, n=3)
        fix = f"Did you mean {' or '.join(repr(other) for other in near)}?" if near else "No column has a similar name."
    return SourceError(source="the data", reason=reason, fix=fix)


_PATHS = Parameter(name="paths", kind="paths", doc="Files, or globs of files.", examples=(("rows.csv",),))
SOURCES: tuple[Factory[Any], ...] = (
    Factory(
        name="csv",
        doc="CSV files, whatever their names end in; the first line of each names its columns.",
        make=lambda paths, **form: CsvTable(_all_of(paths), **form),
        parameters=(
            _PATHS,
            Parameter(name="delimiter", kind="text", doc="What stands between cells: one character.", default=","),
            Parameter(name="quote", kind="text", doc="What stands around cells: one character, or `none`.", default='"'),
            Parameter(name="encoding", kind="text", doc="The encoding of the text.", default="utf-8"),
        ),
    ),
    Factory(
        name="parquet",
        doc="Parquet files, whatever their names end in.",
        make=lambda paths: ParquetTable(_all_of(paths)),
        parameters=(_PATHS,),
    ),
)
"""The formats of files, as an analysis names them: `source: {run: csv, with: {paths: [rows.dat], delimiter: ";"}}`."""


def _all_of(paths: Sequence[str]) -> list[str]:
    return [path for item in paths for path in expanded_paths(item)]
