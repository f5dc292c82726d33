"""The entries of the log and the values in them: what each kind says, and the one way in which they are written and read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dpkit.errors import InvalidValueError, SerialisationError
from dpkit.numerics.noise.simulated import Simulated

Kind = Literal["create", "reserve", "charge", "release", "fail", "close"]
KINDS: tuple[str, ...] = get_args(Kind)

State = Literal["reserved", "released", "failed"]
"""Of a charge: paid and not yet out, out, or paid for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the log. `body` is all that it says, `text` the same as it was hashed, `value` a released value's text."""

    seq: int
    kind: Kind
    run: str
    key: str
    who: str
    when: str
    body: Mapping[str, object]
    text: str
    value: str | None
    hash: str

    @property
    def charge(self) -> int:
        """The number of the charge that a release or a failure belongs to; a charge's own number; -1 for other kinds."""
        if self.kind == "charge":
            return self.seq
        found = self.body.get("charge", -1)
        return found if isinstance(found, int) else -1

    @property
    def state(self) -> State | None:
        """The state that this entry puts a charge into."""
        states: dict[str, State] = {"charge": "reserved", "release": "released", "fail": "failed"}
        return states.get(self.kind)


def read_entry(seq: int, text: str, value: str | None, hash: str) -> Entry:
    """A row of the log as an entry; `SerialisationError` where the text is not one."""
    if not all(isinstance(item, str) for item in (text, hash, value or "")):
        raise SerialisationError(reason=f"entry {seq} holds bytes where its text, its hash or its value should be.")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise SerialisationError(reason=f"entry {seq} is not JSON.") from None
    if not isinstance(body, dict) or body.get("kind") not in KINDS:
        raise SerialisationError(reason=f"entry {seq} is of no known kind.")
    said = {name: body.get(name, "") for name in ("run", "key", "who", "when")}
    if not all(isinstance(item, str) for item in said.values()):
        raise SerialisationError(reason=f"entry {seq} lacks its run, its key, its author or its time.")
    return Entry(seq=seq, kind=body["kind"], body=body, text=text, value=value, hash=hash, **said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What `Ledger.charge` grants: the right to one release. When it is `is_released`, `value` is what went out before."""

    run: str
    key: str
    seq: int
    is_released: bool = False
    value: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a ledger knows of a run. `resumed` when it had been reserved before, which was at `began`; `other_data` when the
    stamp of its data is another than it began with.
    """

    id: str
    plan: str
    analysis: str
    is_open: bool
    resumed: bool
    began: str = ""
    other_data: bool = False


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
