"""Versioned JSON for the value types: events, losses, claims, rules' names, guarantees; and back, equal.

A value is written as `{"dpkit": 1, "value": ...}`, a frozen dataclass as `{"is": class name, field: ...}`. Which classes
may be read is decided by the reader's registry, never by the text: no code is named in it.
"""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dpkit.contracts import guarantee
from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError, InvalidValueError, SerialisationError
from dpkit.pricing.assess import assess
from dpkit.privacy import claims, events, gaussian_dp, loss_pairs, loss_table, losses, neighbours
from dpkit.privacy.neighbours import Neighbours

VERSION = 1
"""The version of the format; a newer one is refused."""


def dump(value: object) -> str:
    """The value as JSON text."""
    try:
        return json.dumps({"dpkit": VERSION, "value": _encode(value)}, indent=2, allow_nan=False)
    except RecursionError:
        raise SerialisationError(reason="it is nested too deeply.", fix="Flatten nested compositions.") from None


def parse(text: str, *, registry: Registry) -> object:
    """The value that was written; raises `SerialisationError` for anything else."""
    document = strict_json(text)
    if not isinstance(document, dict) or "dpkit" not in document or "value" not in document:
        raise SerialisationError(reason='it is not an object with the keys "dpkit" and "value".')
    if document["dpkit"] != VERSION or isinstance(document["dpkit"], bool):
        raise SerialisationError(
            reason=f"it is of version {repr(document['dpkit'])[:20]}, and this dpkit reads version {VERSION}.",
            fix="Install the dpkit that wrote it.",
        )
    try:
        return _decode(document["value"], _known_classes(registry, text), registry)
    except RecursionError:
        raise SerialisationError(reason="it is nested too deeply.") from None


def strict_json(text: str | bytes) -> Any:
    """The document of a JSON text in which each key is there once and each number finite; else `SerialisationError`."""
    try:
        return json.loads(text, parse_constant=_no_constants, parse_float=_finite, object_pairs_hook=_no_duplicates)
    except (ValueError, TypeError, RecursionError) as error:
        raise SerialisationError(reason=f"it is not JSON ({type(error).__name__}).") from None


