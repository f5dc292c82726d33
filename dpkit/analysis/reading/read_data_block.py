"""The block `data` of an analysis: its source, its columns, the privacy unit and the relation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpkit.analysis.reading import keys
from dpkit.analysis.reading.expressions import with_expressions
from dpkit.analysis.reading.joins import with_joins
from dpkit.analysis.reading.nodes import NodeReader, described, joined, nearest, parameters
from dpkit.analysis.reading.read_yaml import Entries, Items, Node, Scalar, plain
from dpkit.analysis.reading.spec import DataSpec
from dpkit.contracts.registry import Registry
from dpkit.data.columns.dates import Date, Time
from dpkit.data.columns.kinds import Boolean, Category, Column, Number, Text
from dpkit.data.columns.schema import ROW, PrivacyUnit, Schema
from dpkit.data.tables.open_source import is_text
from dpkit.data.tables.text_files import TextForm
from dpkit.errors import DpkitError, InvalidValueError, SourceError
from dpkit.privacy.neighbours import Neighbours


def read_data_block(reading: NodeReader, node: Node, registry: Registry | None, folder: Path) -> DataSpec | None:
    """What `data` declares; None when any of it is wrong."""
    data = reading.mapping(node, "data")
    if data is None:
        return None
    reading.keys(data, "data", keys.DATA, required=("source", "columns"))
    source = _source(reading, data.entries["source"], registry, folder) if "source" in data.entries else None
    schema = _schema(reading, data.entries["columns"], "data.columns") if "columns" in data.entries else None
    schema = None if schema is None else _with_decimal(schema, reading.value(data, "data", keys.DECIMAL))
    form = _text_form(reading, data, source)
    files: tuple[Path, ...] = ()
    if schema is not None and "join" in data.entries:
        looked_up = with_joins(reading, data.entries["join"], "data.join", schema, folder, _schema)
        schema, files = (None, ()) if looked_up is None else looked_up
    if schema is not None and {"let", "where"} & data.entries.keys():
        schema = with_expressions(reading, data, "data", schema)
    unit = _unit(reading, data.entries["unit"]) if "unit" in data.entries else ROW
    relation = reading.value(data, "data", keys.RELATION)
    rows = reading.value(data, "data", keys.ROWS)
    name = reading.value(data, "data", keys.NAME)
    like = _like(reading, data.entries["like"], folder) if "like" in data.entries else None
    if source is None or schema is None or unit is None or relation is None:
        return None
    path, values = source
    first = path if isinstance(path, str) else path[0]
    stem = first if values is not None else Path(first).name.split(".")[0]
    return DataSpec(
        name=str(name or stem),
        source=path,
        source_parameters=values,
        unit=unit,
        neighbours=Neighbours(relation),
        schema=schema,
        joined=files,
        rows=rows if isinstance(rows, int) else None,
        is_named=bool(name),
        form=form,
        like=like,
    )


def _like(reading: NodeReader, node: Node, folder: Path) -> tuple[str, ...] | None:
    """The files of public rows."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip():
        return (str(folder / node.value),)
    files = reading.checked(node, "data.like", keys.LIKE) if isinstance(node, Items) and node.items else None
    if isinstance(files, tuple):
        return tuple(str(folder / name) for name in files)
    if files is None and not (isinstance(node, Items) and node.items):
        reading.problem(node, "data.like", f"found {described(node)}", "a path, a glob, or a list of them")
    return None


def _with_decimal(schema: Schema, sign: object) -> Schema:
    """The schema, whatever is a number in its texts written with this sign before the decimals."""
    if sign != ",":
        return schema
    columns = (replace(one, decimal=sign) if isinstance(one, Number | Category | Boolean) else one for one in schema.columns)
    return replace(schema, columns=tuple(columns))


def _text_form(reading: NodeReader, data: Entries, source: object) -> Mapping[str, str]:
    """How text files are written, as far as it is said; refused where the source is no text."""
    form: dict[str, str] = {}
    for key in (keys.DELIMITER, keys.QUOTE, keys.ENCODING):
        written = plain(data.entries[key.name]) if key.name in data.entries else None
        # white space is no text elsewhere, and a tab or a blank between cells here
        value = written if written in ("\t", " ") and key is keys.DELIMITER else reading.value(data, "data", key)
        if not isinstance(value, str):
            continue
        form[key.name] = value
        try:
            TextForm(**{"delimiter": "\t", key.name: value})  # each by itself, so that every wrong one is reported
        except SourceError as error:
            reading.problem(data.entries[key.name], joined("data", key.name), error.reason.rstrip("."), key.doc)
    if form and isinstance(source, tuple):
        path, parameters_of_plugin = source
        files = (path,) if isinstance(path, str) else path
        if parameters_of_plugin is not None or not all(is_text(file) for file in files):
            name = next(iter(form))
            found = f"`{name}` says how a CSV file is written, and this source is none"
            reading.problem(data.entries[name], joined("data", name), found, "files of CSV as `data.source`")
    return form


_COLUMN = "[lower, upper], `boolean`, `text`, `date`, `time`, or a mapping with `lower` and `upper`, `levels`, or a `type`"
_MADE_OF_A_WORD: Mapping[str, Callable[..., Column]] = {
    "boolean": Boolean,
    "text": Text,
    "date": Date,
    **dict.fromkeys(("time", *keys.COLUMN_ALIASES), Time),
}
_POLICIES = {
    "number": ("missing", "nan", "text", "infinite", "outside"),
    "category": ("missing", "unknown"),
    "boolean": ("missing", "unknown"),
    "text": (),
    "date": ("missing", "unknown", "outside"),
    "time": ("missing", "unknown", "outside"),
}


