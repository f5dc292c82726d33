"""What runs on the workers: rows are read and summed here, and a task returns exact sums, or hashes and marks of rows, only.

Every task is a function of its arguments alone, so one whose worker died is run again, to the same bits.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import cloudpickle
import numpy as np
import numpy.typing as npt

from dpkit.authoring import Block
from dpkit.authoring.engines import (
    Bounding,
    FoundRows,
    QuerySums,
    SourcePart,
    Totals,
    first_of_each,
    found_rows,
    gathered,
    kind_of,
    quietly,
    shared_out,
)

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

Mask = tuple[npt.NDArray[np.uint8], int]
"""Which rows of a part are used, a bit each, and how many rows there are."""


class PartFailedError(RuntimeError):
    """A task failed on a worker. The cause is named by its kind alone: its message might show data."""


def _nameless(task: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    @wraps(task)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Returned:
        try:
            with quietly():
                return task(*arguments, **options)
        except MemoryError:
            failure: Exception = MemoryError()  # numpy's would say how many rows there were
        except BaseException as error:  # noqa: BLE001 - whatever it says may quote a row, and workers write what fails to their logs
            failure = PartFailedError(kind_of(error))
        raise failure

    return run


@_nameless
def unpacked(packed: bytes) -> QuerySums:
    """The queries; a task of its own, so that they are sent once and can be made again."""
    plan = cloudpickle.loads(packed)
    assert isinstance(plan, QuerySums)
    return plan


@_nameless
def rehearsed(packed: bytes, sample: Block) -> bool:
    """Whether the queries can be loaded and summed here, on made-up rows."""
    plan = unpacked(packed)
    plan.partial(sample)
    return True


@_nameless
def partial_sum(part: SourcePart, mask: Mask | None, *, plan: QuerySums, rows: int, machine: str) -> Totals:
    """The exact sums of one part, in one pass over the columns that are needed."""
    if machine != machine_kind():
        raise RuntimeError("another kind of machine joined the cluster")
    kept = None if mask is None else np.unpackbits(mask[0], count=mask[1]).astype(np.bool_)
    totals = plan.zero()
    for block in part.blocks(plan.columns, rows, kept=kept):
        totals = plan.merge(totals, plan.partial(block))
    return totals


@_nameless
def merged(parts: Sequence[Totals]) -> Totals:
    """The exact sums of several parts: integers are added, so every order gives the same bits."""
    first, *others = parts
    total = first
    for other in others:
        total = tuple(one.plus(two) for one, two in zip(total, other, strict=True))
    return total


@_nameless
def persons_of(part: SourcePart, bounding: Bounding, shares: int) -> tuple[list[FoundRows], int]:
    """Keyed hashes of whose the rows of a part are, shared out by person, and how many rows there are."""
    rows = gathered(list(found_rows(lambda: part.persons(bounding.column), key=bounding.key)))
    return shared_out(rows, shares), part.count()


def share_of(found: tuple[list[FoundRows], int], share: int) -> FoundRows:
    """One share of what was found in a part."""
    return found[0][share]


@_nameless
def kept_of(found: Sequence[FoundRows], bounding: Bounding) -> list[npt.NDArray[np.int64]]:
    """Which rows of each part are used, of the persons of one share: all their rows in all parts are here."""
    everything = gathered(found)
    owner = np.repeat(np.arange(len(found)), [rows.position.size for rows in found])
    chosen = first_of_each(everything, at_most=bounding.at_most, key=bounding.key)
    return [everything.position[chosen[owner[chosen] == place]] for place in range(len(found))]


@_nameless
def mask_of(found: tuple[list[FoundRows], int], kept: Sequence[npt.NDArray[np.int64]]) -> Mask:
    """The rows of one part that are used, as bits."""
    count = found[1]
    used = np.zeros(count, dtype=np.bool_)
    for positions in kept:
        used[positions] = True
    return np.packbits(used), count


def machine_kind() -> str:
    """What a row's contribution might depend on, beside the row: the arithmetic of this machine, and the code."""
    features: dict[str, bool] = _multiarray().__cpu_features__
    used = ",".join(sorted(name for name, there in features.items() if there))
    parts = [platform.machine(), *platform.libc_ver(), platform.python_version(), used]
    return ";".join([*parts, *map(_version, _COUNTS_WITH), *plugin_versions()])


_COUNTS_WITH = ("numpy", "scipy", "pyarrow")
"""Packages by whose version a row might be read, or count, differently."""


def _version(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"no {package}"


def plugin_versions() -> tuple[str, ...]:
    """dpkit and its installed plugins, with their versions."""
    points = importlib.metadata.entry_points(group="dpkit")
    found = {f"{point.dist.name} {point.dist.version}" for point in points if point.dist is not None}
    return (f"dpkit {importlib.metadata.version('dpkit')}", *sorted(found))


def file_sizes(paths: Sequence[str]) -> list[int | None]:
    """How large these files are, as seen from here; None for one that is not there."""
    return [os.path.getsize(path) if os.path.exists(path) else None for path in paths]


def _multiarray() -> Any:
    try:
        return importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:  # numpy 1
        return importlib.import_module("numpy.core._multiarray_umath")