def _encode(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
    if isinstance(value, Fraction):
        return {"is": "fraction", "value": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, Neighbours):
        return {"is": "neighbours", "value": value.value}
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        unsaid = _may_be_unsaid(type(value))
        held = [(part.name, getattr(value, part.name)) for part in _written(type(value))]
        body = {name: _encode(one) for name, one in held if not (one is None and name in unsaid)}
        return {"is": type(value).__name__, **body}
    raise SerialisationError(reason=f"a {type(value).__name__} has no JSON form in dpkit.")


def _decode(node: object, known: dict[str, type], registry: Registry) -> object:
    if isinstance(node, list):
        return tuple(_decode(item, known, registry) for item in node)
    if not isinstance(node, dict):
        return node
    kind = node.get("is")
    if kind == "float":
        return _non_finite(node.get("value"))
    if kind == "fraction":
        return _fraction(node.get("value"))
    if kind == "neighbours":
        return _neighbours(node.get("value"))
    if not isinstance(kind, str) or kind not in known:
        raise SerialisationError(
            reason=f"it holds a {kind!r}, which nothing installed defines.",
            fix="Install the plugin that brings it, or check that the text is whole.",
        )
    cls = known[kind]
    optional = _may_be_unsaid(cls)
    names = {part.name for part in _written(cls)}
    body = {name: _decode(inner, known, registry) for name, inner in node.items() if name != "is"}
    if not names - optional <= body.keys() <= names:
        odd = ", ".join(sorted((body.keys() - names) | (names - optional - body.keys())))
        raise SerialisationError(reason=f"the fields of {kind} do not fit ({odd}).")
    wrong = ", ".join(name for name, hint in hints_of(cls).items() if name in body and not fits(body[name], hint))
    if wrong:
        raise SerialisationError(reason=f"{kind} refuses its fields: another type is declared for {wrong}.")
    if cls is guarantee.Guarantee:
        body["registry"] = registry
    try:
        value: object = cls(**body)
        return _repriced(value, registry) if isinstance(value, guarantee.Guarantee) else value
    except SerialisationError:
        raise
    except InvalidValueError as error:
        raise SerialisationError(reason=f"{kind} refuses its fields: {error}") from None
    except (DpkitError, TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
        raise SerialisationError(reason=f"{kind} refuses its fields ({type(error).__name__}).") from None


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """What types the fields of a class are declared with; nothing where they cannot be resolved."""
    try:
        return get_type_hints(cls)
    except (NameError, TypeError):
        return {}


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of a declared type, as far as it is one that JSON carries; a class checks the rest itself."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(fits(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if hint is None or hint is type(None):
        return value is None
    if hint in (float, int):
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    known = isinstance(hint, type) and origin is None and hint is not Any and not getattr(hint, "_is_protocol", False)
    return isinstance(value, hint) if known else True


def _repriced(read: guarantee.Guarantee, registry: Registry) -> guarantee.Guarantee:
    """A guarantee is believed because its event costs what it says, not because a text says so."""
    if read.event is None:
        return read
    try:
        priced = assess(
            read.event,
            accountant=read.accountant,
            registry=registry,
            neighbours=read.neighbours,
            accept=frozenset(name for part in read.parts for name in part.accepted),
        )
    except DpkitError as error:
        raise SerialisationError(reason=f"its event cannot be priced here: {error}") from None
    if priced != read:
        raise SerialisationError(
            reason="what it says its event costs is not what the event costs.",
            fix="It was changed, or written with other rules than are installed here.",
        )
    return read


def _written(cls: type) -> list[Field[object]]:
    """The fields that make two values equal; the rest is context of the reader."""
    return [part for part in fields(cls) if part.init and part.compare]


def _may_be_unsaid(cls: type) -> set[str]:
    """What an event need not say is not written: events that say nothing of it are written as before it existed."""
    return {part.name for part in _written(cls) if part.default is None} if issubclass(cls, events.Event) else set()


def _known_classes(registry: Registry, text: str) -> dict[str, type]:
    """The classes that may be read, by name. A state stands beside its accountant: only those that the text names are asked."""
    found: dict[str, type] = {}
    for module in (claims, events, gaussian_dp, guarantee, loss_pairs, loss_table, losses, neighbours):
        found.update({name: item for name, item in vars(module).items() if isinstance(item, type) and is_dataclass(item)})
    for rule in registry.rules:
        found[rule.event.__name__] = rule.event
        found[rule.loss.__name__] = rule.loss
        found.update(_losses_beside(rule))
    for accountant in registry.accountants:
        found[type(accountant).__name__] = type(accountant)
        if type(accountant).__name__ in text:
            state = type(accountant.zero())
            found[state.__name__] = state
    return {name: cls for name, cls in found.items() if is_dataclass(cls)}


def _losses_beside(rule: claims.LossRule) -> dict[str, type]:
    """The losses that the module of a rule knows: a rule that declares any pair, or any curve, returns one of them."""
    module = sys.modules.get(getattr(rule.bound, "__module__", ""))
    named = {} if module is None else vars(module)
    return {name: item for name, item in named.items() if isinstance(item, type) and issubclass(item, losses.Loss)}


def _non_finite(text: object) -> float:
    """The floats that JSON cannot write."""
    if text not in ("inf", "-inf", "nan"):
        raise SerialisationError(reason=f"{text!r} is not a float that needs a form of its own.")
    return float(str(text))


def _fraction(text: object) -> Fraction:
    """As it was written, two whole numbers; `Fraction` itself reads exponents, however large."""
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise SerialisationError(reason="a fraction is malformed.")
    return Fraction(text)


def _neighbours(text: object) -> Neighbours:
    try:
        return Neighbours(text)
    except ValueError:
        known = ", ".join(member.value for member in Neighbours)
        raise SerialisationError(reason=f"the neighbour relation {text!r} is none of {known}.") from None


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constants(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


_FRACTION = re.compile(r"-?[0-9]{1,4300}/0*[1-9][0-9]{0,4299}")
"""Python reads and writes whole numbers of up to this number of digits."""
