"""The bank: every column for outputs of one shape, and the past of their scores, each computed before it was learned from."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from dpkit.auditing.betting.bets import Bet, OutputEvent
from dpkit.auditing.betting.columns import Columns, Coordinates, Nearness, OutputForm, Spectrum, Summaries
from dpkit.auditing.betting.learned_columns import BinnedRatio, CategoryRatio, Logistic, TreeRatio
from dpkit.auditing.betting.narrow_columns import NarrowCells, Ties
from dpkit.auditing.betting.profile import Point
from dpkit.numerics.special import Array

_MEMORY = 65_536
"""Pairs remembered; a longer past would cost time and change little."""
_REPEATING = 4
"""Entries whose values are counted one by one."""
_FRESH = 0.6
"""The share of the past by which cuts of a learned column are chosen: its older scores came from an older column."""


def columns_for(
    shape: tuple[int, ...], pair: tuple[object, object], outputs: Array, points: Sequence[Point]
) -> tuple[Columns, ...]:
    """The columns that suit outputs of this shape (without the first axis), against a claim tested at these points."""
    chosen: list[Columns] = [Coordinates(shape), Nearness(pair, shape), CategoryRatio(), BinnedRatio(), Logistic(), TreeRatio()]
    chosen += [Ties(pair, outputs), NarrowCells(points)]
    if int(np.prod(shape)) > 1:
        chosen += [Summaries(), *(CategoryRatio(entry) for entry in range(min(int(np.prod(shape)), _REPEATING)))]
    if len(shape) == 2 and shape[0] == shape[1] > 1 and np.array_equal(outputs, np.swapaxes(outputs, 1, 2)):
        chosen.append(Spectrum(pair, shape))
    return tuple(chosen)


class ColumnScores:
    """Columns with their past. `scores` reads the columns as the past made them; `take` adds to the past."""

    def __init__(self, columns: Sequence[Columns]) -> None:
        self._columns = tuple(columns)
        self.names: tuple[str, ...] = tuple(name for column in self._columns for name in column.names)
        self._learned = np.concatenate([np.full(len(column.names), column.learns) for column in self._columns])
        self._mirrored = np.concatenate([np.full(len(column.names), column.mirrored) for column in self._columns])
        self._scores: tuple[Array, Array] = (np.zeros((0, len(self.names))), np.zeros((0, len(self.names))))
        self._outputs: tuple[Array, Array] | None = None
        self.taken = 0
        """How many pairs of outputs were taken in."""

    def scores(self, outputs: Array) -> Array:
        """One row an output, one column a name."""
        with np.errstate(all="ignore"):  # outputs may hold anything; a warning would say no more than a score does
            return np.concatenate([column.scores(outputs) for column in self._columns], axis=1)

    def event(self, bet: Bet, form: OutputForm) -> OutputEvent:
        """The set of a bet in words, and as code that holds what the columns have learned by now."""
        place = bet.column
        for column in self._columns:
            if place < len(column.names):
                return bet.event(*column.condition(place, upper=bet.upper, cut=bet.cut, form=form))
            place -= len(column.names)
        raise AssertionError("a bet is on one of the columns")

    def take(self, outputs: tuple[Array, Array], scores: tuple[Array, Array]) -> None:
        """Remember both sides, and let the columns learn."""
        self.taken += outputs[0].shape[0]
        self._scores = _longer(self._scores, scores)
        self._outputs = outputs if self._outputs is None else _longer(self._outputs, outputs)
        with np.errstate(all="ignore"):
            for column in self._columns:
                column.learn(*self._outputs)

    def pasts(self) -> dict[int, tuple[Array, Array]]:
        """By column, its scores on both sides, as they were before they were learned from."""
        one, two = self._scores
        found = {}
        for column, learned in enumerate(self._learned):
            start = int(one.shape[0] * (1.0 - _FRESH)) if learned and one.shape[0] > 200 else 0
            found[column] = one[start:, column], two[start:, column]
        return found

    def recent(self) -> tuple[Array, Array]:
        """The scores of all columns on both sides, as far back as those of learned columns are used."""
        one, two = self._scores
        start = int(one.shape[0] * (1.0 - _FRESH)) if self._learned.any() and one.shape[0] > 200 else 0
        return one[start:], two[start:]

    def mirrored(self) -> tuple[tuple[Array, Array], dict[int, tuple[Array, Array]]]:
        """The recent past as if either side mirrored the other: twice as many scores, of columns for which that has a meaning.

        Noise is mostly even, and then what one side is like is told by the other. First all columns, then by column.
        """
        one, two = self.recent()
        both = np.concatenate([one, -two]), np.concatenate([two, -one])
        return both, {int(column): (both[0][:, column], both[1][:, column]) for column in np.flatnonzero(self._mirrored)}

    def frozen(self) -> ColumnScores:
        """A copy of the columns as they are, without their past, for scoring only."""
        return ColumnScores(copy.deepcopy(self._columns))


def _longer(past: tuple[Array, Array], new: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.concatenate([past[0], new[0]])[-_MEMORY:], np.concatenate([past[1], new[1]])[-_MEMORY:]
