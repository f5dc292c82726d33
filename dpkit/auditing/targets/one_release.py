"""Functions of one release: `fn(data)`, as libraries have them, and those that return synthetic tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

from dpkit.auditing.outcomes import labels_of
from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array

_BUCKETS = 8
"""Into how many counts the categories of a column are gathered, by a hash of each: no list of categories has to be known."""
_SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)


class ReleasePerCall:
    """`fn(data)` or `fn(data, rng)`, called once for every output; a table that it returns is summed up in numbers.

    Whatever it draws from: where it takes no generator, `replay` cannot give it the same numbers, and `confirm` can confirm it.
    """

    independent = True

    def __init__(self, fn: Callable[..., object]) -> None:
        self.audited = fn
        self.__module__, self.__qualname__ = getattr(fn, "__module__", __name__), getattr(fn, "__qualname__", type(fn).__name__)
        self._with_rng = _takes(fn) == 2

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> list[object]:
        """n calls."""
        return [self._one(dataset, rng) for _ in range(n)]

    def _one(self, dataset: object, rng: np.random.Generator) -> object:
        from dpkit.auditing.draw_outputs import copied

        given = copied(dataset)
        found = self.audited(given, rng) if self._with_rng else self.audited(given)
        return table_numbers(found) if _is_table(found) else found


def one_release(fn: Callable[..., object]) -> ReleasePerCall:
    """A function of one release, `fn(data)` or `fn(data, rng)`, as a target of `dpkit.audit`."""
    if not callable(fn) or _takes(fn) not in (1, 2):
        allowed = "a function fn(data) or fn(data, rng)"
        raise InvalidValueError(field="target", found=getattr(fn, "__name__", fn), allowed=allowed, where="audit")
    return ReleasePerCall(fn)


def as_sampler(fn: object) -> object:
    """The function as it is where it takes (dataset, n, rng), as one release where it takes one or two arguments."""
    if callable(fn) and not isinstance(fn, type) and not hasattr(fn, "release_many") and _takes(fn) in (1, 2):
        return ReleasePerCall(fn)
    return fn


def _takes(fn: Callable[..., object]) -> int:
    """How a function is called: with 1 (data), 2 (and a generator) or 3 arguments (and how many outputs, before it).

    Of three places and more, the second is a number of outputs where it must be given or is called so; 3 where nothing is seen.
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return 3
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
        return 3
    placed = [one for one in parameters if one.kind in kinds]
    needed = sum(one.default is inspect.Parameter.empty for one in placed)
    if len(placed) >= 3 and (needed >= 2 or placed[1].name in ("n", "size", "count")):
        return 3
    if needed <= 1 and len(placed) > 1 and placed[1].name in ("rng", "random_state", "generator"):
        return 2
    return max(needed, 1)


def _is_table(found: object) -> bool:
    return hasattr(found, "columns") and hasattr(found, "to_dict")


def table_numbers(table: object) -> Array:
    """A synthetic table in numbers: its rows, their labels, of each column its missing cells, quantiles and a mean, or counts.

    Columns come in the order of their names. Of a column of numbers: mean and five quantiles; of another: how many cells each
    of eight buckets holds, by a hash. A table with other columns is an output of another shape.
    """
    columns = {str(name): list(table[name]) for name in table.columns}  # type: ignore[attr-defined,index]
    rows = max((len(cells) for cells in columns.values()), default=0)
    parts: list[float] = [float(rows), labels_of(table)]
    for name in sorted(columns):
        cells = [cell for cell in columns[name] if cell is not None and cell == cell]
        parts.append(float(rows - len(cells)))
        numbers = all(isinstance(cell, int | float | np.number) for cell in cells)
        parts += _spread([float(cell) for cell in cells]) if numbers else _counts([repr(cell) for cell in cells])
    return np.asarray(parts, dtype=np.float64)


def _spread(numbers: list[float]) -> list[float]:
    width = max(1 + len(_SHARES), _BUCKETS)
    if not numbers:
        return [0.0] * width
    found = [float(np.mean(numbers)), *np.quantile(numbers, _SHARES).tolist()]
    return found + [0.0] * (width - len(found))


def _counts(texts: list[str]) -> list[float]:
    from zlib import crc32

    places = [crc32(text.encode()) % _BUCKETS for text in texts]
    return [float(count) for count in np.bincount(np.asarray(places, dtype=np.int64), minlength=_BUCKETS)]
