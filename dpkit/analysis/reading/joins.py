"""`join` of an analysis: columns that rows look up in public tables, each mistake at its own place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dpkit.analysis.reading import keys
from dpkit.analysis.reading.nodes import NodeReader, described, joined
from dpkit.analysis.reading.read_yaml import Entries, Items, Node, Scalar, plain
from dpkit.data.columns.schema import Schema
from dpkit.data.expressions.joining import join
from dpkit.data.tables.open_source import open_table
from dpkit.errors import DpkitError, InvalidValueError

ReadColumns = Callable[[NodeReader, Node, str], Schema | None]


def with_joins(
    reading: NodeReader, node: Node, path: str, schema: Schema, folder: Path, read_columns: ReadColumns
) -> tuple[Schema, tuple[Path, ...]] | None:
    """The schema with what is looked up, and the files of the tables; None where something is wrong. Reads public tables."""
    files: list[Path] = []
    entries = node.items if isinstance(node, Items) else (node,)
    for number, entry in enumerate(entries):
        inside = f"{path}[{number}]" if isinstance(node, Items) else path
        found = _joined(reading, entry, inside, schema, folder, read_columns)
        if found is None:
            return None
        schema, file = found
        files.append(file)
    return schema, tuple(files)


def _joined(
    reading: NodeReader, node: Node, path: str, schema: Schema, folder: Path, read_columns: ReadColumns
) -> tuple[Schema, Path] | None:
    entry = reading.mapping(node, path, "a mapping with `table`, `on` and `columns`")
    if entry is None:
        return None
    before = len(reading.problems)
    reading.keys(entry, path, keys.JOIN, required=tuple(keys.JOIN))
    names = _on(reading, entry.entries["on"], joined(path, "on")) if "on" in entry.entries else None
    table = reading.value(entry, path, keys.JOIN_TABLE)
    columns = read_columns(reading, entry.entries["columns"], joined(path, "columns")) if "columns" in entry.entries else None
    if len(reading.problems) > before or names is None or columns is None or not isinstance(table, str):
        return None
    for column in columns.columns:
        if column.name in schema.names:
            place = entry.entries["columns"]
            at = place.keys[column.name] if isinstance(place, Entries) else place
            reading.problem(at, joined(path, "columns"), f"the name {column.name!r} is taken", "a name that no column has")
            return None
    file = folder / table
    try:
        raw = open_table(str(file))
        on, key = names
        return join(schema, raw, on=on, key=key, columns=columns.columns, name=table), file
    except InvalidValueError as error:
        reading.refusal(error, entry, path)
    except DpkitError as error:
        reading.problem(entry.entries["table"], joined(path, "table"), str(error))
    return None


def _on(reading: NodeReader, node: Node, path: str) -> tuple[str, str] | None:
    """`code`, or `{code: id}` where the table calls it otherwise."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip():
        return node.value, node.value
    if isinstance(node, Entries) and len(node.entries) == 1:
        ((name, other),) = node.entries.items()
        if isinstance(plain(other), str):
            return name, str(plain(other))
    reading.problem(node, path, f"found {described(node)}", "a column, or {column: its name in the table}")
    return None