def _schema(reading: NodeReader, node: Node, path: str) -> Schema | None:
    """The schema; None when any column is wrong."""
    found = reading.mapping(node, path, "a mapping from the names of columns to what they hold")
    if found is None:
        return None
    if not found.entries:
        reading.problem(found, path, "no column is declared", "every column that a step reads")
        return None
    columns = [_column(reading, name, entry, joined(path, name)) for name, entry in found.entries.items()]
    good = [column for column in columns if column is not None]
    return Schema(columns=tuple(good)) if len(good) == len(columns) else None


def _column(reading: NodeReader, name: str, node: Node, path: str) -> Column | None:
    """`[lower, upper]`, `boolean`, or a mapping. Each policy is tried by itself, so that every wrong one is reported."""
    if isinstance(node, Scalar) and node.value in _MADE_OF_A_WORD:
        return _MADE_OF_A_WORD[str(node.value)](name=name)
    kind: object = None
    if isinstance(node, Items) and len(node.items) == 2:
        ends = dict(zip(("lower", "upper"), node.items, strict=True))
        node, kind = Entries(entries=ends, keys=dict.fromkeys(ends, node.place), place=node.place), "number"
    elif isinstance(node, Entries):
        if "type" in node.entries:
            kind = plain(node.entries["type"])
            kind = keys.COLUMN_ALIASES.get(kind, kind) if isinstance(kind, str) else kind
            if kind not in keys.COLUMN_KINDS:
                allowed, hint = ", ".join(keys.COLUMN_KINDS), nearest(kind, keys.COLUMN_KINDS)
                reading.problem(node.entries["type"], joined(path, "type"), f"found {kind!r}", allowed, hint)
                return None
        else:
            bounds = "lower" in node.entries or "upper" in node.entries
            kind = "category" if "levels" in node.entries else "number" if bounds else None
    if not isinstance(node, Entries) or not isinstance(kind, str):
        reading.problem(node, path, "a column declares its bounds or its levels", _COLUMN)
        return None
    reading.keys(node, path, keys.COLUMNS[kind])
    declared: dict[str, Any] = {"name": name}
    make: Callable[..., Column] = Text if kind == "text" else Boolean
    if kind == "number":
        make = Number
        for end in ("lower", "upper"):
            if end not in node.entries:
                hint = "Bounds are public knowledge about what values can be; they are never read from the data."
                reading.problem(node, joined(path, end), f"a number needs its {end!r} bound", "a finite number", hint)
        declared |= {key.name: reading.value(node, path, key) for key in (keys.LOWER, keys.UPPER, keys.WHOLE)}
    elif kind in ("date", "time"):
        make = Date if kind == "date" else Time
        declared |= {end: str(plain(node.entries[end])) for end in ("lower", "upper", "format") if end in node.entries}
    elif kind == "category":
        make, levels = Category, node.entries.get("levels")
        if isinstance(levels, Items):
            declared["levels"] = tuple(plain(level) for level in levels.items)
        else:
            reading.problem(
                levels or node, joined(path, "levels"), "a category needs its levels", "a list of texts that differ"
            )
            return None
    if None in declared.values():
        return None
    policies = {name: plain(node.entries[name]) for name in _POLICIES[kind] if name in node.entries}
    before = len(reading.problems)
    for given in ({}, *({name: policy} for name, policy in policies.items())):
        try:
            make(**declared, **given)
        except InvalidValueError as error:
            reading.refusal(error, node, path)
            if not given:
                return None
    return make(**declared, **policies) if len(reading.problems) == before else None


def _source(
    reading: NodeReader, node: Node, registry: Registry | None, folder: Path
) -> tuple[str | tuple[str, ...], Mapping[str, object] | None] | None:
    path = "data.source"
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip():
        return str(folder / node.value), None
    if isinstance(node, Items) and node.items:
        files = reading.checked(node, path, keys.FILES)
        return (tuple(str(folder / name) for name in files), None) if isinstance(files, tuple) else None
    if not isinstance(node, Entries):
        reading.problem(node, path, f"found {described(node)}", "a path, a glob, a list of them, or {run: NAME, with: {...}}")
        return None
    reading.keys(node, path, keys.NAMED, required=("run",))
    name = reading.value(node, path, keys.RUN)
    if not isinstance(name, str) or registry is None:
        return None
    try:
        factory = registry.source(name)
    except DpkitError as error:
        reading.refusal(error, node.entries["run"], joined(path, "run"))
        return None
    given = node.entries.get("with")
    inner = None if given is None else reading.mapping(given, joined(path, "with"))
    values = parameters(reading, inner, joined(path, "with"), factory, node)
    return None if values is None else (name, values)


def _unit(reading: NodeReader, node: Node) -> PrivacyUnit | None:
    if isinstance(node, Scalar) and node.value == "row":
        return ROW
    if not isinstance(node, Entries):
        reading.problem(node, "data.unit", f"found {described(node)}", "row, or {column: NAME, at_most: ROWS}")
        return None
    reading.keys(node, "data.unit", keys.UNIT, required=("column", "at_most"))
    column = reading.value(node, "data.unit", keys.UNIT_COLUMN)
    at_most = reading.value(node, "data.unit", keys.AT_MOST)
    return PrivacyUnit(column=column, at_most=at_most) if isinstance(column, str) and isinstance(at_most, int) else None
