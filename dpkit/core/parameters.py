"""Parameters, declared once: the declaration checks values and feeds YAML, the JSON Schema, `--help`, docs and test data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dpkit.core.checks import finite_number, nonempty_text, one_of, whole_number
from dpkit.core.choices import Choice, as_choice
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.numerics.rounding import in_full

Kind = Literal["number", "integer", "boolean", "text", "choice", "numbers", "texts", "path", "paths", "mechanism", "query"]
KINDS: tuple[str, ...] = get_args(Kind)
"""`choice` is one of a few words; `numbers`, `texts` and `paths` are lists. A relative `path` in an analysis is relative to its
file. `mechanism` and `query` are names of what is registered, `NAME` or `{NAME: {parameters}}`, and arrive as a `Choice`."""
LISTS = ("numbers", "texts", "paths")
REGISTERED = ("mechanism", "query")

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")


class _Required:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a factory: its name, kind, range, unit and what it means.

    `minimum` and `maximum` bound a number (of `numbers`, each entry); with `exclusive` the minimum itself is not allowed.
    `examples` are values that tests try first. `about_values`: it states a fact about the values that a mechanism is given;
    nothing checks it, so an analysis cannot give it, and the default stands.
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

    def __post_init__(self) -> None:
        where = f"Parameter({self.name})"
        if not isinstance(self.name, str) or not _PLAIN_NAME.fullmatch(self.name):
            allowed = "lower-case letters, digits and _, a letter first"
            raise InvalidValueError(field="name", found=self.name, allowed=allowed, where="Parameter")
        one_of(self.kind, KINDS, field="kind", where=where)
        nonempty_text(self.doc, field="doc", where=where)
        for field in ("choices", "examples"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if (self.kind == "choice") != bool(self.choices):
            raise InvalidValueError(
                field="choices", found=self.choices, allowed="words, for the kind 'choice' only", where=where
            )
        for field in ("minimum", "maximum"):
            limit = getattr(self, field)
            if isinstance(limit, bool) or not isinstance(limit, int | float):
                raise InvalidValueError(field=field, found=limit, allowed="a number, or infinity", where=where)
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

    def check(self, value: object, *, where: str) -> object:
        """The value, normalised, or an error that says what is allowed."""
        if self.default is None and value is None:
            return None
        if self.kind in REGISTERED:
            chosen = as_choice(value)
            if chosen is None:
                raise self._wrong(value, where)
            return chosen
        if self.kind in LISTS:
            if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
                raise self._wrong(value, where)
            one = self._number if self.kind == "numbers" else self._text
            return tuple(one(item, where) for item in value)
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
        }[self.kind]
        low = "" if self.minimum == -math.inf else f" {'>' if self.exclusive else '>='} {in_full(self.minimum)}"
        high = "" if self.maximum == math.inf else f"{' and' if low else ''} <= {in_full(self.maximum)}"
        none = " or nothing" if self.default is None else ""
        return f"{noun}{' each' if (low or high) and self.kind == 'numbers' else ''}{low}{high}{none}"

    def json_schema(self) -> dict[str, object]:
        """This parameter as a JSON Schema (draft 2020-12)."""
        schema: dict[str, object] = {"description": self.doc + (f" ({self.unit})" if self.unit else "")}
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


def checked_parameters(parameters: Sequence[Parameter], values: Mapping[str, object], *, where: str) -> dict[str, object]:
    """Every declared parameter with its value or default; an unknown or a missing name is refused, the nearest one offered."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in values:
        if name not in known:
            raise UnknownNameError(kind=f"parameter of {where}", name=name, known=known)
    complete: dict[str, object] = {}
    for name, parameter in known.items():
        if name in values:
            complete[name] = parameter.check(values[name], where=where)
        elif parameter.required:
            raise InvalidValueError(field=name, found="nothing", allowed=parameter.allowed, where=where)
        else:
            complete[name] = parameter.default
    return complete
