"""The one algorithm behind all statistics: one release of one query, and an answer read from it."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

import dpkit
from dpkit.authoring import dataclass, finite_number
from dpkit_stats.noise_errors import NoiseErrors
from dpkit_stats.results import Answer
from dpkit_stats.scaling import Array

CONFIDENCE = 0.95


class Statistic(Protocol):
    """What differs from one statistic to the next. It holds public facts only."""

    @property
    def query(self) -> dpkit.Query:
        """What is released."""
        ...

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Any:
        """The answer, from the released value, with an error that holds with this confidence."""
        ...

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """The error to expect before anything is released, for a number of rows; infinity where that matters and is unknown."""
        ...


IN_RANK = "rank, in rows"
"""What the error of a quantile is in: by how many rows its rank is off."""


@runtime_checkable
class NamesItsError(Protocol):
    """A statistic whose error is not in the units of its answer."""

    @property
    def error_in(self) -> str:
        """What it is in."""
        ...


def named_error(statistic: object, error: float) -> float | dict[str, float]:
    """The error as `accuracy` gives it: with its name, where it is not in the units of the answer."""
    own = getattr(statistic, "statistic", statistic)  # that of each cell, in groups
    return {own.error_in: error} if isinstance(own, NamesItsError) else error


@runtime_checkable
class SharesRows(Protocol):
    """A statistic of cells that share the rows: of an error that depends on their number, its plan says for which."""

    def rows_of_a_cell(self, rows: int) -> int:
        """An even share."""
        ...


class NoiseAt(Protocol):
    """Noise up to its size."""

    def at(self, multiplier: float) -> dpkit.Mechanism:
        """The mechanism at this noise multiplier."""
        ...


@runtime_checkable
class BringsNoise(Protocol):
    """A statistic with a mechanism of its own, whose outputs are no noisy totals: of another shape, and not to be added up."""

    @property
    def released_shape(self) -> tuple[int, ...]:
        """What comes out of one group."""
        ...

    def noise(self, setting: dpkit.Setting, query: dpkit.Query) -> NoiseAt:
        """For its query, or that of all groups."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticState:
    """The noise multiplier, and what was released, if anything."""

    noise: float
    released: Array | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRelease:
    """A statistic as an algorithm of one step. The noise multiplier is a standard deviation relative to the sensitivity.

    `beside` is a number that nobody can move, which comes out of the same release and costs nothing.
    """

    setting: dpkit.Setting
    statistic: Statistic
    mechanism: dpkit.Choice
    beside: dpkit.Query | None = None
    _scaled: tuple[NoiseAt, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        own = getattr(self.statistic, "statistic", self.statistic)  # that of each cell, in groups
        scaled: tuple[NoiseAt, ...]
        if isinstance(own, BringsNoise):
            scaled = tuple(own.noise(self.setting, query) for query in self._queries())
        else:
            scaled = tuple(dpkit.noise_for(self.setting, query, self.mechanism) for query in self._queries())
        object.__setattr__(self, "_scaled", scaled)

    def plan(self, noise: float) -> dpkit.Event:
        """One release: what the curator will charge, because both ask the same question."""
        events = tuple(dpkit.planned_event(self.setting, query, mechanism) for query, mechanism in self._pairs(noise))
        return events[0] if len(events) == 1 else dpkit.Compose(events=events)

    def init(self, noise: float) -> StatisticState:
        """Nothing released yet."""
        return StatisticState(noise=finite_number(noise, field="noise", where="statistic", minimum=0.0, strict=True))

    def step(self, state: StatisticState, curator: dpkit.Curator) -> StatisticState:
        """The release."""
        found = curator.release_all(self._pairs(state.noise))
        return replace(state, released=found[0] if self.beside is None else np.stack([np.asarray(one) for one in found]))

    def finished(self, state: StatisticState) -> bool:
        """After one step."""
        return state.released is not None

    def result(self, state: StatisticState) -> Answer | None:
        """The answer; None where nothing was released."""
        if state.released is None:
            return None
        found: Answer = self.statistic.answer(state.released, NoiseErrors(noise=self._noise(state.noise)), CONFIDENCE)
        return found

    def accuracy(self, noise: float, confidence: float = CONFIDENCE, *, rows: int | None = None) -> float | dict[str, float]:
        """The error to expect of the noise with this confidence, before anything is spent and without a look at the data.

        Where the number of rows matters, it is `rows`, or the declared size; without either nobody can say: infinity. An error
        that is not in the units of the answer is named: {"rank, in rows": 12.0}.
        """
        known, errors = self.setting.size if rows is None else rows, NoiseErrors(noise=self._noise(noise))
        found = self.statistic.error(errors, confidence, known)
        shares = known is not None and isinstance(self.statistic, SharesRows)
        if shares and self.statistic.error(errors, confidence, 2 * known) != found:
            return {f"a cell of {self.statistic.rows_of_a_cell(known)} rows": found}
        return named_error(self.statistic, found)

    def _queries(self) -> list[dpkit.Query]:
        return [self.statistic.query] if self.beside is None else [self.statistic.query, self.beside]

    def _pairs(self, multiplier: float) -> list[tuple[dpkit.Query, dpkit.Mechanism]]:
        return [(query, scaled.at(multiplier)) for query, scaled in zip(self._queries(), self._scaled, strict=True)]

    def noise(self, multiplier: float) -> dpkit.Mechanism:
        """The noise of the statistic at this multiplier."""
        return self._noise(multiplier)

    def _noise(self, multiplier: float) -> dpkit.Mechanism:
        return self._scaled[0].at(multiplier)
