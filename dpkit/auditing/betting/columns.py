"""Columns: numbers computed from an output, whose tails are the events that the black box bets on.

A column may learn, from the past only. What it promises is power; no choice of columns can make an audit wrong.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod

import numpy as np

from dpkit.auditing.draw_outputs import as_value, flat
from dpkit.numerics.rounding import in_full
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

_COORDINATES, _COMPARED = 10, 6
_LARGE = 1e12
"""Beyond this a cut is moved by what adding rounds alone: codes of outcomes are as large, with small numbers beside them."""


@dataclass(frozen=True, slots=True)
class OutputForm:
    """The shape of an output, and the grid to which outputs were rounded before columns saw them: 0 where they were whole."""

    shape: tuple[int, ...]
    grid: float = 0.0

    @property
    def size(self) -> int:
        """How many numbers an output has."""
        return int(np.prod(self.shape))

    def entry(self, place: int) -> str:
        """One number of an output y, as code: y itself where it is the only one."""
        if self.shape == (1,):
            return "y"
        return f"y[..., {', '.join(str(int(part)) for part in np.unravel_index(place, self.shape))}]"

    @property
    def row(self) -> str:
        """All numbers of an output y along the last axis, as code."""
        if self.shape == (1,):
            return "np.asarray(y)[..., np.newaxis]"
        if len(self.shape) == 1:
            return "y"
        return f"np.reshape(y, (*np.shape(y)[:-{len(self.shape)}], {self.size}))"

    def rounded(self, entries: str) -> str:
        """These entries on the grid, as code; what is huge stays as it is, as the outputs did."""
        if self.grid == 0.0:
            return entries
        near = f"np.round(v / {self.grid!r}) * {self.grid!r}"
        return f"(lambda v: np.where(np.abs(v) < {self.grid * 2.0**62!r}, {near}, v))({entries})"


def limited(entries: str) -> str:
    """These entries within limits that their squares do not leave, as code."""
    return f"np.clip({entries}, -1e150, 1e150)"


def literal(value: object) -> str:
    """Numbers, and arrays of them, as Python writes them; the same bits when they are read."""
    if isinstance(value, np.ndarray | list | tuple):
        return f"[{', '.join(literal(item) for item in value)}]"
    number = float(value)  # type: ignore[arg-type]
    if math.isfinite(number):
        return repr(int(value)) if isinstance(value, int | np.integer) else repr(number)
    return "-np.inf" if number < 0.0 else "np.inf"


class Columns(ABC):
    """Some columns: their names, their values for outputs, and what they learn from the past of both sides."""

    learns = False
    mirrored = False
    """Whether a score would change its sign if the two sides changed places, as that of a ratio does."""
    names: tuple[str, ...]
    """Each column as an expression in the output y."""

    @abstractmethod
    def scores(self, outputs: Array) -> Array:
        """One row an output, one column a name."""

    @abstractmethod
    def expression(self, column: int, form: OutputForm) -> str:
        """A column as it is now, as an expression of an output y that runs wherever numpy is."""

    def condition(self, column: int, *, upper: bool, cut: float, form: OutputForm) -> tuple[str, str]:
        """The tail {column >= cut} or {column <= cut} in words and as code, with the same cut.

        The cut is moved by what rounding may move the column, so that an atom at the cut lies in the set whoever computes it.
        """
        side, margin = (">=", -1.0) if upper else ("<=", 1.0)
        moved = cut + margin * self.margin(cut, form)
        return f"{self.names[column]} {side} {in_full(moved)}", f"{self.expression(column, form)} {side} {literal(moved)}"

    def margin(self, cut: float, form: OutputForm) -> float:
        """How far rounding may move a column near the cut."""
        if not math.isfinite(cut):
            return 0.0
        rounding = 1e-9 * (1.0 + abs(cut)) if abs(cut) <= _LARGE else form.size * 2.0**-52 * abs(cut)
        return 0.5 * form.size * form.grid + rounding

    def learn(self, first: Array, second: Array) -> None:
        """Take in everything seen so far."""
        return None


class Coordinates(Columns):
    """The entries of an output, the first few of them."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        size = int(np.prod(shape))
        self._count = min(size, _COORDINATES)
        self.names = ("y",) if size == 1 else tuple(f"y.flat[{j}]" for j in range(self._count))

    def scores(self, outputs: Array) -> Array:
        return flat(outputs)[:, : self._count]

    def expression(self, column: int, form: OutputForm) -> str:
        return form.entry(column)

    def margin(self, cut: float, form: OutputForm) -> float:
        """Half of the grid that it was rounded to."""
        return 0.5 * form.grid


