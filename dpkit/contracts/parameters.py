"""Parameters, declared once: the declaration checks values and feeds YAML, the JSON Schema, `--help`, docs and test data.

A choice is the name of something that is registered, with parameters for it. Parameters taken together are complete, known by
name, and each has an effect beside the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import Any, Literal, get_args

from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.numerics.rounding import in_full
from dpkit.privacy.checks import finite_number, nonempty_text, one_of, whole_number
from dpkit.values import dataclass

Kind = Literal[
    "number", "integer", "boolean", "text", "choice", "numbers", "texts",
    "number_by_name", "numbers_by_name", "path", "paths", "mechanism", "query",
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)
"""`choice` is one of a few words; `numbers`, `texts` and `paths` are lists; `number_by_name` maps names to numbers, and
`numbers_by_name` to lists of them. A relative `path` in an analysis is relative to its file. `mechanism` and `query` are names
of what is registered, `NAME` or `{NAME: {parameters}}`, and arrive as a `Choice`."""
LISTS = ("numbers", "texts", "paths")
REGISTERED = ("mechanism", "query")
BY_NAME = ("number_by_name", "numbers_by_name")

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")


class _Mark:
    """A value that no analysis can give."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        return self.word


REQUIRED = _Mark("required")
"""The default of a parameter that has none."""

