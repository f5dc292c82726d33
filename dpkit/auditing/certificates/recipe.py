"""Targets, pairs and distances as text: as people write them, and as the recipe of an audit holds them for its replay."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.parameters import with_effect
from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError, InvalidValueError, SerialisationError
from dpkit.pricing.serialise import strict_json
from dpkit.privacy.neighbours import Distance

LONGEST = 4_000
"""Characters of datasets that a recipe holds: a certificate is no copy of a dataset."""
Recipe = Mapping[str, object]


def written_recipe(parts: Recipe) -> str:
    """As JSON text with sorted keys."""
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_recipe(text: str) -> dict[str, Any]:
    """The parts of a recipe; empty where a certificate has none."""
    try:
        found = strict_json(text) if text else {}
    except SerialisationError:
        found = None
    if not isinstance(found, dict):
        raise SerialisationError(reason="the recipe of the certificate is not a JSON object.")
    return found


def named_mechanism(mechanism: object, registry: Registry) -> dict[str, object] | None:
    """How the registry makes an equal mechanism: the name of a factory and its parameters; None where it cannot."""
    for factory in registry.mechanisms:
        try:
            held = {parameter.name: getattr(mechanism, parameter.name) for parameter in factory.parameters}
            values = with_effect(factory.parameters, held)
            made = factory.build(**values)
        except (AttributeError, DpkitError, TypeError, ValueError):
            continue
        parameters = {name: encode(value) for name, value in values.items()}
        if type(made) is type(mechanism) and _alike(made, mechanism) and None not in parameters.values():
            return {"mechanism": factory.name, "parameters": parameters}
    return None


def _alike(one: object, two: object) -> bool:
    state = getattr(one, "__dict__", None)
    return bool(one == two) or (state is not None and repr(state) == repr(getattr(two, "__dict__", None)))


def made_mechanism(parts: Recipe, registry: Registry) -> Mechanism:
    """The mechanism that `named_mechanism` described, made again by what is installed."""
    name, parameters = parts.get("mechanism"), parts.get("parameters")
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise SerialisationError(reason="the recipe names no mechanism with its parameters.")
    return registry.mechanism(name).build(**{key: decode(value) for key, value in parameters.items()})


def encode(value: object) -> dict[str, object] | None:
    """A number, a text, an array, or lists and records of these, with what type it was; None for anything else."""
    if value is None or isinstance(value, bool | int | str):
        return {"is": "plain", "value": value}
    if isinstance(value, float) and not isinstance(value, np.generic):
        return {"is": "float", "value": value if math.isfinite(value) else repr(value)}
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind not in "biuf":
            return None
        return {"is": "array", "dtype": value.dtype.str, "shape": list(value.shape), "value": _texts(value)}
    if isinstance(value, list | tuple):
        items = [encode(item) for item in value]
        return None if None in items else {"is": type(value).__name__, "value": items}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        named = {key: encode(item) for key, item in value.items()}
        return None if None in named.values() else {"is": "dict", "value": named}
    return None


def decode(node: object) -> Any:
    """What `encode` was given."""
    try:
        assert isinstance(node, dict)
        kind, value = node["is"], node["value"]
        match kind:
            case "plain":
                return value
            case "float":
                return float(value)
            case "array":
                shape = tuple(int(size) for size in node["shape"])
                dtype = np.dtype(node["dtype"])
                if dtype.kind not in "biuf":
                    raise ValueError(dtype)
                array = np.array([_number(text, dtype) for text in value], dtype=dtype).reshape(shape)
                return array if shape else array[()]
            case "list" | "tuple":
                return [decode(item) for item in value] if kind == "list" else tuple(decode(item) for item in value)
            case "dict":
                return {str(key): decode(item) for key, item in value.items()}
    except (AssertionError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise SerialisationError(reason=f"the recipe holds a value that cannot be read ({type(error).__name__}).") from None
    raise SerialisationError(reason="the recipe holds a value of an unknown kind.")


def _texts(value: Any) -> list[object]:
    """Floats by their shortest exact text, so that infinities and NaN are kept in JSON."""
    return [repr(item) if isinstance(item, float) else item for item in np.asarray(value).reshape(-1).tolist()]


def _number(item: object, dtype: np.dtype[Any]) -> object:
    return float(str(item)) if dtype.kind == "f" else item


def encode_pairs(pairs: Sequence[tuple[object, object]]) -> object | None:
    """All pairs, in order; None where one cannot be written or all are too long."""
    found = encode([tuple(pair) for pair in pairs])
    return None if found is None or len(json.dumps(found)) > LONGEST else found


def decode_pairs(node: object) -> tuple[tuple[object, object], ...]:
    """The pairs that were written."""
    try:
        return tuple((one, two) for one, two in decode(node))
    except (TypeError, ValueError):
        raise SerialisationError(reason="the recipe holds no pairs of datasets.") from None


def encode_distance(at: Distance | None) -> object:
    """The metric and the value."""
    return None if at is None else {"metric": at.metric, "value": at.value}


def decode_distance(node: object) -> Distance | None:
    """The distance that was written."""
    if node is None:
        return None
    try:
        assert isinstance(node, dict)
        return Distance(metric=node["metric"], value=node["value"])
    except (AssertionError, KeyError, TypeError, InvalidValueError):
        raise SerialisationError(reason="the recipe holds no distance.") from None


def mechanism_of(text: str, registry: Registry) -> Mechanism:
    """The mechanism of this name with these parameters: by its class (`Laplace`) or its factory (`laplace`)."""
    made = re.fullmatch(r"([A-Za-z][\w-]*)\((.*)\)", text.strip(), re.DOTALL)
    named = {factory.name: factory for factory in registry.mechanisms}
    named |= {getattr(factory.make, "__name__", factory.name): factory for factory in registry.mechanisms}
    if made is None or made.group(1) not in named:
        raise InvalidValueError(
            field="target",
            found=text,
            allowed=f"module:function, or one of {', '.join(factory.name for factory in registry.mechanisms)} with parameters",
            where="audit",
            fix='Write it as Python does, such as "Laplace(scale=1.0)".',
        )
    return named[made.group(1)].build(**_parameters(made.group(2), text))


def _parameters(inner: str, text: str) -> dict[str, object]:
    refusal = InvalidValueError(
        field="target", found=text, allowed="parameters by name with plain values, such as scale=1.0", where="audit"
    )
    try:
        call = ast.parse(f"_({inner})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise refusal
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise refusal from None


def distance_of(text: str) -> Distance:
    """A distance as it is written, such as l1(1.0)."""
    found = re.fullmatch(r"(\w+)\(([^)]*)\)", text.strip())
    try:
        return Distance(metric=found.group(1), value=float(found.group(2)))  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        raise InvalidValueError(field="at", found=text, allowed="a distance such as l1(1.0)", where="audit") from None
