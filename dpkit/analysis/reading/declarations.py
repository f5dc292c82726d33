"""Declared columns, `[lower, upper]`, `boolean` or a mapping, and the declared engine, from the YAML of an analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dpkit.analysis.reading import keys
from dpkit.analysis.reading.nodes import NodeReader, described, joined, nearest, parameters
from dpkit.analysis.reading.read_yaml import Entries, Items, Node, Scalar, plain
from dpkit.analysis.reading.spec import EngineSpec, Spec
from dpkit.contracts.engine import Closing, Engine
from dpkit.contracts.registry import Registry
from dpkit.contracts.table import Source
from dpkit.data.columns.kinds import Boolean, Category, Column, Number
from dpkit.data.columns.schema import Schema
from dpkit.data.summing.named_engines import DEFAULT
from dpkit.errors import InvalidValueError

_ALLOWED = "[lower, upper], `boolean`, or a mapping with `lower` and `upper`, with `levels`, or with `type: boolean`"


def read_columns(reading: NodeReader, node: Node, path: str) -> Schema | None:
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
    if isinstance(node, Scalar) and node.value == "boolean":
        return Boolean(name=name)
    if isinstance(node, Items) and len(node.items) == 2:
        lower, upper = node.items
        ends = {"lower": lower, "upper": upper}
        return _number(reading, name, Entries(entries=ends, keys=dict.fromkeys(ends, node.place), place=node.place), path)
    if not isinstance(node, Entries):
        reading.problem(node, path, "a column declares its bounds or its levels", _ALLOWED)
        return None
    kind = _kind(reading, node, path)
    if kind is None:
        return None
    reading.keys(node, path, keys.COLUMNS[kind])
    return {"number": _number, "category": _category, "boolean": _boolean}[kind](reading, name, node, path)


def _kind(reading: NodeReader, node: Entries, path: str) -> str | None:
    if "type" not in node.entries:
        if "levels" in node.entries:
            return "category"
        if "lower" in node.entries or "upper" in node.entries:
            return "number"
        reading.problem(node, path, "a column declares its bounds or its levels", _ALLOWED)
        return None
    kind = plain(node.entries["type"])
    if kind not in keys.COLUMN_KINDS:
        allowed = ", ".join(keys.COLUMN_KINDS)
        hint = nearest(kind, keys.COLUMN_KINDS)
        reading.problem(node.entries["type"], joined(path, "type"), f"found {kind!r}", allowed, hint)
        return None
    return str(kind)


def _number(reading: NodeReader, name: str, node: Entries, path: str) -> Column | None:
    for end in ("lower", "upper"):
        if end not in node.entries:
            hint = "Bounds are public knowledge about what values can be; they are never read from the data."
            reading.problem(node, joined(path, end), f"a number needs its {end!r} bound", "a finite number", hint)
    lower = reading.value(node, path, keys.LOWER)
    upper = reading.value(node, path, keys.UPPER)
    whole = reading.value(node, path, keys.WHOLE)
    if not isinstance(lower, float) or not isinstance(upper, float) or not isinstance(whole, bool):
        return None
    bounds: dict[str, object] = {"name": name, "lower": lower, "upper": upper, "whole": whole}
    made = _made(reading, lambda: Number(**bounds), node, path)  # type: ignore[arg-type]
    return (
        _with_policies(reading, node, path, ("missing", "nan", "text", "infinite", "outside"), Number, bounds) if made else None
    )


def _category(reading: NodeReader, name: str, node: Entries, path: str) -> Column | None:
    levels = node.entries.get("levels")
    if not isinstance(levels, Items):
        reading.problem(levels or node, joined(path, "levels"), "a category needs its levels", "a list of texts that differ")
        return None
    declared: dict[str, object] = {"name": name, "levels": tuple(plain(level) for level in levels.items)}
    made = _made(reading, lambda: Category(**declared), node, path)  # type: ignore[arg-type]
    return _with_policies(reading, node, path, ("missing", "unknown"), Category, declared) if made else None


def _boolean(reading: NodeReader, name: str, node: Entries, path: str) -> Column | None:
    return _with_policies(reading, node, path, ("missing", "unknown"), Boolean, {"name": name})


def _with_policies(
    reading: NodeReader,
    node: Entries,
    path: str,
    policies: tuple[str, ...],
    kind: Callable[..., Column],
    declared: dict[str, object],
) -> Column | None:
    """Each policy is tried by itself, so that every wrong one is reported; then all together."""
    given = {name: plain(node.entries[name]) for name in policies if name in node.entries}
    good = [_made(reading, lambda one=one: kind(**declared, **one), node, path) for one in ({n: v} for n, v in given.items())]  # type: ignore[misc]
    return kind(**declared, **given) if all(good) else None


def _made(reading: NodeReader, make: Callable[[], Column], node: Entries, path: str) -> Column | None:
    try:
        return make()
    except InvalidValueError as error:
        reading.refusal(error, node, path)
        return None


DEFAULT_ENGINE = EngineSpec(name=DEFAULT, parameters={})

_ALLOWED_ENGINE = "the name of an engine, or a mapping from one name to its parameters"


def read_engine(reading: NodeReader, node: Node, registry: Registry) -> EngineSpec | None:
    """`NAME`, or `{NAME: {parameters}}`."""
    if isinstance(node, Scalar) and isinstance(node.value, str):
        name, at, given = node.value, node.place, None
    elif isinstance(node, Entries) and len(node.entries) == 1:
        ((name, given),) = node.entries.items()
        at = node.keys[name]
    else:
        found = f"{len(node.entries)} engines" if isinstance(node, Entries) else described(node)
        reading.problem(node, "engine", f"found {found}", _ALLOWED_ENGINE)
        return None
    known = {factory.name: factory for factory in registry.engines}
    if name not in known:
        brings = keys.KNOWN_ENGINES.get(name)
        hint = f"Install the plugin that brings it: pip install {brings}" if brings else nearest(name, known)
        reading.problem(at, "engine", f"there is no engine named {name!r}", ", ".join(known), hint)
        return None
    path = joined("engine", name)
    inner = None
    if given is not None and plain(given) is not None:
        inner = reading.mapping(given, path)
        if inner is None:
            return None
    values = parameters(reading, inner, path, known[name], node)
    return None if values is None else EngineSpec(name=name, parameters=values)


@contextmanager
def opened_engine(spec: Spec, source: Source) -> Iterator[Engine]:
    """The engine over a source; what it holds is given back at the end, however that comes."""
    engine = spec.registry.engine(spec.engine.name).over(source, **spec.engine.parameters)
    try:
        yield engine
    finally:
        if isinstance(engine, Closing):
            engine.close()
