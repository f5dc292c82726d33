"""The public facts of a robust regression: ranges of its columns and of its target, before anything is released."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpkit import Setting
from dpkit.authoring import dataclass
from dpkit_irls.bounded.influence_query import Octaves
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.step_query import Carried, mix_for, step
from dpkit_irls.bounded.tuning import ABUNDANT, MOST_FRESH, SHARES, TUNING, Shares, Tuning, needed
from dpkit_irls.loss import ROBUST, Family
from dpkit_irls.rows.class_scores import slope_of_classes


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A declared range, the place that it is looked at from, and the power of two above the farthest it goes from there."""

    low: float
    high: float
    anchor: float

    @property
    def reach(self) -> float:
        """How far it goes from the anchor; 1 where it goes nowhere."""
        return max(self.high - self.anchor, self.anchor - self.low) or 1.0

    @property
    def unit(self) -> float:
        """A power of two of at least the reach."""
        return math.ldexp(1.0, math.frexp(self.reach)[1])

    @property
    def may_be_truth(self) -> bool:
        """Whether it is that of truth values."""
        return (self.low, self.high) == (0.0, 1.0)

    def window(self, unit: float) -> tuple[float, float]:
        """What lies within four units of the anchor, as distances from there."""
        return max(self.low - self.anchor, -4.0 * unit), min(self.high - self.anchor, 4.0 * unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Columns (the target last), where entries lie, the family, public coefficients to start from (the constant last), the
    entries whose unit is released, how many steps and rounds there are, how the budget is divided, and constants.
    """

    setting: Setting
    columns: tuple[str, ...]
    layout: Layout
    family: Family = ROBUST
    start: tuple[float, ...] = ()
    released_units: tuple[int, ...] = ()
    iterations: int = 16
    rounds: int = 2
    parts: Shares = SHARES
    tuning: Tuning = TUNING
    is_weighted: bool = False
    ridge: float = 0.0

    @property
    def classes(self) -> int:
        """How many classes the target has, in a regression of classes; else 0."""
        return len(self.setting.levels(self.columns[-1])) if self.family.target == "class" else 0

    @property
    def rows(self) -> float | None:
        """Their number, where it is public; with weights, how much they count is not."""
        if self.is_weighted:
            return None
        return float(self.setting.size) if self.setting.size_is_public and self.setting.size is not None else None

    @property
    def abundant(self) -> bool:
        """Whether there are so many rows that each of a few steps may stand for itself."""
        linked = self.family.link is not None and not self.classes
        return linked and self.iterations <= MOST_FRESH and (self.rows or 0.0) > ABUNDANT * needed(self.layout.size)

    def needed(self, noise: float) -> float:
        """About how many rows are needed, where mu is 1 / noise. Where a person moves a step half as far, half as many are."""
        flatter = slope_of_classes(2) / slope_of_classes(self.classes) if self.classes else 1.0
        return flatter * self.family.needs * needed(self.layout.size) * 0.2146 * noise * self._distances()[0] / 2.0

    def rows_of_a_person(self) -> float:
        """How many rows one person may have: as many times as a row does a person moves a step."""
        person, row = self._distances()
        return person / row

    def _distances(self) -> tuple[float, float]:
        """How far a person, and a row, move a step."""
        return _distances_of(self)

    @property
    def targets(self) -> Octaves:
        """Bins of the target's magnitude."""
        return Octaves(low=max(math.frexp(self.target().reach)[1] - 47, -1020), bins=48)

    @property
    def magnitudes(self) -> Octaves:
        """Bins of the magnitudes of numbers, in units of their ranges."""
        return Octaves(low=-48, bins=48 // self.tuning.octave + 1, step=self.tuning.octave)

    @property
    def least_threshold(self) -> float:
        """Never near the subnormal numbers, where the two ways to cut a score would differ."""
        return max(1e-20 * self.target().reach, 1e-200)

    @property
    def slopes(self) -> tuple[float, ...]:
        """The public coefficients of entries, by which targets are made less; with a link the steps start there instead."""
        return () if self.family.link else self.start[: self.layout.entries]

    def numbers(self) -> list[Range]:
        """Of the numbers among the features, each seen from its anchor; from zero without a constant."""
        found = []
        for name, levels in zip(self.columns[:-1], self.layout.levels, strict=True):
            low, high = self.setting.range(name)
            if not levels:
                found.append(Range(low=low, high=high, anchor=_anchor(low, high) if self.layout.intercept else 0.0))
        return found

    def target(self) -> Range:
        """Of the target, less what the start predicts."""
        low, high = self.setting.range(self.columns[-1])
        if self.family.link:
            return Range(low=low, high=high, anchor=0.0)
        if not self.start:
            return Range(low=low, high=high, anchor=_anchor(low, high) if self.layout.intercept else 0.0)
        for name, start, count in zip(self.columns[:-1], self.layout.starts, self.layout.levels, strict=True):
            slopes = self.slopes[start : start + max(count - 1, 1)]
            ends = (0.0, *slopes) if count else tuple(slopes[0] * end for end in self.setting.range(name))
            low, high = low - max(ends), high - min(ends)
        return Range(low=low, high=high, anchor=self.start[-1] if self.layout.intercept else 0.0)

    def frame(self) -> Frame:
        """How rows are seen before anything is released: columns within their declared ranges, no preconditioner."""
        return _frame_of(self)


@lru_cache(maxsize=8)
def _distances_of(facts: Facts) -> tuple[float, float]:
    """A plan asks for the same at every noise that is tried."""
    mix = mix_for(Carried.SCATTER, facts.setting.neighbours)
    query = step(facts.frame(), np.zeros(facts.layout.size), 1.0, mix)
    person = next(found for found in facts.setting.distances(query) if found.metric == "l2")
    return person.value, mix.sensitivity(facts.setting.neighbours)[0].value


@lru_cache(maxsize=8)
def _frame_of(facts: Facts) -> Frame:
    """One frame for all plans of the same: what is planned in it is one query."""
    layout, numbers = facts.layout, iter(facts.numbers())
    centres, units = np.zeros(layout.entries), np.ones(layout.entries)
    for place in layout.numbers:
        declared = next(numbers)
        centres[place], units[place] = declared.anchor, declared.unit
    return Frame(
        columns=facts.columns,
        units=tuple(units.tolist()),
        centres=tuple(centres.tolist()),
        intercept=layout.intercept,
        preconditioner=np.eye(layout.size),
        levels=layout.levels,
        references=(0,) * len(layout.levels),
        origin=facts.target().anchor,
        start=facts.slopes,
    )


def _anchor(low: float, high: float) -> float:
    """From where a declared range is looked at: zero where it holds zero, else its middle, as for a truth value.

    Ranges that are far too wide on one side are common, such as an income from 0 to ten million: seen from their middle, all
    rows are about as far away, and no unit is found.
    """
    return 0.0 if low <= 0.0 <= high and (low, high) != (0.0, 1.0) else 0.5 * low + 0.5 * high
