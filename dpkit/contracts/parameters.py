"""Parameters, declared once: the declaration checks values and feeds YAML, the JSON Schema, `--help`, docs and test data.

A choice is the name of something that is registered, with parameters for it. Parameters taken together are complete, known by
name, and each has an effect beside the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.numerics.rounding import in_full
from dpkit.privacy.checks import finite_number, nonempty_text, one_of, whole_number

Kind = Literal[
    "number", "integer", "boolean", "text", "choice", "numbers", "texts",
    "numbers_by_name", "path", "paths", "mechanism", "query",
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)
"""`choice` is one of a few words; `numbers`, `texts` and `paths` are lists; `numbers_by_name` maps names to lists of numbers.
A relative `path` in an analysis is relative to its file. `mechanism` and `query` are names of what is registered, `NAME` or
`{NAME: {parameters}}`, and arrive as a `Choice`."""
LISTS = ("numbers", "texts", "paths")
REGISTERED = ("mechanism", "query")

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")


class _Required:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


class _Given:
    """In `only_with`: any value, as long as there is one."""

    def __repr__(self) -> str:
        return "given"


GIVEN = _Given()


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

    def has_effect(self, values: Mapping[str, object]) -> bool:
        """Whether this parameter does anything beside these values, which are complete."""
        return all(meets(values[name], allowed) for name, allowed in self.conditions)

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
        if self.kind in REGISTERED:
            chosen = as_choice(value)
            if chosen is None:
                raise self._wrong(value, where)
            return chosen
        if self.kind == "numbers_by_name":
            if not isinstance(value, Mapping):
                raise self._wrong(value, where)
            return {self._text(name, where): self._listed(inner, self._number, where) for name, inner in value.items()}
        if self.kind in LISTS:
            return self._listed(value, self._number if self.kind == "numbers" else self._text, where)
        if self.kind == "number":
            return self._number(value, where)
        if self.kind == "integer":
            try:
                whole = whole_number(value, field=self.name, where=where, minimum=-(2**63))
            except InvalidValueError:
                raise self._wrong(value, where) from None
            return self._bounded(whole, value, where)
        if self.kind == "boolean":
            if not isinstance(value, bool):
                raise self._wrong(value, where)
            return value
        if self.kind == "choice" and value not in self.choices:
            raise self._wrong(value, where)
        return self._text(value, where)

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
            "numbers_by_name": "a mapping from names to lists of finite numbers",
        }[self.kind]
        low = "" if self.minimum == -math.inf else f" {'>' if self.exclusive else '>='} {in_full(self.minimum)}"
        high = "" if self.maximum == math.inf else f"{' and' if low else ''} <= {in_full(self.maximum)}"
        each = " each" if (low or high) and self.kind in ("numbers", "numbers_by_name") else ""
        none = " or nothing" if self.default is None else ""
        return f"{noun}{each}{low}{high}{none}"

    def json_schema(self) -> dict[str, object]:
        """This parameter as a JSON Schema (draft 2020-12)."""
        schema: dict[str, object] = {"description": self.meaning}
        number: dict[str, object] = {"type": "integer" if self.kind == "integer" else "number", **self._limits()}
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
            "numbers_by_name": {"type": "object", "additionalProperties": {"type": "array", "items": number}},
        }
        schema |= shapes[self.kind]
        if self.default is None:
            bare = {key: schema.pop(key) for key in list(schema) if key != "description"}
            schema["anyOf"] = [bare, {"type": "null"}]
        if not self.required:
            schema["default"] = self.plain_default
        return schema

    def _limits(self) -> dict[str, object]:
        limits: dict[str, object] = {}
        if self.minimum != -math.inf:
            limits["exclusiveMinimum" if self.exclusive else "minimum"] = self.minimum
        if self.maximum != math.inf:
            limits["maximum"] = self.maximum
        return limits

    def _listed(self, value: object, one: Callable[[object, str], object], where: str) -> tuple[object, ...]:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise self._wrong(value, where)
        return tuple(one(item, where) for item in value)

    def _number(self, value: object, where: str) -> float:
        try:
            number = finite_number(value, field=self.name, where=where)
        except InvalidValueError:
            raise self._wrong(value, where) from None
        return self._bounded(number, value, where)

    def _bounded(self, number: float, value: object, where: str) -> float:
        too_low = number <= self.minimum if self.exclusive else number < self.minimum
        if too_low or number > self.maximum:
            raise self._wrong(value, where)
        return number

    def _text(self, value: object, where: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(value, where)
        return value

    def _wrong(self, value: object, where: str) -> InvalidValueError:
        return InvalidValueError(field=self.name, found=value, allowed=self.allowed, where=where)


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
            raise InvalidValueError(field=name, found="nothing", allowed=parameter.allowed, where=where)
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
    return [parameter for parameter in given if not parameter.has_effect(complete)]


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
