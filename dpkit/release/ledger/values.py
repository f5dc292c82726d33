"""Released values as text, and back, equal: a resumed run gets the value that went out and no second draw.

A released value is public. Nothing here raises on a number: infinities and NaNs have a form of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import numpy as np

from dpkit.errors import InvalidValueError, SerialisationError
from dpkit.numerics.noise.simulated import Simulated

_ODD = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_KINDS = "biuf"


def value_text(value: object) -> str:
    """Numbers, texts, lists, tuples, mappings with text keys, numpy arrays and scalars of numbers, as one line of JSON."""
    return json.dumps(_encode(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def value_of(text: str) -> object:
    """The value that `value_text` wrote; a tuple comes back as a tuple, an array with its type and shape."""
    try:
        return _decode(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError):
        raise SerialisationError(reason="a released value is malformed.") from None


def _encode(value: object) -> object:
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, float) and not isinstance(value, np.generic):
        return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _KINDS and value.dtype.itemsize <= 8:
        array = np.asarray(value)
        return {
            "is": "array" if isinstance(value, np.ndarray) else "scalar",
            "type": array.dtype.newbyteorder("<").str,
            "shape": list(array.shape),
            "values": [_encode(item) for item in array.ravel().tolist()],
            "simulation": isinstance(value, Simulated),
        }
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, tuple):
        return {"is": "tuple", "value": [_encode(item) for item in value]}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"is": "mapping", "value": {key: _encode(item) for key, item in value.items()}}
    # the type alone: what is being released must not stand in a message
    allowed = "numbers, texts, lists, tuples, mappings with text keys, or numpy arrays of numbers"
    raise InvalidValueError(field="value", found=type(value).__name__, allowed=allowed, where="released")


def _decode(node: object) -> object:
    if isinstance(node, list):
        return [_decode(item) for item in node]
    if not isinstance(node, dict):
        return node
    kind, value = node["is"], node.get("value")
    if kind == "float":
        return _ODD[str(value)]
    if kind == "tuple" and isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if kind == "mapping" and isinstance(value, dict):
        return {key: _decode(item) for key, item in value.items()}
    if kind in ("array", "scalar"):
        numbers = [_decode(item) for item in node["values"]]
        array = np.array(numbers, dtype=np.dtype(node["type"]).newbyteorder("=")).reshape(node["shape"])
        if kind == "scalar":
            return array[()]
        return array.view(Simulated) if node["simulation"] else array
    raise ValueError("an unknown form")
