"""Parameters, declared once: the declaration checks values and feeds YAML, the JSON Schema, `--help`, docs and test data."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from dpkit.core.checks import finite_number, nonempty_text, one_of, whole_number
from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import in_full

Kind = Literal["number", "integer", "boolean", "text", "choice", "numbers", "texts", "numbers_by_name"]
KINDS: tuple[str, ...] = get_args(Kind)
"""`choice` is one of a few words; `numbers` and `texts` are lists; `numbers_by_name` maps names to lists of numbers."""

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
    `examples` are values that tests try first.

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
        if self.kind == "numbers_by_name":
            if not isinstance(value, Mapping):
                raise self._wrong(value, where)
            return {self._text(name, where): self._listed(inner, self._number, where) for name, inner in value.items()}
        if self.kind in ("numbers", "texts"):
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
        shapes: dict[str, dict[str, object]] = {
            "number": number,
            "integer": number,
            "boolean": {"type": "boolean"},
            "text": text,
            "choice": {"enum": list(self.choices)},
            "numbers": {"type": "array", "items": number},
            "texts": {"type": "array", "items": text},
            "numbers_by_name": {"type": "object", "additionalProperties": {"type": "array", "items": number}},
        }
        schema |= shapes[self.kind]
        if self.default is None:
            bare = {key: schema.pop(key) for key in list(schema) if key != "description"}
            schema["anyOf"] = [bare, {"type": "null"}]
        if not self.required:
            schema["default"] = list(self.default) if isinstance(self.default, tuple) else self.default
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
