"""Answers: estimates with the interval in which the true value of these rows lies, with the stated confidence.

Intervals speak of the noise alone: how far an answer is from that of the same rows without noise. `about` says so.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Protocol

from dpkit.authoring import dataclass

NOISE = "noise alone"
"""What intervals and errors speak of. How far these rows are from the world is another question."""

Cell = str | bool | int | float


class Answer(Protocol):
    """What every answer can do."""

    @property
    def error(self) -> float:
        """A bound on the error, which holds with the stated confidence."""
        ...

    def to_dict(self) -> dict[str, object]:
        """The answer as plain numbers, texts and lists."""
        ...


class TabledAnswer(Answer, Protocol):
    """An answer that can stand in a table: one row or several, each with its estimate and interval."""

    def heads(self) -> tuple[str, ...]:
        """What tells the rows of one answer apart, before the estimate."""
        ...

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """For each row: what tells it apart, estimate, lower, upper, and what `notes` names."""
        ...

    def notes(self) -> tuple[str, ...]:
        """What stands behind the interval."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A count or a sum."""

    estimate: float
    lower: float
    upper: float
    error: float
    confidence: float
    about: str = NOISE

    def heads(self) -> tuple[str, ...]:
        """One row."""
        return ()

    def notes(self) -> tuple[str, ...]:
        """Nothing more."""
        return ()

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """One row."""
        return ((self.estimate, self.lower, self.upper),)

    def to_dict(self) -> dict[str, object]:
        """Plain numbers."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """A mean, a variance or a proportion; `count` is the number of rows behind it, noisy unless it is public."""

    estimate: float
    lower: float
    upper: float
    error: float
    confidence: float
    count: float
    about: str = NOISE

    def heads(self) -> tuple[str, ...]:
        """One row."""
        return ()

    def notes(self) -> tuple[str, ...]:
        """How many rows."""
        return ("count",)

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """One row."""
        return ((self.estimate, self.lower, self.upper, self.count),)

    def to_dict(self) -> dict[str, object]:
        """Plain numbers."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """A count for each cell, as released: small ones may be negative. `error` bounds all of them at once."""

    cells: tuple[str, ...]
    estimates: tuple[float, ...]
    error: float
    confidence: float
    about: str = NOISE

    def heads(self) -> tuple[str, ...]:
        """The cell."""
        return ("cell",)

    def notes(self) -> tuple[str, ...]:
        """Nothing more."""
        return ()

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """One row a cell."""
        named = zip(self.cells, self.estimates, strict=True)
        return tuple((cell, count, count - self.error, count + self.error) for cell, count in named)

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, texts and lists."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """A value for each probability, in the order in which they were asked for.

    `lower` and `upper` are in the units of the column, and hold for all probabilities at once. `rank_error` says the same in
    rank, and is what a plan states: up to `resolution`, the rows below an estimate differ by at most this number from what
    the probability says. `count` is known where counts were released.
    """

    probabilities: tuple[float, ...]
    estimates: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    rank_error: float
    confidence: float
    resolution: float
    count: float | None = None
    about: str = NOISE

    @property
    def error(self) -> float:
        """In rank, in rows."""
        return self.rank_error

    def heads(self) -> tuple[str, ...]:
        """The probability."""
        return ("probability",)

    def notes(self) -> tuple[str, ...]:
        """How many rows, where that came out."""
        return () if self.count is None else ("count",)

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """One row a probability."""
        named = zip(self.probabilities, self.estimates, self.lower, self.upper, strict=True)
        return tuple((*row,) if self.count is None else (*row, self.count) for row in named)

    def to_dict(self) -> dict[str, object]:
        """Plain numbers and lists."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MiddleValue:
    """A median. `lower` and `upper` are in the units of the column; `rank_error`, which a plan states, is in rows of rank."""

    estimate: float
    lower: float
    upper: float
    rank_error: float
    confidence: float
    resolution: float
    count: float | None = None
    about: str = NOISE

    @property
    def error(self) -> float:
        """In rank, in rows."""
        return self.rank_error

    def heads(self) -> tuple[str, ...]:
        """One row."""
        return ()

    def notes(self) -> tuple[str, ...]:
        """How many rows, where that came out."""
        return () if self.count is None else ("count",)

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """One row."""
        found = (self.estimate, self.lower, self.upper)
        return (found if self.count is None else (*found, self.count),)

    def to_dict(self) -> dict[str, object]:
        """Plain numbers."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTable:
    """An answer for every cell: first the columns of the groups, then `estimate`, `lower` and `upper`, one row a cell.

    All intervals of a table hold at once, with the stated confidence. `margins` are the same by fewer columns, down to the
    whole: made of the same released numbers, so that cells and totals agree.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    confidence: float
    margins: tuple[GroupTable, ...] = ()
    about: str = NOISE

    @property
    def error(self) -> float:
        """The largest distance of an estimate from an end of its interval."""
        estimate, lower, upper = (self.column(name) for name in ("estimate", "lower", "upper"))
        ends = zip(estimate, lower, upper, strict=True)
        return max((max(float(high) - float(one), float(one) - float(low)) for one, low, high in ends), default=0.0)

    def column(self, name: str) -> tuple[Cell, ...]:
        """One column, from top to bottom."""
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, texts and lists."""
        found = _plain(self)
        found["margins"] = [margin.to_dict() for margin in self.margins]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariance:
    """The covariance matrix, positive semidefinite, and the means. `error` bounds the Frobenius norm of the matrix's error."""

    columns: tuple[str, ...]
    estimate: tuple[tuple[float, ...], ...]
    means: tuple[float, ...]
    error: float
    confidence: float
    count: float
    about: str = NOISE

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, texts and lists."""
        return _plain(self)


def _plain(result: Total | Average | Histogram | Quantiles | MiddleValue | Covariance | GroupTable) -> dict[str, object]:
    named = {field.name: getattr(result, field.name) for field in fields(result)}
    return {name: _listed(value) for name, value in named.items() if value is not None}


def _listed(value: object) -> object:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
