"""Looking into objects: every part that can be reached from a thing, and whether two things are made of equal parts."""

from __future__ import annotations

import dataclasses
import gc
import math
import types
from collections.abc import Iterator, Mapping, Set
from functools import partial

import numpy as np

from dpkit.contracts.engine import Engine
from dpkit.contracts.table import Source, Table
from dpkit.release.curator import CuratorDoor, DataCurator

_PLAIN = (str, bytes, int, complex, type(None), type, types.ModuleType, types.BuiltinFunctionType)
_WAYS = (DataCurator, CuratorDoor)
MOST_PARTS = 200_000


def parts(thing: object) -> Iterator[object]:
    """The thing and all that it holds: items, fields, attributes, closures, defaults and the owners of bound methods."""
    seen: set[int] = set()
    pending = [thing]
    kept = []  # parts made on the way must live as long as their ids are compared
    while pending and len(seen) < MOST_PARTS:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        kept.append(part)
        yield part
        pending.extend(_inside(part))


def _inside(part: object) -> list[object]:
    if isinstance(part, _PLAIN):
        return []
    if isinstance(part, np.ndarray):
        return list(part.ravel()) if part.dtype == object else [part.base] if part.base is not None else []
    if isinstance(part, Mapping):
        return [*part.keys(), *part.values()]
    if isinstance(part, list | tuple | Set):
        return list(part)
    if isinstance(part, types.MethodType):
        return [part.__self__, part.__func__]
    if isinstance(part, types.FunctionType):
        cells = [cell.cell_contents for cell in part.__closure__ or () if _is_full(cell)]
        return [*cells, *(part.__defaults__ or ()), *(part.__kwdefaults__ or {}).values(), part.__dict__]
    if isinstance(part, partial):
        return [part.func, part.args, part.keywords]
    slots = [name for kind in type(part).__mro__ for name in _slots(kind)]
    named = [getattr(part, name) for name in slots if name != "__dict__" and hasattr(part, name)]
    if hasattr(part, "__dict__"):
        return [*named, *vars(part).values()]
    return named or gc.get_referents(part)  # a deque, an iterator, a generator: what is written in C tells it there alone


def _slots(kind: type) -> tuple[str, ...]:
    named = kind.__dict__.get("__slots__", ())
    listed = (named,) if isinstance(named, str) else tuple(named)
    private = f"_{kind.__name__.lstrip('_')}"
    return tuple(f"{private}{name}" if name.startswith("__") and not name.endswith("__") else name for name in listed)


def _is_full(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def holds_way_to_data(thing: object) -> bool:
    """Whether a curator, an engine, a source or a table can be reached from it."""
    return any(isinstance(part, _WAYS) or _is_data(part) for part in parts(thing))


def _is_data(part: object) -> bool:
    return not isinstance(part, type) and isinstance(part, Engine | Source | Table)


def holds_number(thing: object, marks: frozenset[float]) -> bool:
    """Whether one of these numbers can be reached from it, by itself or in an array."""
    wanted = np.array(sorted(marks))
    for part in parts(thing):
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            if np.isin(part, wanted).any():
                return True
        elif isinstance(part, float) and float(part) in marks:
            return True
    return False


def differs(one: object, other: object) -> bool:
    """Whether two things are made of different parts. NaN equals itself; functions are equal when they are one."""
    if one is other:
        return False
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return not _same_arrays(np.asarray(one), np.asarray(other))
    if isinstance(one, float) and isinstance(other, float):
        return not (one == other or (math.isnan(one) and math.isnan(other)))
    if type(one) is not type(other):
        return True
    if isinstance(one, Mapping):
        assert isinstance(other, Mapping)
        return one.keys() != other.keys() or any(differs(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        assert isinstance(other, list | tuple)
        return len(one) != len(other) or any(map(differs, one, other))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        return any(differs(getattr(one, part.name), getattr(other, part.name)) for part in dataclasses.fields(one))
    if hasattr(one, "__dict__") and type(one).__eq__ is object.__eq__:
        return differs(vars(one), vars(other))
    return bool(one != other)


def _same_arrays(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape or one.dtype == object or other.dtype == object:
        return one.shape == other.shape and not differs(one.tolist(), other.tolist())
    return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")