GIVEN = _Mark("given")
"""In `only_with`: any value, as long as there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a factory: its name, kind, range, unit and what it means.

    `minimum` and `maximum` bound a number (in a list, each entry); with `exclusive` the minimum itself is not allowed.
    `examples` are values that tests try first. `about_values`: it states a fact about the values that a mechanism is given;
    nothing checks it, so an analysis cannot give it, and the default stands.

    `only_with` names the parameters that decide whether this one has an effect, with the value, or the values in a tuple, under
    which it has: `{"noise": "wishart"}`. `GIVEN` stands for any value, None for a parameter that is left out. Where it has no
    effect it is refused if it is given, even at its default.
    """

    name: str
    kind: Kind
    doc: str
    minimum: float = -math.inf
    maximum: float = math.inf
    exclusive: bool = False
    unit: str = ""
    choices: tuple[str, ...] = ()
    default: object = REQUIRED
    examples: tuple[object, ...] = ()
    about_values: bool = False
    only_with: Mapping[str, object] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        where = f"Parameter({self.name})"
        if not isinstance(self.name, str) or not _PLAIN_NAME.fullmatch(self.name):
            allowed = "lower-case letters, digits and _, a letter first"
            raise InvalidValueError(field="name", found=self.name, allowed=allowed, where="Parameter")
        one_of(self.kind, KINDS, field="kind", where=where)
        nonempty_text(self.doc, field="doc", where=where)
        for listed in ("choices", "examples"):
            object.__setattr__(self, listed, tuple(getattr(self, listed)))
        self._check_condition(where)
        if (self.kind == "choice") != bool(self.choices):
            raise InvalidValueError(
                field="choices", found=self.choices, allowed="words, for the kind 'choice' only", where=where
            )
        for end in ("minimum", "maximum"):
            limit = getattr(self, end)
            if isinstance(limit, bool) or not isinstance(limit, int | float):
                raise InvalidValueError(field=end, found=limit, allowed="a number, or infinity", where=where)
        if not self.minimum <= self.maximum:
            raise InvalidValueError(
                field="minimum", found=self.minimum, allowed=f"at most {in_full(self.maximum)}", where=where
            )
        if not self.required:
            object.__setattr__(self, "default", self.check(self.default, where=where))
        object.__setattr__(self, "examples", tuple(self.check(example, where=where) for example in self.examples))
        if self.about_values and self.required:
            allowed = "a default that holds for all values, beside `about_values`"
            raise InvalidValueError(field="default", found="nothing", allowed=allowed, where=where)

    def _check_condition(self, where: str) -> None:
        if not isinstance(self.only_with, Mapping):
            allowed = 'a mapping from names of parameters to values, such as {"noise": "wishart"}'
            raise InvalidValueError(field="only_with", found=self.only_with, allowed=allowed, where=where)
        if self.only_with and (self.required or self.name in self.only_with):
            raise InvalidValueError(
                field="only_with", found=dict(self.only_with), allowed="other parameters, where there is a default", where=where
            )
        together = {name: values if isinstance(values, tuple) else (values,) for name, values in self.only_with.items()}
        object.__setattr__(self, "only_with", together)

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED

    @property
    def plain_default(self) -> object:
        """The default as YAML and JSON write it."""
        if isinstance(self.default, Choice):
            return {self.default.name: self.default.parameters} if self.default.given else self.default.name
        return list(self.default) if isinstance(self.default, tuple) else self.default

    @property
    def condition(self) -> str:
        """When this parameter has an effect, in words; empty where it always has."""
        told = [_condition_in_words(name, allowed) for name, allowed in self.conditions]
        return f"only {' and '.join(told)}" if told else ""

    @property
    def meaning(self) -> str:
        """What it is, with its unit and when it has an effect."""
        unit = f" ({self.unit})" if self.unit else ""
        return self.doc + unit + (f" {self.condition.capitalize()}." if self.condition else "")

    @property
    def conditions(self) -> tuple[tuple[str, tuple[object, ...]], ...]:
        """`only_with`: each deciding parameter, with the values under which this one has an effect."""
        return tuple((name, values) for name, values in self.only_with.items() if isinstance(values, tuple))

    def check(self, value: object, *, where: str) -> object:
        """The value, normalised, or an error that says what is allowed."""
        if self.default is None and value is None:
            return None
        if self.kind in BY_NAME and isinstance(value, Mapping):
            for name in value:
                if not isinstance(name, str) or not name.strip():
                    raise InvalidValueError(field=self.name, found=name, allowed=self.allowed, where=where)
            if self.kind == "number_by_name":
                return {name: self._one(number, where) for name, number in value.items()}
            return {name: tuple(self._one(item, where) for item in self._items(inner, where)) for name, inner in value.items()}
        if self.kind in LISTS:
            return tuple(self._one(item, where) for item in self._items(value, where))
        return self._one(value, where)

    def _items(self, value: object, where: str) -> Sequence[object]:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise InvalidValueError(field=self.name, found=value, allowed=self.allowed, where=where)
        return value

    def _one(self, value: object, where: str) -> object:
        """A value, or an entry of a list."""
        if self.kind in ("number", "integer", "numbers", *BY_NAME):
            with suppress(InvalidValueError):  # which says too little of what is allowed
                whole = partial(whole_number, minimum=-(2**63))
                number: float = (whole if self.kind == "integer" else finite_number)(value, field=self.name, where=where)
                if (number > self.minimum if self.exclusive else number >= self.minimum) and number <= self.maximum:
                    return number
        elif self.kind in REGISTERED:
            if (chosen := as_choice(value)) is not None:
                return chosen
        elif self.kind == "boolean":
            if isinstance(value, bool):
                return value
        elif isinstance(value, str) and value.strip() and (self.kind != "choice" or value in self.choices):
            return value
        raise InvalidValueError(field=self.name, found=value, allowed=self.allowed, where=where)

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        noun = {
            "number": "a finite number",
            "integer": "a whole number",
            "boolean": "true or false",
            "text": "a non-empty text",
            "choice": "one of " + ", ".join(map(repr, self.choices)),
            "numbers": "a list of finite numbers",
            "texts": "a list of non-empty texts",
            "path": "a path",
            "paths": "a list of paths",
            "mechanism": "the name of a mechanism, or {NAME: {parameters}}",
            "query": "the name of a query, or {NAME: {parameters}}",
            "number_by_name": "a mapping from names to finite numbers",
            "numbers_by_name": "a mapping from names to lists of finite numbers",
        }[self.kind]
        low = "" if self.minimum == -math.inf else f" {'>' if self.exclusive else '>='} {in_full(self.minimum)}"
        high = "" if self.maximum == math.inf else f"{' and' if low else ''} <= {in_full(self.maximum)}"
        each = " each" if (low or high) and self.kind in ("numbers", *BY_NAME) else ""
        none = " or nothing" if self.default is None else ""
        return f"{noun}{each}{low}{high}{none}"

    def json_schema(self) -> dict[str, object]:
        """This parameter as a JSON Schema (draft 2020-12)."""
        schema: dict[str, object] = {"description": self.meaning}
        number: dict[str, object] = {"type": "integer" if self.kind == "integer" else "number"}
        if self.minimum != -math.inf:
            number["exclusiveMinimum" if self.exclusive else "minimum"] = self.minimum
        if self.maximum != math.inf:
            number["maximum"] = self.maximum
        text: dict[str, object] = {"type": "string", "minLength": 1}
        named: dict[str, object] = {"anyOf": [text, {"type": "object", "minProperties": 1, "maxProperties": 1}]}
        shapes: dict[str, dict[str, object]] = {
            "number": number,
            "integer": number,
            "boolean": {"type": "boolean"},
            "text": text,
            "choice": {"enum": list(self.choices)},
            "numbers": {"type": "array", "items": number},
            "texts": {"type": "array", "items": text},
            "path": text,
            "paths": {"type": "array", "items": text},
            "mechanism": named,
            "query": named,
            "number_by_name": {"type": "object", "additionalProperties": number},
            "numbers_by_name": {"type": "object", "additionalProperties": {"type": "array", "items": number}},
        }
        schema |= shapes[self.kind]
        if self.default is None:
            bare = {key: schema.pop(key) for key in list(schema) if key != "description"}
            schema["anyOf"] = [bare, {"type": "null"}]
        if not self.required:
            schema["default"] = self.plain_default
        return schema


