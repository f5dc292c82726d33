"""The JSON Schema of an analysis, with the parts of the installed plugins: for editors, and for programs that write YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpkit.analysis.reading import keys
from dpkit.contracts.factories import Factory, MechanismFactory
from dpkit.contracts.parameters import REGISTERED, Parameter
from dpkit.contracts.registry import Registry
from dpkit.data.summing.block_engine import DEFAULT

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, object]


def analysis_schema(registry: Registry) -> Schema:
    """The schema (draft 2020-12): whatever `load` accepts, it accepts."""
    properties: Schema = {
        "dpkit": {"const": keys.VERSION, "description": keys.ROOT["dpkit"]},
        "plugins": keys.PLUGINS.json_schema(),
        "data": _data(registry),
        "budget": _budget(registry),
        "engine": _engine(registry),
        "steps": {"type": "array", "minItems": 1, "description": keys.ROOT["steps"], "items": _step(registry)},
        "report": keys.REPORT.json_schema(),
    }
    return {
        "$schema": DIALECT,
        "title": "An analysis of dpkit",
        **_object(properties, required=("dpkit", "data", "budget", "steps")),
    }


def _object(properties: Mapping[str, object], *, required: tuple[str, ...] = (), doc: str = "") -> Schema:
    described: Schema = {"description": doc} if doc else {}
    return {
        "type": "object",
        **described,
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _scalars(*parameters: Parameter) -> Schema:
    return {parameter.name: parameter.json_schema() for parameter in parameters}


def _data(registry: Registry) -> Schema:
    source: list[object] = [{"type": "string", "minLength": 1}, {**keys.FILES.json_schema(), "minItems": 1}]
    if registry.sources:
        source.append(_named(registry.sources, registry))
    person = _object(_scalars(keys.UNIT_COLUMN, keys.AT_MOST), required=("column", "at_most"))
    properties: Schema = {
        "source": {"description": keys.DATA["source"], "anyOf": source},
        "name": keys.NAME.json_schema(),
        "unit": {"description": keys.DATA["unit"], "anyOf": [{"const": "row"}, person]},
        "neighbours": keys.RELATION.json_schema(),
        "rows": keys.ROWS.json_schema(),
        "columns": {
            "type": "object",
            "minProperties": 1,
            "description": keys.DATA["columns"],
            "additionalProperties": _column(),
        },
        "like": {
            "description": keys.DATA["like"],
            "anyOf": [{"type": "string", "minLength": 1}, {**keys.LIKE.json_schema(), "minItems": 1}],
        },
        "join": {"description": keys.DATA["join"], "anyOf": [_join(), {"type": "array", "items": _join()}]},
        **_expressions(keys.DATA),
    }
    return _object(properties, required=("source", "columns"), doc=keys.ROOT["data"])


def _join() -> Schema:
    properties: Schema = {
        "table": keys.JOIN_TABLE.json_schema(),
        "on": {
            "description": keys.JOIN["on"],
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": {"type": "string"}},
            ],
        },
        "columns": {
            "type": "object",
            "minProperties": 1,
            "description": keys.JOIN["columns"],
            "additionalProperties": _column(),
        },
    }
    return _object(properties, required=tuple(keys.JOIN))


def _expressions(described: Mapping[str, str]) -> Schema:
    """`let` and `where`; YAML reads an unquoted number or truth value as such, and they are SQL, too."""
    sql: Schema = {"type": ["string", "number", "boolean"]}
    bounds = _scalars(keys.LET_LOWER, keys.LET_UPPER)
    bounded = _object({"sql": {"description": keys.LET["sql"], **sql}, **bounds}, required=("sql",))
    return {
        "let": {"type": "object", "description": described["let"], "additionalProperties": {"anyOf": [sql, bounded]}},
        "where": {"description": described["where"], **sql},
    }


def _column() -> Schema:
    number: Schema = {"type": "number"}
    standing: dict[str, list[object]] = {
        "number": [number],
        "category": [{"type": ["string", "integer", "boolean"]}],
        "boolean": [{"type": "boolean"}],
        "date": [{"type": "string"}],
        "time": [{"type": "string"}],
        "text": [],
    }
    shapes: list[object] = [
        {"type": "array", "minItems": 2, "maxItems": 2, "items": number, "description": "[lower, upper]"},
        {"enum": ["boolean", "date", "time", "text", *keys.COLUMN_ALIASES]},
    ]
    typed = dict.fromkeys(("boolean", "date", "time", "text"), ("type",))
    needed: dict[str, tuple[str, ...]] = {"number": ("lower", "upper"), "category": ("levels",), **typed}
    for kind in keys.COLUMN_KINDS:
        properties: dict[str, object] = {}
        for name, doc in keys.COLUMNS[kind].items():
            words = ["drop", "clip"] if name in ("infinite", "outside") else ["drop"]
            properties[name] = {"description": doc, "anyOf": [*standing[kind], {"enum": words}]}
        properties["type"] = {"enum": [kind, *(other for other, same in keys.COLUMN_ALIASES.items() if same == kind)]}
        if kind == "number":
            properties |= {
                "lower": keys.LOWER.json_schema(),
                "upper": keys.UPPER.json_schema(),
                "whole": keys.WHOLE.json_schema(),
            }
        if kind == "category":
            levels: Schema = {"type": "array", "minItems": 1, "uniqueItems": True, "items": standing[kind][0]}
            properties["levels"] = {"description": keys.COLUMNS[kind]["levels"], **levels}
        shapes.append(_object(properties, required=needed[kind]))
    return {"anyOf": shapes}


def _budget(registry: Registry) -> Schema:
    properties = _scalars(keys.EPSILON, keys.DELTA, keys.LEDGER, keys.ACCEPT)
    names = list(registry.accountant_names)
    properties["accountant"] = {"enum": names, "default": "best", "description": keys.BUDGET["accountant"]}
    return _object(properties, required=("epsilon",), doc=keys.ROOT["budget"])


def _engine(registry: Registry) -> Schema:
    return {"description": keys.ROOT["engine"], "default": DEFAULT, "anyOf": _one_of(registry.engines)}


def _one_of(factories: Sequence[Factory[Any]]) -> list[object]:
    """A name where nothing is required, or one name with its parameters. A mechanism's scale is the plan's."""
    plain, shapes = [], []
    for factory in factories:
        declared = [_parameter_free(factory, parameter) for parameter in factory.parameters]
        inner: Schema = _object({one.name: one.json_schema() for one in declared if one is not None})
        needed = [one.name for one in declared if one is not None and one.required]
        inner["required"] = needed
        if not needed:
            plain.append(factory.name)
        allowed = inner if needed else {"anyOf": [inner, {"type": "null"}]}
        shapes.append(_object({factory.name: allowed}, required=(factory.name,)))
    return [{"enum": plain}, *shapes]


def _parameter_free(factory: Factory[Any], parameter: Parameter) -> Parameter | None:
    """A parameter that an analysis gives: any but the scale of a mechanism."""
    return None if isinstance(factory, MechanismFactory) and parameter.name == factory.scale else parameter


def _step(registry: Registry) -> Schema:
    """Which parameters are allowed depends on what is run."""
    names = [factory.name for factory in registry.algorithms]
    properties: Schema = {
        "id": {**keys.STEP_ID.json_schema(), "pattern": f"^{keys.STEP_NAME}$"},
        **_scalars(keys.SHARE),
        "run": {"enum": names, "description": keys.STEP["run"]},
        "by": {"description": keys.STEP["by"], "anyOf": _groups()},
        "with": {"type": ["object", "null"], "description": keys.STEP["with"]},
        **_expressions(keys.STEP),
    }
    rules = [_if_run(factory, registry) for factory in registry.algorithms]
    return {**_object(properties, required=("id", "run")), "allOf": rules}


def _groups() -> list[object]:
    """A column, a mapping, a list of these, or nothing."""
    level: Schema = {"type": ["string", "number", "boolean"]}
    properties: Schema = {
        "column": keys.GROUP_COLUMN.json_schema(),
        "levels": {"type": "array", "minItems": 1, "items": level, "description": keys.GROUP["levels"]},
        "edges": {"type": "array", "items": {"type": ["number", "string"]}, "description": keys.GROUP["edges"]},
        "keys": {"const": "private", "description": keys.GROUP["keys"]},
        "delta": keys.GROUP_DELTA.json_schema(),
    }
    one: list[object] = [{"type": "string", "minLength": 1}, _object(properties, required=("column",))]
    return [*one, {"type": "array", "minItems": 1, "items": {"anyOf": one}}, {"type": "null"}]


def _if_run(factory: Factory[Any], registry: Registry) -> Schema:
    needs = any(parameter.required for parameter in factory.parameters)
    condition: Schema = {"properties": {"run": {"const": factory.name}}, "required": ["run"]}
    allowed = factory.json_schema()
    for parameter in factory.parameters:
        if parameter.kind in REGISTERED:
            known = _one_of(registry.mechanisms if parameter.kind == "mechanism" else registry.queries)
            properties: Any = allowed["properties"]
            properties[parameter.name] = {**parameter.json_schema(), "anyOf": known}
    inner = allowed if needs else {"anyOf": [allowed, {"type": "null"}]}
    return {"if": condition, "then": {"properties": {"with": inner}, **({"required": ["with"]} if needs else {})}}


def _named(factories: tuple[Factory[Any], ...], registry: Registry) -> Schema:
    properties: Schema = {"run": {"enum": [factory.name for factory in factories]}, "with": {"type": "object"}}
    return {**_object(properties, required=("run",)), "allOf": [_if_run(factory, registry) for factory in factories]}
