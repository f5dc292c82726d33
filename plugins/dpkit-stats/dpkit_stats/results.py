"""Answers: estimates with a bound on their error that holds with the stated confidence."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol


class Result(Protocol):
    """What every answer can do."""

    @property
    def error(self) -> float:
        """A bound on the error, which holds with the stated confidence."""
        ...

    def to_dict(self) -> dict[str, object]:
        """The answer as plain numbers, texts and lists."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A count or a sum."""

    estimate: float
    error: float
    confidence: float

    def to_dict(self) -> dict[str, object]:
        """Plain numbers."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """A mean or a variance; `count` is the number of rows behind it, noisy unless it is public."""

    estimate: float
    error: float
    confidence: float
    count: float

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

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, texts and lists."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """A value for each probability, in order.

    `error` bounds all of them at once, in rank: up to `resolution`, the share of rows below an estimate is within `error` of
    its probability.
    """

    probabilities: tuple[float, ...]
    estimates: tuple[float, ...]
    error: float
    confidence: float
    resolution: float
    count: float

    def to_dict(self) -> dict[str, object]:
        """Plain numbers and lists."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariance:
    """The covariance matrix, positive semidefinite, and the means. `error` bounds the Frobenius norm of the matrix's error."""

    columns: tuple[str, ...]
    estimate: tuple[tuple[float, ...], ...]
    means: tuple[float, ...]
    error: float
    confidence: float
    count: float

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, texts and lists."""
        return _plain(self)


def _plain(result: Number | Average | Histogram | Quantiles | Covariance) -> dict[str, object]:
    return {field.name: _listed(getattr(result, field.name)) for field in fields(result)}


def _listed(value: object) -> object:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
