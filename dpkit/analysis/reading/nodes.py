"""Reading a node against declarations, going on after every mistake, so that all of them are reported at once."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpkit.analysis.reading.read_yaml import Entries, Items, Node, Place, Scalar, plain
from dpkit.contracts.factories import Factory, MechanismFactory
from dpkit.contracts.parameters import BY_NAME, LISTS, Choice, Parameter, without_effect
from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError, InvalidValueError, Problem, UnknownNameError


class NodeReader:
    """Collects problems; `None` stands for whatever could not be read, and later readers skip it."""

    def __init__(self, file: str, *, folder: Path | None = None) -> None:
        self._file = os.path.basename(file) if os.path.isabs(file) else file
        self.problems: list[Problem] = []
        self._folder = folder
        self.registry: Registry | None = None
        """What names of mechanisms and queries are looked up in, once it is known which plugins may run."""

    def problem(self, at: Node | Place, path: str, found: str, allowed: str = "", hint: str = "") -> None:
        """One more problem."""
        place = at if isinstance(at, Place) else at.place
        self.problems.append(
            Problem(file=self._file, line=place.line, column=place.column, path=path, found=found, allowed=allowed, hint=hint)
        )

    def mapping(self, node: Node, path: str, allowed: str = "a mapping") -> Entries | None:
        """The node as a mapping."""
        if isinstance(node, Entries):
            return node
        self.problem(node, path, f"found {described(node)}", allowed)
        return None

    def keys(
        self,
        node: Entries,
        path: str,
        known: Iterable[str],
        required: Iterable[str] = (),
        former: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse unknown keys with what stands for them now, or the nearest right one, and name those that are missing."""
        names, hints = tuple(known), set()
        for key in node.entries:
            if key not in names:
                allowed = ", ".join(names) or "no key here"
                hint = (former or {}).get(key) or nearest(key, names)
                hints.add(hint)
                self.problem(node.keys[key], joined(path, key), f"unknown key {key!r}", allowed, hint)
        for key in required:
            if key not in node.entries and offered(key) not in hints:  # a mistyped key is one mistake
                self.problem(node, joined(path, key), f"the key {key!r} is missing")

    def value(self, node: Entries | None, path: str, parameter: Parameter) -> object:
        """The checked value of a declared key: its default when it is not there, None when it is wrong or missing."""
        found = None if node is None else node.entries.get(parameter.name)
        if found is None:
            return None if parameter.required else parameter.default
        return self.checked(found, joined(path, parameter.name), parameter)

    def checked(self, node: Node, path: str, parameter: Parameter) -> object:
        """The node's value as a parameter allows it: a path relative to the file, a name of something that is registered."""
        try:
            value = parameter.check(plain(node), where=path)
            if isinstance(value, Choice):
                return self._chosen(value, node, path, parameter)
            if self._folder is not None and parameter.kind == "path" and isinstance(value, str):
                return str(self._folder / value)
            if self._folder is not None and parameter.kind == "paths" and isinstance(value, tuple):
                return tuple(str(self._folder / item) for item in value)
            return value
        except InvalidValueError:
            hint = nearest(plain(node), parameter.choices) if parameter.choices else _hint(node, parameter)
            if isinstance(node, Entries) and (name := _wrong_name(node, parameter)) is not None:
                wrong = node.entries[name]
                self.problem(wrong, joined(path, name), f"found {described(wrong)}", parameter.allowed)
                return None
            self.problem(_worst(node, parameter), path, f"found {described(node)}", parameter.allowed, hint)
            return None

    def _chosen(self, choice: Choice, node: Node, path: str, parameter: Parameter) -> Choice | None:
        """The choice with its parameters checked one by one, each mistake at its own line."""
        if self.registry is None:
            return choice
        known: tuple[Factory[Any], ...] = self.registry.mechanisms if parameter.kind == "mechanism" else self.registry.queries
        given = node.entries[choice.name] if isinstance(node, Entries) else None
        at = node.keys[choice.name] if isinstance(node, Entries) else node.place
        by_name = {factory.name: factory for factory in known}
        if choice.name not in by_name:
            found, allowed = f"there is no {parameter.kind} named {choice.name!r}", ", ".join(by_name) or "none is installed"
            self.problem(at, path, found, allowed, nearest(choice.name, by_name))
            return None
        factory, inside = by_name[choice.name], joined(path, choice.name)
        inner = None if given is None or plain(given) is None else self.mapping(given, inside)
        if isinstance(factory, MechanismFactory) and inner is not None and factory.scale in inner.entries:
            found = f"found {described(inner.entries[factory.scale])}"
            allowed = f"no {factory.scale!r} here: the plan chooses it, so that the budget is kept"
            self.problem(inner.keys[factory.scale], joined(inside, factory.scale), found, allowed)
            return None
        # what a mechanism still needs is asked once it is known to suit the query
        needs_all = not isinstance(factory, MechanismFactory)
        values = parameters(self, inner, inside, factory, node, complete=needs_all)
        return None if values is None else Choice(name=choice.name, given=tuple(values.items()), among=known)

    def refusal(self, error: DpkitError, node: Node, path: str) -> None:
        """A thing refused its parameters: say so at the parameter, or at the value, that the error names."""
        if isinstance(error, UnknownNameError):
            found = find_value(node, error.name) or node
            hint = nearest(error.name, error.known)
            self.problem(found, path, f"there is no {error.kind} named {error.name!r}", ", ".join(error.known) or "none", hint)
        elif isinstance(error, InvalidValueError):
            place: Node | Place = node
            if isinstance(node, Entries) and error.field in node.entries:
                place = node.entries[error.field]
            # a parameter that was left out is named all the same
            named = joined(path, error.field) if isinstance(node, Entries) and error.field.isidentifier() else path
            shown = "nothing" if error.found is None else repr(error.found)
            self.problem(place, named, f"found {shown}", error.allowed, error.fix)
        else:
            self.problem(node, path, str(error))


