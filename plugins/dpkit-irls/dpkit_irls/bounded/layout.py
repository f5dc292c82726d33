"""Where the entries of a regression lie: numbers, the constant and dummies of categories; and the way back to columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit.authoring import dataclass
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.rows.dummies import Levels, other_levels
from dpkit_irls.rows.fixed_point import Array

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyEntries:
    """A category: which feature it is, where its entries start, and how many levels it has."""

    feature: int
    start: int
    levels: int

    @property
    def part(self) -> slice:
        """Its entries."""
        return slice(self.start, self.start + self.levels - 1)

    def others(self, frame: Frame) -> list[int]:
        """The levels of its entries: all but the reference."""
        return other_levels(self.levels, frame.references[self.feature] if frame.references else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """From public facts: how many levels each feature has (0 for a number), and whether there is a constant, which is last."""

    levels: Levels
    intercept: bool

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the entries of each feature start."""
        sizes = [count - 1 if count else 1 for count in self.levels]
        return tuple(sum(sizes[:place]) for place in range(len(sizes)))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The entries that are numbers."""
        return tuple(start for start, count in zip(self.starts, self.levels, strict=True) if not count)

    @property
    def categories(self) -> tuple[DummyEntries, ...]:
        """Those with levels beyond a reference."""
        return tuple(
            DummyEntries(feature=place, start=start, levels=count)
            for place, (start, count) in enumerate(zip(self.starts, self.levels, strict=True))
            if count
        )

    @property
    def entries(self) -> int:
        """How many entries there are, without the constant."""
        return sum(count - 1 if count else 1 for count in self.levels)

    @property
    def size(self) -> int:
        """How many coefficients there are."""
        return self.entries + self.intercept

    @property
    def plain(self) -> Places:
        """The coordinates of numbers and of the constant: those that are whitened."""
        return np.array([*self.numbers, *([self.entries] if self.intercept else [])], dtype=np.int64)

    def coded(self, frame: Frame, category: DummyEntries) -> Array:
        """What the entries of a category are in each level: a row a level."""
        others = category.others(frame)
        centres, units = np.array(frame.centres)[category.part], np.array(frame.units)[category.part]
        return np.asarray(((np.arange(category.levels)[:, None] == np.array(others)) - centres) / units)

    def to_columns(self, frame: Frame) -> Array:
        """L: coefficients of columns (levels against the first; the constant last) are L position."""
        centres, units = np.array(frame.centres), np.array(frame.units)
        found = np.zeros((self.size, self.size))
        constant = np.zeros(self.size)
        constant[: self.entries] = -centres / units
        for place in self.numbers:
            found[place, place] = 1.0 / units[place]
        for category in self.categories:
            effects = np.zeros((category.levels, self.size))
            for place, level in enumerate(category.others(frame), start=category.start):
                effects[level, place] = 1.0 / units[place]
            found[category.part] = effects[1:] - effects[0]
            constant += effects[0]
        if self.intercept:
            constant[-1] = 1.0
            found[-1] = constant
        return np.asarray(found @ frame.preconditioner)

    def turn(self, block: Array) -> Array:
        """A turn of numbers and constant, among all coordinates."""
        found = np.eye(self.size)
        found[np.ix_(self.plain, self.plain)] = block
        return found