def meets(value: object, allowed: Sequence[object]) -> bool:
    """Whether a deciding parameter has one of these values."""
    given = value is not None and value is not REQUIRED
    return value in allowed or (given and GIVEN in allowed)


def _condition_in_words(name: str, allowed: Sequence[object]) -> str:
    if GIVEN in allowed:
        return f"with `{name}`"
    if tuple(allowed) == (None,):
        return f"without `{name}`"
    shown = {True: "true", False: "false", None: "nothing"}
    values = [shown[value] if value is None or isinstance(value, bool) else str(value) for value in allowed]
    return f"with `{name}: {' or '.join(values)}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """`NAME`, or `{NAME: {parameters}}`. `given` holds the parameters, a pair each.

    `among` are the factories that the name is one of: those of the analysis, which may allow fewer plugins than are
    installed. Without it the name is one of what is installed.
    """

    name: str
    given: tuple[tuple[str, object], ...] = ()
    among: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @property
    def parameters(self) -> dict[str, object]:
        """What was given, by name."""
        return dict(self.given)

    def __str__(self) -> str:
        return self.name if not self.given else f"{self.name}({', '.join(f'{key}={value}' for key, value in self.given)})"


def as_choice(value: object) -> Choice | None:
    """A name, a mapping from one name to its parameters (or to nothing), or a choice; None for anything else."""
    if isinstance(value, Choice):
        return value
    if isinstance(value, str) and value.strip():
        return Choice(name=value)
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    ((name, given),) = value.items()
    inner = {} if given is None else given
    if not isinstance(name, str) or not name.strip() or not isinstance(inner, Mapping):
        return None
    return Choice(name=name, given=tuple((str(key), _frozen(item)) for key, item in inner.items()))


def _frozen(value: object) -> object:
    """Lists as tuples, so that choices can be compared and kept in sets."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_frozen(item) for item in value)
    return value


def checked_parameters(
    parameters: Sequence[Parameter], values: Mapping[str, object], *, where: str, former: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Every declared parameter with its value or default.

    An unknown or a missing name is refused, the nearest one offered; so is a parameter that has no effect beside the others.
    `former` says what to write for a name that an earlier version took.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in values:
        if name not in known:
            note = (former or {}).get(name, "")
            raise UnknownNameError(kind=f"parameter of {where}", name=name, known=known, note=note)
    complete: dict[str, object] = {}
    for name, parameter in known.items():
        if name in values:
            complete[name] = parameter.check(values[name], where=where)
        elif parameter.required:
            raise InvalidValueError(field=name, found=None, allowed=parameter.allowed, where=where)
        else:
            complete[name] = parameter.default
    for idle in without_effect(parameters, values):
        raise InvalidValueError(
            field=idle.name, found=values[idle.name], allowed=f"left out: it has an effect {idle.condition}", where=where
        )
    return complete


def without_effect(parameters: Sequence[Parameter], values: Mapping[str, object]) -> list[Parameter]:
    """The parameters among these values that do nothing beside the others. What is left out, or None, has its default."""
    complete = {parameter.name: values.get(parameter.name, parameter.default) for parameter in parameters}
    given = [parameter for parameter in parameters if values.get(parameter.name) is not None]
    return [one for one in given if not all(meets(complete[name], allowed) for name, allowed in one.conditions)]


def with_effect(parameters: Sequence[Parameter], values: Mapping[str, object]) -> dict[str, object]:
    """The values without those that do nothing: of a complete set, what a caller may give."""
    idle = {parameter.name for parameter in without_effect(parameters, values)}
    return {name: value for name, value in values.items() if name not in idle}


def check_conditions(parameters: Sequence[Parameter], *, where: str) -> None:
    """Every `only_with` names a parameter that is declared beside it, and values that this one takes."""
    known = {parameter.name: parameter for parameter in parameters}
    for parameter in parameters:
        for name, allowed in parameter.conditions:
            if name not in known:
                raise UnknownNameError(kind=f"parameter of {where}", name=name, known=known)
            for value in allowed:
                if value is not None and value is not GIVEN:
                    known[name].check(value, where=f"{where}: only_with of {parameter.name}")


def conditions_schema(parameters: Sequence[Parameter]) -> list[dict[str, object]]:
    """Every `only_with` as a part of a JSON Schema of one object."""
    defaults = {parameter.name: parameter.default for parameter in parameters}
    found: list[dict[str, object]] = []
    for parameter in parameters:
        for name, allowed in parameter.conditions:
            one_of = [value for value in allowed if value is not GIVEN]
            shape: dict[str, object] = {"enum": one_of} if GIVEN not in allowed else {"not": {"type": "null"}}
            needs = {} if meets(defaults[name], allowed) else {"required": [name]}
            given = {"properties": {parameter.name: {"not": {"type": "null"}}}, "required": [parameter.name]}
            found.append({"if": given, "then": {"properties": {name: shape}, **needs}})
    return found