def parameters(
    reading: NodeReader, node: Entries | None, path: str, owner: Factory[Any], at: Node, *, complete: bool = True
) -> Mapping[str, object] | None:
    """Values of the parameters that a factory declares; None when one is wrong, or missing where all must be there."""
    known = owner.parameters
    before = len(reading.problems)
    given = Entries(entries={}, keys={}, place=at.place) if node is None else node
    chosen_by_plan = owner.scale if isinstance(owner, MechanismFactory) else None
    names = [parameter.name for parameter in known if parameter.name != chosen_by_plan]
    reading.keys(given, path, names, former=owner.former)
    values: dict[str, object] = {}
    for parameter in known:
        found = given.entries.get(parameter.name)
        if found is not None:
            values[parameter.name] = reading.checked(found, joined(path, parameter.name), parameter)
        elif isinstance(parameter.default, Choice) and reading.registry is not None:
            among = reading.registry.mechanisms if parameter.kind == "mechanism" else reading.registry.queries
            values[parameter.name] = replace(parameter.default, among=among)  # what the analysis may use
        elif parameter.required and complete:
            where = joined(path, parameter.name)
            reading.problem(given, where, f"{owner.name} needs {parameter.name!r}", parameter.allowed, parameter.doc)
    if len(reading.problems) == before:
        for idle in without_effect(known, {name: value for name, value in values.items() if name in given.entries}):
            found, effect = given.entries[idle.name], f"it has an effect {idle.condition}"
            reading.problem(given.keys[idle.name], joined(path, idle.name), f"found {described(found)}", f"left out: {effect}")
    return values if len(reading.problems) == before else None


def nearest(name: object, known: Iterable[str]) -> str:
    """An offer of the nearest right name, if one is near."""
    options = {option.casefold(): option for option in known}
    near = difflib.get_close_matches(str(name).casefold(), options, n=1)
    return offered(options[near[0]]) if near else ""


def offered(name: str) -> str:
    """The offer of a name."""
    return f"Did you mean {name!r}?"


def described(node: Node) -> str:
    """What stands there, in few words."""
    if isinstance(node, Scalar):
        if node.value is None:
            return "nothing"
        text = repr(node.value)
        shown = text if len(text) <= 60 else text[:57] + "..."
        return f"the text {shown}" if isinstance(node.value, str) else {"True": "true", "False": "false"}.get(shown, shown)
    if isinstance(node, Items):
        return f"a list of {len(node.items)}"
    return "a mapping"


def joined(path: str, key: str) -> str:
    """The path of a key."""
    return f"{path}.{key}" if path else key


def find_value(node: Node, value: object) -> Node | None:
    """Where a value stands within a node."""
    if isinstance(node, Scalar):
        return node if node.value == value else None
    inner = node.items if isinstance(node, Items) else tuple(node.entries.values())
    return next((found for item in inner if (found := find_value(item, value)) is not None), None)


def _worst(node: Node, parameter: Parameter) -> Node:
    """The entry of a list that is wrong, or the node."""
    if isinstance(node, Items) and parameter.kind in LISTS:
        for item in node.items:
            try:
                parameter.check([plain(item)], where="")
            except InvalidValueError:
                return item
    return node


def _wrong_name(node: Entries, parameter: Parameter) -> str | None:
    """The first name of a mapping from names to numbers, or to lists of them, whose entry is wrong."""
    for name, inner in node.entries.items() if parameter.kind in BY_NAME else ():
        try:
            parameter.check({name: plain(inner)}, where="")
        except InvalidValueError:
            return name
    return None


def _hint(node: Node, parameter: Parameter) -> str:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        if isinstance(node, Scalar) and parameter.kind in ("text", "texts") and node.value is not None:
            return "Put it in quotes to make it a text."
        return ""
    if parameter.kind == "boolean" and node.value.casefold() in ("yes", "no", "on", "off", "y", "n"):
        return f"Write {'true' if node.value.casefold() in ('yes', 'on', 'y') else 'false'}."
    if node.quoted and parameter.kind in ("number", "integer"):
        return "Leave out the quotes."
    return "Write a list: [a, b]." if parameter.kind in LISTS else ""
