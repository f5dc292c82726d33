"""`dpkit.load`: an analysis from its YAML file, with every mistake in it reported at once."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from dpkit.analysis.outputs import objection, outputs_of
from dpkit.analysis.reading import keys
from dpkit.analysis.reading.expressions import with_expressions
from dpkit.analysis.reading.nodes import NodeReader, described, joined, nearest, parameters
from dpkit.analysis.reading.read_data_block import read_data_block
from dpkit.analysis.reading.read_yaml import Entries, Items, Node, Scalar, plain, read_yaml, without_end
from dpkit.analysis.reading.spec import BudgetSpec, DataSpec, EngineSpec, Spec, StepSpec
from dpkit.contracts.factories import AlgorithmFactory
from dpkit.contracts.groups import ALLOWED as ALLOWED_GROUPS
from dpkit.contracts.groups import read_groups, text_twin
from dpkit.contracts.ledger_store import LedgerAddress
from dpkit.contracts.registry import Registry
from dpkit.data.columns.kinds import Text
from dpkit.data.setting import DeclaredSetting
from dpkit.data.summing.block_engine import DEFAULT
from dpkit.errors import DpkitError, PluginError, SpecError
from dpkit.hooks.catalogue import CATALOGUE
from dpkit.hooks.manager import Installed, installed_plugins, load_plugins
from dpkit.hooks.specs import PROJECT
from dpkit.numerics.rounding import in_full
from dpkit.release.ledger.budget_terms import fingerprint
from dpkit.release.ledger.ledger_address import has_password, ledger_place


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
    data = read_data_block(reading, top.entries["data"], registry, folder) if "data" in top.entries else None
    data = None if data is None else _with_text_twins(data, top.entries.get("steps"))
    budget = _budget(reading, top.entries["budget"], registry, folder) if "budget" in top.entries else None
    engine: EngineSpec | None = DEFAULT_ENGINE
    if "engine" in top.entries:
        engine = None if registry is None else _engine(reading, top.entries["engine"], registry)
    steps = None
    if "steps" in top.entries and found is not None:
        setting = None if data is None else data.setting
        deltas = None if budget is None else _delta_of_keys(top.entries["steps"], budget, data)
        steps = _steps(reading, top.entries["steps"], found, setting, listed="plugins" in top.entries, deltas=deltas)
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
        report=folder / str(report or f"{file.stem}-report.html"),
        fingerprint=fingerprint(_what_matters(document, data)),
        document=document,
        outside=outside,
        installed=found,
    )


def _what_matters(document: Mapping[str, object], data: DataSpec) -> dict[str, object]:
    """What an analysis is: what is written, and what stands in the public tables that it joins. What stands in for the data
    tells nothing of what is asked of them.
    """
    found = {key: value for key, value in document.items() if key not in ("report", "engine")}
    if data.like is not None and isinstance(written := found["data"], Mapping):
        found["data"] = {key: value for key, value in written.items() if key != "like"}
    tables = [column.sql for column in data.schema.let if column.joined]
    return {**found, "joined": tables} if tables else found


def _check_report(reading: NodeReader, root: Node, spec: Spec) -> None:
    """Results must not replace what the analysis reads, nor what dpkit did not write, nor leave its folder."""
    place = root.entries.get("report", root) if isinstance(root, Entries) else root
    allowed = "a file in the folder of the analysis, or below it, that is not there or that dpkit wrote"
    outputs, folder = outputs_of(spec), spec.path.absolute().parent.resolve()
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
    place = None
    if isinstance(ledger, str):
        try:
            place = ledger_place(ledger, folder)
            if LedgerAddress.is_in(ledger) and has_password(LedgerAddress(ledger)):
                found = "an address with a password, which everybody who sees this file would know"
                allowed = "an address without one (it belongs into ~/.pgpass), or a name of your list of ledgers"
                reading.problem(budget.entries["ledger"], "budget.ledger", found, allowed)
        except DpkitError as error:
            reading.problem(budget.entries["ledger"], "budget.ledger", str(error))
            return None
    return BudgetSpec(epsilon=epsilon, delta=delta, accountant=str(accountant), ledger=place, accept=accept)


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
    reading: NodeReader,
    node: Node,
    installed: Installed,
    setting: DeclaredSetting | None,
    *,
    listed: bool,
    deltas: KeyDeltas | None,
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
        steps.append(_step(reading, step, path, name, installed, setting, listed=listed, deltas=deltas))
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
    deltas: KeyDeltas | None,
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
    if setting is not None and {"let", "where"} & node.entries.keys():
        schema = with_expressions(reading, node, path, setting.schema)
        setting = None if schema is None else replace(setting, schema=schema)
    given = node.entries.get("with")
    inner = None if given is None or plain(given) is None else reading.mapping(given, joined(path, "with"))
    values = parameters(reading, inner, joined(path, "with"), known[run], node)
    by = _groups(reading, node, path, known[run], setting, deltas)
    if values is None or by is None or setting is None or not isinstance(name, str) or not isinstance(share, float):
        return None
    values = {**values, **by}
    try:
        algorithm = known[run].prepare(setting, **values)
    except DpkitError as error:
        reading.refusal(error, inner or node, joined(path, "with"))
        return None
    return StepSpec(id=name, run=run, share=share, parameters=values, setting=setting, algorithm=algorithm)


def _groups(
    reading: NodeReader,
    node: Entries,
    path: str,
    factory: AlgorithmFactory,
    setting: DeclaredSetting | None,
    deltas: KeyDeltas | None,
) -> Mapping[str, object] | None:
    """What a step says under `by`, if anything; None where it is wrong. Each entry is tried by itself, so that all are told."""
    given = node.entries.get("by")
    if given is None or plain(given) is None:
        return {}
    path = joined(path, "by")
    if not factory.takes_groups:
        reading.problem(node.keys["by"], path, f"{factory.name} has no groups", "left out")
        return None
    before = len(reading.problems)
    entries = given.items if isinstance(given, Items) else (given,)
    if not entries:
        reading.problem(given, path, "found an empty list", ALLOWED_GROUPS)
    listed = []
    for entry in entries:
        written = plain(entry)
        if isinstance(entry, Entries):
            reading.keys(entry, path, keys.GROUP, required=("column",))
            if isinstance(written, dict) and "keys" in written:
                known = deltas or _ANY_DELTAS
                written["noise"] = "geometric" if known.alone else "gaussian"
                if written.get("delta") is None:
                    written["delta"] = known.each
                elif known.budget and known.asked >= known.budget and not (known.alone and known.asked == known.budget):
                    found = f"the deltas of keys add up to {in_full(known.asked)}, and the budget has {in_full(known.budget)}"
                    reading.problem(entry, joined(path, "delta"), found, "less than `budget.delta`, all together")
                if not written["delta"]:
                    hint = "Keys that nobody declared need one: with `delta: 0` every key would have to come out, or none."
                    reading.problem(entry, joined(path, "keys"), "the budget has no delta", "a budget with a `delta`", hint)
        listed.append(written)
        if setting is not None and len(reading.problems) == before:
            try:
                read_groups(setting, written)
            except DpkitError as error:
                reading.refusal(error, entry, path)
    if setting is None or len(reading.problems) > before:
        return None
    try:
        read_groups(setting, listed)
    except DpkitError as error:
        reading.refusal(error, given, path)
        return None
    return {"by": listed}


def _private_keys(steps: Node | None) -> list[tuple[Entries, str, object]]:
    """The steps that look for keys that nobody declared, each with the column and the delta that it says."""
    found = []
    for step in steps.items if isinstance(steps, Items) else ():
        by = step.entries.get("by") if isinstance(step, Entries) else None
        for entry in by.items if isinstance(by, Items) else (by,):
            written = plain(entry) if isinstance(entry, Entries) else None
            if isinstance(step, Entries) and isinstance(written, dict) and "keys" in written:
                found.append((step, str(written.get("column")), written.get("delta")))
    return found


def _with_text_twins(data: DataSpec, steps: Node | None) -> DataSpec:
    """With columns read as texts, beside what they are declared as, where a step looks for keys in them."""
    declared = {column.name: column for column in data.schema.columns}
    wanted = [name for _, name, _ in _private_keys(steps) if name in declared and not isinstance(declared[name], Text)]
    twins = tuple(Text(name=text_twin(name), cell=name) for name in dict.fromkeys(wanted) if text_twin(name) not in declared)
    return replace(data, schema=replace(data.schema, columns=(*data.schema.columns, *twins))) if twins else data


class KeyDeltas(NamedTuple):
    """The delta of each step that looks for keys and says none; whether nothing else is asked; what steps ask for, together;
    and that of the budget.
    """

    each: float
    alone: bool
    asked: float
    budget: float


_ANY_DELTAS = KeyDeltas(each=1e-9, alone=False, asked=0.0, budget=math.inf)
"""Stand for those of a budget that cannot be read, of which that is said already."""


def _delta_of_keys(steps: Node, budget: BudgetSpec, data: DataSpec | None) -> KeyDeltas:
    """Together half of the budget's; all of it where nothing else needs any: steps count keys, one a person."""
    private = _private_keys(steps)
    every = steps.items if isinstance(steps, Items) else ()
    runs = [step.entries.get("run") for step, _, _ in private]
    counts = [run for run in runs if isinstance(run, Scalar) and run.value == "count"]
    alone = data is not None and data.unit.at_most == 1 and len(counts) == len(every)
    each = budget.delta * (0.999 if alone else 0.5) / max(1, len(private))
    given = [delta for _, _, delta in private if isinstance(delta, int | float) and not isinstance(delta, bool)]
    return KeyDeltas(each=each, alone=alone, asked=math.fsum(given), budget=budget.delta)