class Differences(Columns):
    """The differences of the first few entries of an output: equal or shared noise shows there."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._pairs = list(itertools.combinations(range(min(int(np.prod(shape)), _COMPARED)), 2))
        self.names = tuple(f"y.flat[{j}] - y.flat[{i}]" for i, j in self._pairs)

    def scores(self, outputs: Array) -> Array:
        rows = flat(outputs)
        return np.stack([rows[:, j] - rows[:, i] for i, j in self._pairs], axis=1) if self._pairs else rows[:, :0]

    def expression(self, column: int, form: OutputForm) -> str:
        one, two = self._pairs[column]
        return f"{form.entry(two)} - {form.entry(one)}"


class Summaries(Columns):
    """What is often telling of a vector: sums, extremes, norms, and where things happen first."""

    names = (
        "np.sum(y)",
        "np.max(y)",
        "np.min(y)",
        "np.sum(np.abs(y))",
        "np.sqrt(np.sum(y * y))",
        "np.argmax(y)",
        "np.argmax(y != 0)",
        "np.unique(y).size",
    )

    def scores(self, outputs: Array) -> Array:
        rows = flat(outputs)
        clipped = np.clip(rows, -1e150, 1e150)
        ordered = np.sort(rows, axis=1)
        return np.stack(
            [
                clipped.sum(axis=1),
                ordered[:, -1],
                ordered[:, 0],
                np.abs(clipped).sum(axis=1),
                np.sqrt((clipped * clipped).sum(axis=1)),
                np.argmax(rows, axis=1).astype(np.float64),
                np.argmax(rows != 0.0, axis=1).astype(np.float64),
                1.0 + np.count_nonzero(np.diff(ordered, axis=1), axis=1),
            ],
            axis=1,
        )

    def expression(self, column: int, form: OutputForm) -> str:
        rounded = form.rounded(form.row)
        return (
            f"np.sum({limited(form.row)}, axis=-1)",
            f"np.max({form.row}, axis=-1)",
            f"np.min({form.row}, axis=-1)",
            f"np.sum(np.abs({limited(form.row)}), axis=-1)",
            f"np.sqrt(np.sum(np.square({limited(form.row)}), axis=-1))",
            f"np.argmax({rounded}, axis=-1)",
            f"np.argmax({rounded} != 0, axis=-1)",
            f"(1 + np.count_nonzero(np.diff(np.sort({rounded}, axis=-1), axis=-1), axis=-1))",
        )[column]


class Nearness(Columns):
    """How much nearer an output is to one centre than to the other, in L1 and L2.

    The centres d1 and d2 are the datasets, or the coordinatewise medians seen so far.
    """

    mirrored = True
    names = ("np.sum(np.abs(y - d2) - np.abs(y - d1))", "np.sum((y - d2) ** 2 - (y - d1) ** 2)")

    def __init__(self, pair: tuple[object, object], shape: tuple[int, ...]) -> None:
        one, two = as_value(pair[0], shape), as_value(pair[1], shape)
        self._fixed = one is not None and two is not None
        self._one = np.zeros(int(np.prod(shape))) if one is None else one.reshape(-1)
        self._two = np.zeros(int(np.prod(shape))) if two is None else two.reshape(-1)
        self._gap = float(np.abs(self._one - self._two).sum())

    def scores(self, outputs: Array) -> Array:
        """Positive where the first is nearer."""
        rows = np.clip(flat(outputs), -1e150, 1e150)
        one, two = rows - self._one, rows - self._two
        taxicab = (np.abs(two) - np.abs(one)).sum(axis=1)
        return np.stack([_without_last_bits(taxicab, self._gap), (two * two - one * one).sum(axis=1)], axis=1)

    def expression(self, column: int, form: OutputForm) -> str:
        if form.size == 1:
            one, two = (f"({limited(form.entry(0))} - {literal(center[0])})" for center in (self._one, self._two))
            return f"np.square({two}) - np.square({one})" if column else f"np.abs({two}) - np.abs({one})"
        one, two = (f"({limited(form.row)} - np.array({literal(center)}))" for center in (self._one, self._two))
        if column:
            return f"np.sum(np.square({two}) - np.square({one}), axis=-1)"
        return f"np.sum(np.abs({two}) - np.abs({one}), axis=-1)"

    def margin(self, cut: float, form: OutputForm) -> float:
        """Beside its own, that of the grid which the score is rounded to."""
        return super().margin(cut, form) + self._gap * 2.0**-24

    def learn(self, first: Array, second: Array) -> None:
        """Medians, where the datasets themselves are not centres."""
        if not self._fixed:
            self._one, self._two = np.median(flat(first[-4096:]), axis=0), np.median(flat(second[-4096:]), axis=0)
            self._gap = float(np.abs(self._one - self._two).sum())


def _without_last_bits(scores: Array, size: float) -> Array:
    """Scores have an atom at +-size in real arithmetic; rounding must not tear it into pieces that tell the sides apart."""
    grid = size * 2.0**-24
    return np.round(scores / grid) * grid if grid > 0.0 else scores


class Spectrum(Columns):
    """Symmetric matrices: eigenvalues, Schur complements of the diagonal and of the direction in which the means differ.

    That direction, u, is the leading eigenvector of the difference of means seen so far.
    """

    learns = True

    def __init__(self, pair: tuple[object, object], shape: tuple[int, ...]) -> None:
        size = shape[0]
        self._shifts = [shift for shift in (as_value(dataset, shape) for dataset in pair) if shift is not None]
        self._direction = np.eye(size)[0]
        self.names = (
            *(f"np.linalg.eigvalsh(y)[{j}]" for j in range(size)),
            *(f"1 / np.linalg.inv(y)[{j}, {j}]" for j in range(size)),
            "np.linalg.slogdet(y)[1]",
            "u @ y @ u",
            *(f"1 / (u @ np.linalg.inv(y - d{j + 1}) @ u)" for j in range(len(self._shifts))),
            *(f"np.linalg.eigvalsh(y - d{j + 1})[0]" for j in range(len(self._shifts))),
        )

    def scores(self, outputs: Array) -> Array:
        """By one eigendecomposition each."""
        matrices = np.clip(outputs, -1e150, 1e150)
        values, vectors = np.linalg.eigh(matrices)
        safe = np.where(np.abs(values) < 1e-300, 1e-300, values)
        diagonal = 1.0 / np.einsum("nij,nj->ni", vectors * vectors, 1.0 / safe)
        along = np.einsum("i,nij,j->n", self._direction, matrices, self._direction)
        columns = [values, diagonal, np.log(np.abs(safe)).sum(axis=1)[:, None], along[:, None]]
        for shift in self._shifts:
            moved, frames = np.linalg.eigh(matrices - shift)
            weights = np.einsum("nij,i->nj", frames, self._direction) ** 2
            moved_safe = np.where(np.abs(moved) < 1e-300, 1e-300, moved)
            columns.append(1.0 / np.sum(weights / moved_safe, axis=1)[:, None])
        columns += [np.linalg.eigvalsh(matrices - shift)[:, :1] for shift in self._shifts]
        return asfloat(np.nan_to_num(np.concatenate(columns, axis=1), posinf=1e300, neginf=-1e300))

    def expression(self, column: int, form: OutputForm) -> str:
        """By the same quantities; where a matrix is singular, an inverse may say something else."""
        size = self._direction.size
        if column < size:
            return f"np.linalg.eigvalsh(y)[..., {column}]"
        if column < 2 * size:
            return f"1 / np.linalg.inv(y)[..., {column - size}, {column - size}]"
        if column == 2 * size:
            return "np.linalg.slogdet(y)[1]"
        direction = literal(self._direction)
        if column == 2 * size + 1:
            return f"np.einsum('i,...ij,j->...', {direction}, y, {direction})"
        place = column - 2 * size - 2
        moved = f"y - np.array({literal(self._shifts[place % len(self._shifts)])})"
        if place < len(self._shifts):
            return f"1 / np.einsum('i,...ij,j->...', {direction}, np.linalg.inv({moved}), {direction})"
        return f"np.linalg.eigvalsh({moved})[..., 0]"

    def learn(self, first: Array, second: Array) -> None:
        """The direction in which the means differ most."""
        gap = np.clip(first, -1e150, 1e150).mean(axis=0) - np.clip(second, -1e150, 1e150).mean(axis=0)
        values, vectors = np.linalg.eigh(0.5 * (gap + gap.T))
        self._direction = vectors[:, int(np.argmax(np.abs(values)))]
