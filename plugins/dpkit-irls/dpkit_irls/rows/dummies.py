"""Categories among the features: one entry a level but the first, 1 where the row has that level. Elementwise, so a row's own
affair; the levels are declared, so their number is public.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpkit import Setting
from dpkit_irls.rows.fixed_point import Array

Levels = tuple[int, ...]
"""By feature: how many levels a category has; 0 for a number."""


def levels_of(setting: Setting, features: Sequence[str]) -> Levels:
    """How many declared levels each feature has."""
    return tuple(len(setting.levels(name)) for name in features)


def entry_names(setting: Setting, features: Sequence[str]) -> tuple[str, ...]:
    """The names of the entries of x: a number's own, `carrier=UA` for a level. The first level is what others are against."""
    names: list[str] = []
    for name in features:
        levels = setting.levels(name)
        names += [f"{name}={level}" for level in levels[1:]] if levels else [name]
    return tuple(names)


def widened(features: Array, levels: Levels, references: tuple[int, ...] = ()) -> Array:
    """The features of a block with categories as zeros and ones, for every level but a reference (the first, unless told)."""
    if not any(levels):
        return features
    parts: list[npt.NDArray[np.float64]] = []
    for place, count in enumerate(levels):
        column = features[:, place : place + 1]
        others = other_levels(count, references[place] if references else 0)
        parts.append((column == np.array(others)).astype(np.float64) if count else column)
    return np.column_stack(parts)


def widen_into(out: Array, features: Array, levels: Levels, references: tuple[int, ...] = ()) -> None:
    """The same, written into `out`, a row a column of it."""
    rows = iter(out)
    for place, count in enumerate(levels or (0,) * features.shape[1]):
        if not count:
            next(rows)[...] = features[:, place]
            continue
        column = np.ascontiguousarray(features[:, place])  # it is compared again and again
        for level in other_levels(count, references[place] if references else 0):
            next(rows)[...] = column == float(level)


def other_levels(count: int, reference: int) -> list[int]:
    """The codes of a category but that of the reference."""
    return [level for level in range(count) if level != reference]


def predicted(features: Array, levels: Levels, slopes: Sequence[float]) -> Array:
    """Sums of slopes times entries against first levels, column by column; finite features of a block as they are."""
    total = np.zeros(features.shape[0])
    entries = widened(features, levels)
    for place, slope in enumerate(slopes):
        total += entries[:, place] * slope
    return total
