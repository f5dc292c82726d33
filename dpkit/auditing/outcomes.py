"""Any outcome as a kind and numbers: an exception, None, a text, a table, another shape or dtype, a time-out.

What a function does instead of returning numbers is seen by whoever runs it, so it is an output like any other. An outcome is
made canonical on its own, by fixed rules: nothing depends on other outcomes, so events about kinds are events about one output.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import hashlib
import itertools
import numbers
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dpkit.numerics.special import Array
from dpkit.values import dataclass

HUGE = 1e300
_DEEPEST, _MOST_NUMBERS = 6, 4_096
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class CanonicalOutcome:
    """What one call came to: a kind in words, which never holds data, and numbers."""

    kind: str
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class NoOutput:
    """An outcome that is no output: an exception, a time-out, or something else than one output."""

    outcome: CanonicalOutcome


class TimedOut(Exception):  # noqa: N818 - an outcome, not a fault
    """A call that took longer than it may."""


def canonical(value: object, depth: int = 0) -> CanonicalOutcome:
    """The outcome of a value that was returned, or of an exception that was raised."""
    if isinstance(value, NoOutput):
        return value.outcome
    if isinstance(value, TimedOut):
        return CanonicalOutcome("timed out")
    if isinstance(value, BaseException):
        return CanonicalOutcome(f"raised {type(value).__name__}", (_hashed(_ADDRESS.sub("", str(value))),))
    if value is None:
        return CanonicalOutcome("None")
    if isinstance(value, bool | np.bool_):
        return CanonicalOutcome("bool", (float(value),))
    if isinstance(value, int | np.integer):
        return _whole(int(value), "int" if isinstance(value, int) else str(np.asarray(value).dtype))
    if isinstance(value, float | np.floating):
        return CanonicalOutcome("float64" if isinstance(value, float) else str(np.asarray(value).dtype), (float(value),))
    if isinstance(value, complex | np.complexfloating):
        return CanonicalOutcome("complex", (float(value.real), float(value.imag)))
    if isinstance(value, str | bytes):
        return CanonicalOutcome("text" if isinstance(value, str) else "bytes", (_hashed(value), float(len(value))))
    if isinstance(value, numbers.Number):
        return CanonicalOutcome(type(value).__name__, (_as_float(value), _hashed(str(value))))
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return CanonicalOutcome(type(value).__name__, (_seconds(value), _hashed(str(value))))
    return _composite(value, depth)


def outcome_numbers(value: object, width: int = 1) -> Array:
    """One outcome as an audit of mixed outcomes sees it: the code of its kind, how many numbers it has, the first of them."""
    return encode([canonical(value)], width).reshape(-1)


def encode(outcomes: Sequence[CanonicalOutcome], width: int) -> Array:
    """A row for each outcome: the code of its kind, how many numbers it has, the first `width` of them; NaN for what lacks."""
    rows = np.full((len(outcomes), width + 2), np.nan)
    for row, outcome in zip(rows, outcomes, strict=True):
        row[0], row[1] = kind_code(outcome.kind), len(outcome.numbers)
        kept = outcome.numbers[:width]
        row[2 : 2 + len(kept)] = kept
    return finite(rows)


def kind_code(kind: str) -> float:
    """A whole number below 2**20 for a kind, always the same; two kinds that share one cost power, never validity."""
    return float(int(_hashed(kind)) % 2**20)


def apart(kind: str) -> float:
    """A number below all that outputs have, by which another kind stands in for every entry of an array of numbers."""
    return -(3.0 + kind_code(kind)) * HUGE


def finite(numbers: Array) -> Array:
    """NaN and infinities become numbers that stand apart from all others, and that an event may single out."""
    if np.isfinite(numbers).all():
        return numbers
    rows = np.array(numbers, dtype=np.float64)
    payload = rows.view(np.uint64) & np.uint64(2**51 - 1)
    marked = np.isnan(rows) & (payload != 0)  # a NaN can carry a number
    found = np.nan_to_num(rows, nan=-2.0 * HUGE, posinf=HUGE, neginf=-HUGE)
    return np.where(marked, -(2.0 + ((payload % np.uint64(9973)) + np.uint64(1)) / 1e4) * HUGE, found)


def _composite(value: object, depth: int) -> CanonicalOutcome:
    name = type(value).__name__
    if depth >= _DEEPEST:
        return CanonicalOutcome(f"object {name}")
    if hasattr(value, "columns") and hasattr(value, "to_dict"):
        return _table(value, depth)
    if hasattr(value, "index") and hasattr(value, "to_dict") and hasattr(value, "to_numpy"):
        return _joined("series", [labels_of(value), _hashed(str(getattr(value, "name", "")))], [value.to_numpy()], depth)
    if isinstance(value, Mapping):
        items = sorted(((str(key), item) for key, item in value.items()), key=lambda pair: pair[0])
        order = _hashed(" ".join(map(str, value)))  # whoever prints it sees in which order keys came
        return _joined(f"{name} of {len(items)}", [order], [item for _, item in items], depth)
    if isinstance(value, set | frozenset):
        return _joined(f"{name} of {len(value)}", [], sorted(value, key=repr), depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _joined(f"object {name}", [], [getattr(value, part.name) for part in dataclasses.fields(value)], depth)
    if isinstance(value, np.ma.MaskedArray):
        return _joined("masked array", [], [value.filled(0), np.ma.getmaskarray(value)], depth)
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        try:
            return _array(np.asarray(value), depth)
        except Exception:  # noqa: BLE001 - what cannot be an array is an object
            return CanonicalOutcome(f"object {name}")
    if isinstance(value, list | tuple):
        names = getattr(value, "_fields", None)  # of a named tuple
        return _joined(f"{name} of {len(value)}", [] if names is None else [_hashed(repr(names))], list(value), depth)
    if isinstance(value, Iterator):  # whoever is handed one reads it
        parts = list(itertools.islice(value, _MOST_NUMBERS))
        return _joined(name, [float(len(parts))], parts, depth)
    if isinstance(value, enum.Enum):
        return CanonicalOutcome(f"object {name}", (_hashed(value.name),))
    return _object(value, name, depth)


def _object(value: object, name: str, depth: int) -> CanonicalOutcome:
    """Any other object: what its attributes hold, or what it shows, without the address at which it happens to lie."""
    held = getattr(value, "__dict__", None)
    if isinstance(held, Mapping) and held and not isinstance(value, type) and not callable(value):
        return _joined(
            f"object {name}", [_hashed(" ".join(sorted(map(str, held))))], [held[key] for key in sorted(held)], depth
        )
    try:
        return CanonicalOutcome(f"object {name}", (_hashed(_ADDRESS.sub("", repr(value))),))
    except Exception:  # noqa: BLE001 - what cannot be shown tells its kind alone
        return CanonicalOutcome(f"object {name}")


def _array(value: np.ndarray[tuple[int, ...], np.dtype[np.generic]], depth: int) -> CanonicalOutcome:
    if value.dtype.kind in "biufc":
        parts = value.reshape(-1)[:_MOST_NUMBERS]
        if value.dtype.kind in "iu" and value.dtype.itemsize == 8:
            return _joined(f"array {value.shape} {value.dtype}", [], parts.tolist(), depth)  # large ones keep their last bits
        numbers = np.stack([parts.real, parts.imag], axis=-1).reshape(-1) if value.dtype.kind == "c" else parts
        return CanonicalOutcome(f"array {value.shape} {value.dtype}", tuple(float(number) for number in numbers.tolist()))
    return _joined(f"array {value.shape} {value.dtype}", [], value.reshape(-1)[:_MOST_NUMBERS].tolist(), depth)


def _table(value: object, depth: int) -> CanonicalOutcome:
    """A data frame: columns and their dtypes are its kind, the number of rows its first number."""
    columns: dict[object, list[object]] = value.to_dict("list")  # type: ignore[attr-defined]
    dtypes = " ".join(map(str, getattr(value, "dtypes", ())))
    rows = max((len(column) for column in columns.values()), default=0)
    signs = [float(rows), _hashed(" ".join(map(str, columns))), _hashed(dtypes), labels_of(value)]
    cells = [cell for column in columns.values() for cell in column]
    return _joined("table", signs, cells, depth)


def labels_of(value: object) -> float:
    """What labels the rows of a table, as a number: 0 where they are counted from 0, or have no labels."""
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return 0.0
    labels = [str(label) for label in list(index)[:_MOST_NUMBERS]]
    return 0.0 if labels == [str(place) for place in range(len(labels))] else _hashed("\n".join(labels))


def _as_float(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _seconds(value: datetime.date | datetime.time | datetime.timedelta) -> float:
    """A number that grows with time."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    of_day = 0.0
    if isinstance(value, datetime.datetime | datetime.time):
        of_day = 3600.0 * value.hour + 60.0 * value.minute + value.second + 1e-6 * value.microsecond
    return of_day + (86_400.0 * value.toordinal() if isinstance(value, datetime.date) else 0.0)


def _joined(kind: str, signs: Sequence[float], parts: Sequence[object], depth: int) -> CanonicalOutcome:
    """Parts one after the other; of what kinds they are is a number, so that another kind inside is seen."""
    inner = [canonical(part, depth + 1) for part in parts[:_MOST_NUMBERS]]
    kinds = _hashed(" ".join(one.kind for one in inner))
    numbers = [number for one in inner for number in one.numbers]
    return CanonicalOutcome(kind, (*signs, kinds, *numbers[:_MOST_NUMBERS]))


def _whole(value: int, kind: str) -> CanonicalOutcome:
    if abs(value) <= 2**53:
        return CanonicalOutcome(kind, (float(value),))
    return CanonicalOutcome(
        f"large {kind}", (_hashed(str(value >> 32)) if abs(value) > 2**80 else float(value >> 32), float(value % 2**32))
    )


def _hashed(text: str | bytes) -> float:
    """48 bits of a hash, which a float holds: equal texts are equal numbers."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return float(int.from_bytes(hashlib.blake2b(data, digest_size=6).digest(), "big"))
