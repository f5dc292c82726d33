"""`dpkit.load`: an analysis from its YAML file, with every mistake in it reported at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpkit.analysis.outputs import objection, outputs_of
from dpkit.analysis.reading import keys
from dpkit.analysis.reading.nodes import NodeReader, described, joined, nearest, parameters
from dpkit.analysis.reading.read_yaml import Entries, Items, Node, Scalar, plain, read_yaml, without_end
from dpkit.analysis.reading.spec import BudgetSpec, DataSpec, EngineSpec, Spec, StepSpec
from dpkit.contracts.registry import Registry
from dpkit.data.columns.kinds import Boolean, Category, Column, Number
from dpkit.data.columns.schema import ROW, PrivacyUnit, Schema
from dpkit.data.setting import DeclaredSetting
from dpkit.data.summing.block_engine import DEFAULT
from dpkit.errors import DpkitError, InvalidValueError, PluginError, SpecError
from dpkit.hooks.catalogue import CATALOGUE
from dpkit.hooks.manager import Installed, installed_plugins, load_plugins
from dpkit.hooks.specs import PROJECT
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.ledger.terms import fingerprint


def load(path: str | os.PathLike[str], *, installed: Installed | None = None, outside: bool = False) -> Spec:
    """The analysis of a YAML file, checked against what is installed (or against `installed`). Reads no data.

    `SpecError` lists every problem with its file, line and column, what was found, what is allowed and the nearest right name.
    Results go into the folder of the file, or below it; `outside` allows any other place.
    """
    file, folder = Path(path), Path(path).absolute().parent
    root = read_yaml(file)
    reading = NodeReader(str(path), folder=folder)
    spec = _spec(reading, root, file, installed, outside=outside)
    if spec is not None:
        _check_report(reading, root, spec)
    if spec is None or reading.problems:
        raise SpecError(problems=sorted(reading.problems, key=lambda problem: (problem.line, problem.column)))
    return spec


def _spec(reading: NodeReader, root: Node, file: Path, installed: Installed | None, *, outside: bool) -> Spec | None:
    top = reading.mapping(root, "", "a mapping that begins with `dpkit: 1`")
    if top is None:
        return None
    version = top.entries.get("dpkit")
    if version is not None and (plain(version) != keys.VERSION or isinstance(plain(version), bool)):
        # refused before anything else is judged: keys of another version may mean something else
        hint = "A newer dpkit may read it." if isinstance(plain(version), int | float) else ""
        reading.problem(version, "dpkit", f"found version {described(version)}", str(keys.VERSION), hint)
        return None
    reading.keys(top, "", keys.ROOT, required=("dpkit", "data", "budget", "steps"))
    found = _plugins(reading, top, installed)
    folder = file.absolute().parent
    registry = reading.registry = None if found is None else found.registry
    data = _data(reading, top.entries["data"], registry, folder) if "data" in top.entries else None
    budget = _budget(reading, top.entries["budget"], registry, folder) if "budget" in top.entries else None
    engine: EngineSpec | None = DEFAULT_ENGINE
    if "engine" in top.entries:
        engine = None if registry is None else _engine(reading, top.entries["engine"], registry)
    steps = None
    if "steps" in top.entries and found is not None:
        setting = None if data is None else data.setting
        steps = _steps(reading, top.entries["steps"], found, setting, listed="plugins" in top.entries)
    report = reading.value(top, "", keys.REPORT)
    if reading.problems or found is None or data is None or budget is None or engine is None or steps is None:
        return None
    for place, value in without_end(top):
        reading.problem(place, "", f"found {value!r}", "a finite number, or a text in quotes")
    if reading.problems:
        return None
    document = {key: plain(value) for key, value in top.entries.items()}
    return Spec(
        path=file,
        data=data,
        budget=budget,
        engine=engine,
        steps=steps,
        report=folder / str(report),
        fingerprint=fingerprint({key: value for key, value in document.items() if key not in ("report", "engine")}),
        document=document,
        outside=outside,
        installed=found,
    )


def _check_report(reading: NodeReader, root: Node, spec: Spec) -> None:
    """Results must not replace what the analysis reads, nor what dpkit did not write, nor leave its folder."""
    place = root.entries.get("report", root) if isinstance(root, Entries) else root
    allowed = "a file in the folder of the analysis, or below it, that is not there or that dpkit wrote"
    outputs, folder = outputs_of(spec.report), spec.path.absolute().parent.resolve()
    for kind, path in outputs.items():
        if not spec.outside and not path.resolve().is_relative_to(folder):  # wherever links lead
            found = f"{str(path)!r} is outside of the folder of the analysis"
            reading.problem(place, "report", found, allowed, "`--outside`, or load(..., outside=True), allows it.")
            return
        reason = objection(spec, path, kind)
        if reason is not None:
            reading.problem(place, "report", f"cannot write {str(path)!r}: {reason}", allowed)
    if spec.report in (outputs["result"], outputs["trace"]):
        reading.problem(place, "report", f"{spec.report.name!r} is written beside the report", "another name for the report")


def _plugins(reading: NodeReader, top: Entries, installed: Installed | None) -> Installed | None:
    """What may run: with an allow-list, no other plugin is imported."""
    names = reading.value(top, "", keys.PLUGINS)
    if not isinstance(names, tuple):
        if "plugins" in top.entries and plain(top.entries["plugins"]) is not None:
            return None
        return installed_plugins() if installed is None else installed
    node = top.entries["plugins"]
    try:
        found = load_plugins(only=names) if installed is None else installed
    except PluginError as error:
        reading.problem(
            node, "plugins", f"the plugin {error.plugin!r} is not installed", "", f"pip install dpkit-{error.plugin}"
        )
        return None
    known = {plugin.name: plugin for plugin in found.plugins}
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"pip install dpkit-{name}"
            reading.problem(node, "plugins", f"the plugin {name!r} is not installed", ", ".join(known), hint)
        elif not known[name].healthy:
            reading.problem(node, "plugins", f"the plugin {name!r} was left out: {' '.join(known[name].problems)}")
    if not all(name in known and known[name].healthy for name in names):
        return None  # steps of a plugin that is not there are not judged a second time
    return found if installed is None else _restricted(found, names)


def _restricted(installed: Installed, names: tuple[str, ...]) -> Installed:
    """What was given, less what plugins that are not on the allow-list add."""
    plugins = tuple(plugin for plugin in installed.plugins if plugin.name in (*names, PROJECT))
    added = {(kind, name) for plugin in plugins for kind, items in plugin.adds.items() for name in items}
    kept: dict[str, Any] = {
        contribution.field: tuple(
            item for item in getattr(installed.registry, contribution.field) if (contribution.field, item.name) in added
        )
        for contribution in CATALOGUE
    }
    # `best` is made of dpkit's own accountants, and no plugin adds it
    kept["accountants"] += tuple(one for one in installed.registry.accountants if one.name == "best")
    registry = replace(installed.registry, **kept)
    return Installed(plugins=plugins, registry=registry)


def _data(reading: NodeReader, node: Node, registry: Registry | None, folder: Path) -> DataSpec | None:
    data = reading.mapping(node, "data")
    if data is None:
        return None
    reading.keys(data, "data", keys.DATA, required=("source", "columns"))
    source = _source(reading, data.entries["source"], registry, folder) if "source" in data.entries else None
    schema = _schema(reading, data.entries["columns"], "data.columns") if "columns" in data.entries else None
    unit = _unit(reading, data.entries["unit"]) if "unit" in data.entries else ROW
    relation = reading.value(data, "data", keys.RELATION)
    rows = reading.value(data, "data", keys.ROWS)
    name = reading.value(data, "data", keys.NAME)
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
        rows=rows if isinstance(rows, int) else None,
    )


_COLUMN = "[lower, upper], `boolean`, or a mapping with `lower` and `upper`, with `levels`, or with `type: boolean`"
_POLICIES = {
    "number": ("missing", "nan", "text", "infinite", "outside"),
    "category": ("missing", "unknown"),
    "boolean": ("missing", "unknown"),
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
    if isinstance(node, Scalar) and node.value == "boolean":
        return Boolean(name=name)
    kind: object = None
    if isinstance(node, Items) and len(node.items) == 2:
        ends = dict(zip(("lower", "upper"), node.items, strict=True))
        node, kind = Entries(entries=ends, keys=dict.fromkeys(ends, node.place), place=node.place), "number"
    elif isinstance(node, Entries):
        if "type" in node.entries:
            kind = plain(node.entries["type"])
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
    make: Callable[..., Column] = Boolean
    if kind == "number":
        make = Number
        for end in ("lower", "upper"):
            if end not in node.entries:
                hint = "Bounds are public knowledge about what values can be; they are never read from the data."
                reading.problem(node, joined(path, end), f"a number needs its {end!r} bound", "a finite number", hint)
        declared |= {key.name: reading.value(node, path, key) for key in (keys.LOWER, keys.UPPER, keys.WHOLE)}
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


def _budget(reading: NodeReader, node: Node, registry: Registry | None, folder: Path) -> BudgetSpec | None:
    budget = reading.mapping(node, "budget")
    if budget is None:
        return None
    reading.keys(budget, "budget", keys.BUDGET, required=("epsilon",))
    epsilon = reading.value(budget, "budget", keys.EPSILON)
    delta = reading.value(budget, "budget", keys.DELTA)
    ledger = reading.value(budget, "budget", keys.LEDGER)
    accept = reading.value(budget, "budget", keys.ACCEPT)
    accountant = plain(budget.entries["accountant"]) if "accountant" in budget.entries else "best"
    if registry is not None:
        if accountant not in registry.accountant_names:
            allowed, hint = ", ".join(registry.accountant_names), nearest(accountant, registry.accountant_names)
            found = f"there is no accountant named {accountant!r}"
            reading.problem(budget.entries["accountant"], "budget.accountant", found, allowed, hint)
        rules = [rule.name for rule in registry.rules]
        for name in accept if isinstance(accept, tuple) else ():
            if name not in rules:
                at = budget.entries["accept"]
                reading.problem(at, "budget.accept", f"there is no loss rule named {name!r}", "", nearest(name, rules))
    if not isinstance(epsilon, float) or not isinstance(delta, float) or not isinstance(accept, tuple):
        return None
    path = folder / ledger if isinstance(ledger, str) else None
    return BudgetSpec(epsilon=epsilon, delta=delta, accountant=str(accountant), ledger=path, accept=accept)


DEFAULT_ENGINE = EngineSpec(name=DEFAULT, parameters={})

_ALLOWED_ENGINE = "the name of an engine, or a mapping from one name to its parameters"


def _engine(reading: NodeReader, node: Node, registry: Registry) -> EngineSpec | None:
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


def _steps(
    reading: NodeReader, node: Node, installed: Installed, setting: DeclaredSetting | None, *, listed: bool
) -> tuple[StepSpec, ...] | None:
    if not isinstance(node, Items) or not node.items:
        reading.problem(node, "steps", f"found {described(node)}", "a list of at least one step")
        return None
    steps: list[StepSpec | None] = []
    seen: dict[str, int] = {}
    for number, item in enumerate(node.items):
        path = f"steps[{number}]"
        step = reading.mapping(item, path, "a mapping with `id` and `run`")
        if step is None:
            continue
        reading.keys(step, path, keys.STEP, required=("id", "run"))
        name = reading.value(step, path, keys.STEP_ID)
        if isinstance(name, str):
            if not re.fullmatch(keys.STEP_NAME, name):
                allowed = "letters, digits, dots, dashes and underscores, a letter or digit first"
                reading.problem(step.entries["id"], joined(path, "id"), f"found {described(step.entries['id'])}", allowed)
            if name in seen:
                found = f"the id {name!r} is that of steps[{seen[name]}]"
                reading.problem(step.entries["id"], joined(path, "id"), found, "ids that differ")
            seen.setdefault(name, number)
        steps.append(_step(reading, step, path, name, installed, setting, listed=listed))
    good = [step for step in steps if step is not None]
    return tuple(good) if len(good) == len(node.items) else None


def _step(
    reading: NodeReader,
    node: Entries,
    path: str,
    name: object,
    installed: Installed,
    setting: DeclaredSetting | None,
    *,
    listed: bool,
) -> StepSpec | None:
    share = reading.value(node, path, keys.SHARE)
    run = reading.value(node, path, keys.RUN)
    if not isinstance(run, str):
        return None
    known = {factory.name: factory for factory in installed.registry.algorithms}
    if run not in known:
        brings = keys.KNOWN_PLUGINS.get(run)
        hint = f"Install the plugin that brings it: pip install {brings}" if brings else nearest(run, known)
        if listed and run in {factory.name for factory in installed_plugins().registry.algorithms}:
            hint = "It is installed, and `plugins` does not list the plugin that brings it."
        found = f"there is no algorithm named {run!r}"
        reading.problem(node.entries["run"], joined(path, "run"), found, ", ".join(known) or "none is installed", hint)
        return None
    given = node.entries.get("with")
    inner = None if given is None or plain(given) is None else reading.mapping(given, joined(path, "with"))
    values = parameters(reading, inner, joined(path, "with"), known[run], node)
    if values is None or setting is None or not isinstance(name, str) or not isinstance(share, float):
        return None
    try:
        algorithm = known[run].prepare(setting, **values)
    except DpkitError as error:
        reading.refusal(error, inner or node, joined(path, "with"))
        return None
    return StepSpec(id=name, run=run, share=share, parameters=values, algorithm=algorithm)
