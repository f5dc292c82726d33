"""A statistic in every cell of a table, from one release; and its margins, made of the same released numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np

import dpkit
from dpkit.authoring import dataclass, text_code
from dpkit_stats.columns import count_is_free
from dpkit_stats.noise_errors import NoiseErrors, each_of
from dpkit_stats.one_release import CONFIDENCE, BringsNoise, OneRelease, Statistic, StatisticState, named_error
from dpkit_stats.private_keys import KeyNoise, key_advice, key_noise, released_keys
from dpkit_stats.results import Answer, Cell, GroupTable, TabledAnswer
from dpkit_stats.scaling import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """One statistic, evaluated on the totals of each cell, and of each margin: totals of cells add up.

    `total` is the number of rows in all cells together, where it is public. For the contributions of `statistic` that add up to
    one a row, the released totals are then moved to their nearest that add up to it (least squares, since all have the same
    noise). So cells, margins and the whole agree.
    """

    statistic: Statistic
    groups: dpkit.Groups
    query: dpkit.Query
    total: int | None = None

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> GroupTable:
        """The table, with its margins."""
        totals = np.asarray(released, dtype=np.float64)
        if self.total is not None:
            totals = totals + (self.total - math.fsum(totals.ravel().tolist())) / totals.size
        shaped = totals.reshape(*self.groups.shape, *self._released_shape)
        count = len(self.groups.columns)
        if isinstance(self.statistic, BringsNoise):  # choices do not add up
            return self._table(shaped, tuple(range(count)), errors, confidence)
        margins = [kept for size in range(count - 1, -1, -1) if size < 2 for kept in combinations(range(count), size)]
        return self._table(
            shaped,
            tuple(range(count)),
            errors,
            confidence,
            margins=tuple(self._table(shaped, kept, errors, confidence) for kept in margins),
        )

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """Of every cell at once, if rows are spread evenly over the cells."""
        each = None if rows is None else self.rows_of_a_cell(rows)
        return self.statistic.error(errors, each_of(self.groups.count, confidence), each)

    def rows_of_a_cell(self, rows: int) -> int:
        """An even share."""
        return max(1, rows // self.groups.count)

    @property
    def _released_shape(self) -> tuple[int, ...]:
        """What comes out of one cell."""
        return self.statistic.released_shape if isinstance(self.statistic, BringsNoise) else self.statistic.query.shape

    def _table(
        self,
        shaped: Array,
        kept: tuple[int, ...],
        errors: NoiseErrors,
        confidence: float,
        *,
        margins: tuple[GroupTable, ...] = (),
    ) -> GroupTable:
        """By these columns, the others added up."""
        summed = tuple(place for place in range(len(self.groups.columns)) if place not in kept)
        totals = shaped.sum(axis=summed).reshape(-1, *self._released_shape)
        together = self.groups.count // totals.shape[0]
        is_public = self.total is not None and not kept and not self.statistic.query.shape  # the number of all rows
        over = NoiseErrors(noise=errors.noise, cells=0 if is_public else together)
        columns = tuple(self.groups.columns[place] for place in kept)
        labels: list[tuple[Cell, ...]] = [()]
        if columns:
            labels = list(dpkit.Groups(columns=columns).labels())
        each = each_of(totals.shape[0], confidence)
        answers: list[TabledAnswer] = [self.statistic.answer(total, over, each) for total in totals]
        shown = dict(zip(self.groups.names, self.groups.shown, strict=True))
        names = (
            *(shown[column.column] for column in columns),
            *answers[0].heads(),
            "estimate",
            "lower",
            "upper",
            *answers[0].notes(),
        )
        rows = tuple((*label, *row) for label, answer in zip(labels, answers, strict=True) for row in answer.rows())
        return GroupTable(columns=names, rows=rows, confidence=confidence, margins=margins)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedState:
    """The noise multiplier, and what was released so far: the keys, then the totals of their cells."""

    noise: float
    keys: tuple[str, ...] | None = None
    cells: StatisticState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRelease:
    """A statistic in groups by keys that nobody declared: first the keys that enough people have, then a table of them.

    Both releases have the same noise multiplier. Prices do not depend on how many keys come out.
    """

    setting: dpkit.Setting
    statistic: Statistic
    mechanism: dpkit.Choice
    groups: dpkit.Groups

    def __post_init__(self) -> None:
        self._table(_NO_KEYS).plan(1.0)  # whatever is wrong with the statistic or its noise is said now

    def plan(self, noise: float) -> dpkit.Event:
        """The keys, and a table of whatever keys come out."""
        keys = dpkit.planned_keys(self.setting, self._query, self._key_noise(noise))
        return dpkit.Compose(events=(keys, self._table(_NO_KEYS).plan(noise)))

    def init(self, noise: float) -> KeyedState:
        """Nothing released yet."""
        return KeyedState(noise=self._table(_NO_KEYS).init(noise).noise)

    def step(self, state: KeyedState, curator: dpkit.Curator) -> KeyedState:
        """The keys; then their cells."""
        if state.keys is None:
            return replace(state, keys=released_keys(curator, self._query, self._key_noise(state.noise)).texts)
        table = self._table(state.keys)
        return replace(state, cells=table.step(table.init(state.noise), curator))

    def finished(self, state: KeyedState) -> bool:
        """Once the cells are there, or no key came out."""
        return state.keys is not None and (not state.keys or state.cells is not None)

    def result(self, state: KeyedState) -> Answer | None:
        """The table; without rows where no key came out."""
        if state.keys is None or (state.keys and state.cells is None):
            return None
        if state.cells is None:
            table, nothing = self._table(_NO_KEYS), np.zeros(self._table(_NO_KEYS).statistic.query.shape)
            found: GroupTable = table.statistic.answer(nothing, NoiseErrors(noise=table.noise(1.0)), CONFIDENCE)
            return GroupTable(columns=found.columns, rows=(), confidence=CONFIDENCE)
        return self._table(state.keys).result(state.cells)

    def accuracy(self, noise: float, confidence: float = CONFIDENCE, *, rows: int | None = None) -> float | dict[str, float]:
        """Of one cell, where the number of its rows does not matter; else nobody can say."""
        errors = NoiseErrors(noise=self._table(_NO_KEYS).noise(noise))
        return named_error(self.statistic, self.statistic.error(errors, confidence, None))

    def advice(self, noise: float) -> tuple[str, ...]:
        """Which keys to expect."""
        return key_advice(self._key_noise(noise))

    @property
    def _query(self) -> dpkit.KeyQuery:
        assert self.groups.keys is not None
        return dpkit.KeyQuery(column=self.groups.keys.column)

    def _key_noise(self, noise: float) -> KeyNoise:
        assert self.groups.keys is not None
        return key_noise(self.setting, replace(self.groups.keys, noise="gaussian"), noise)

    def _table(self, keys: tuple[str, ...]) -> OneRelease:
        groups = self.groups.with_keys(keys, [text_code(key) for key in keys])
        query = dpkit.grouped_query(self.statistic.query, groups)
        grouped = Grouped(statistic=self.statistic, groups=groups, query=query)
        return OneRelease(setting=self.setting, statistic=grouped, mechanism=self.mechanism)


_NO_KEYS = ("one", "two")
"""Stand for keys before there are any."""


def released(
    setting: dpkit.Setting,
    statistic: Statistic,
    mechanism: dpkit.Choice,
    by: dpkit.Groups | None,
    *,
    beside: dpkit.Query | None = None,
    adds_up: bool = False,
) -> OneRelease | KeyedRelease:
    """The algorithm of a statistic, in groups where there are any. `adds_up`: its contributions add up to one a row."""
    if by is None:
        return OneRelease(setting=setting, statistic=statistic, mechanism=mechanism, beside=beside)
    if by.keys is not None:
        return KeyedRelease(setting=setting, statistic=statistic, mechanism=mechanism, groups=by)
    query = dpkit.grouped_query(statistic.query, by)
    is_known = adds_up and by.is_complete and count_is_free(setting, query.columns)
    grouped = Grouped(statistic=statistic, groups=by, query=query, total=setting.size if is_known else None)
    return OneRelease(setting=setting, statistic=grouped, mechanism=mechanism)
