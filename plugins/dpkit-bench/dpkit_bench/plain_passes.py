"""The passes of a fit of bounded influence as one would write them without privacy: floats, no fixed point, no noise.

Blocks, threads and what is kept between passes are those of the private fit, so that the difference is the price of privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpkit.data.summing.block_engine import BLOCK_BYTES
from dpkit.data.summing.parallel import map_on_threads

Array = npt.NDArray[np.float64]
Prepared = tuple[Array, Array, Array]
"""Directions, lengths and targets of some rows."""


Work = Callable[[Prepared], Array]


class Pass(NamedTuple):
    """What one pass of the private fit asked for, and whether it read the rows themselves or what was kept of them."""

    queries: tuple[str, ...]
    from_rows: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainPasses:
    """The passes of a private fit, one after the other. Each is named by its queries, as dpkit-irls calls them."""

    table: Array
    threads: int
    passes: tuple[Pass, ...]

    def run(self) -> tuple[Array, Array]:
        """All passes; the preconditioner and the position that come out: their product holds the coefficients."""
        columns = self.table.shape[1] - 1
        turned, position, kept = np.eye(columns), np.zeros(columns), [_prepared(self.table[:1], np.eye(columns))]
        for asked, from_rows in self.passes:
            if asked == ("magnitudes",):
                self._totals(_octaves_of_columns, self._blocks())
                continue
            works: dict[tuple[str, ...], Work] = {("scatter",): _scatter, ("step",): partial(_step, position=position)}
            work = works.get(asked, _octaves)
            if from_rows:
                both = partial(_prepared_and, work=work, turned=turned)
                found, kept = self._totals_and_rows(both)
            else:
                found = self._totals(work, kept)
            if asked == ("scatter",):
                values, vectors = np.linalg.eigh(found / self.table.shape[0])
                turned = turned @ (vectors / np.sqrt(values * columns)) @ vectors.T
            elif asked == ("step",):
                position = position + found[0, :-1] / max(found[0, -1], 1.0)
        return turned, position

    def _totals_and_rows(self, work: Callable[[Array], tuple[Array, Prepared]]) -> tuple[Array, list[Prepared]]:
        total, kept = np.zeros(()), []
        for part, rows in map_on_threads(work, self._blocks(), threads=self.threads):
            total = total + part
            kept.append(rows)
        return total, kept

    def _blocks(self) -> list[Array]:
        rows = max(1, BLOCK_BYTES // (8 * self.table.shape[1]))
        return [self.table[start : start + rows] for start in range(0, self.table.shape[0], rows)]

    def _totals(self, work: Callable[..., Array], blocks: list[Array] | list[Prepared]) -> Array:
        total: Array = np.zeros(())
        for part in map_on_threads(work, blocks, threads=self.threads):
            total = total + part
        return total


def _prepared(block: Array, turned: Array) -> Prepared:
    z = block[:, :-1] @ turned
    length = np.sqrt(np.einsum("ij,ij->i", z, z))
    return z / length[:, None], length, block[:, -1]


def _scatter(rows: Prepared) -> Array:
    return np.asarray(rows[0].T @ rows[0])


def _octaves_of_columns(block: Array) -> Array:
    exponents = np.clip(np.frexp(block[:, :-1])[1] + 48, 0, 48) // 3
    return np.array([np.bincount(column, minlength=17) for column in exponents.T], dtype=np.float64)


def _octaves(rows: Prepared) -> Array:
    both = [np.clip(np.frexp(values)[1] + 24, 0, 48) for values in rows[1:]]
    return np.array([np.bincount(found, minlength=49) for found in both], dtype=np.float64)


def _prepared_and(block: Array, work: Work, turned: Array) -> tuple[Array, Prepared]:
    rows = _prepared(block, turned)
    return work(rows), rows


def _step(rows: Prepared, position: Array) -> Array:
    """The gradient and how many rows are near in the first line, the scatter below."""
    u, length, target = rows
    scores = np.clip(target - (u @ position) * length, -1.0, 1.0)
    near = np.sum(np.sqrt(1.0 - scores * scores))
    found = np.zeros((u.shape[1] + 1, u.shape[1] + 1))
    found[0, :-1], found[0, -1], found[1:, :-1] = scores @ u, near, u.T @ u
    return found
