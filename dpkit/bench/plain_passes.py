"""The passes of a fit of bounded influence as one would write them without privacy: floats, no fixed point, no noise.

Blocks, threads and what is kept between passes are those of the private fit, so that the difference is the price of privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit.data.engine import BLOCK_BYTES
from dpkit.data.parallel import mapped

Array = npt.NDArray[np.float64]
Prepared = tuple[Array, Array, Array]
"""Directions, lengths and targets of some rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainPasses:
    """Octaves of the columns, `rounds` of scatter, octaves of lengths and targets, and `steps` of gradient and curvature."""

    table: Array
    threads: int
    rounds: int
    steps: int

    def run(self) -> tuple[Array, Array]:
        """All passes; the preconditioner and the position that come out: their product holds the coefficients."""
        columns = self.table.shape[1] - 1
        turned = np.eye(columns)
        self._totals(_octaves_of_columns, self._blocks())
        for _ in range(self.rounds):
            scatter = self._totals(lambda block, turned=turned: _scatter(_prepared(block, turned)), self._blocks())
            values, vectors = np.linalg.eigh(scatter / self.table.shape[0])
            turned = turned @ (vectors / np.sqrt(values * columns)) @ vectors.T
        self._totals(lambda block: _octaves(_prepared(block, turned)), self._blocks())
        kept = list(mapped(lambda block: _prepared(block, turned), self._blocks(), threads=self.threads))
        position = np.zeros(columns)
        for _ in range(self.steps):
            found = self._totals(lambda rows, at=position: _step(rows, at), kept)
            position = position + found[:-1] / max(found[-1], 1.0)
        return turned, position

    def _blocks(self) -> list[Array]:
        rows = max(1, BLOCK_BYTES // (8 * self.table.shape[1]))
        return [self.table[start : start + rows] for start in range(0, self.table.shape[0], rows)]

    def _totals(self, work: Callable[..., Array], blocks: list[Array] | list[Prepared]) -> Array:
        total: Array = np.zeros(())
        for part in mapped(work, blocks, threads=self.threads):
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


def _step(rows: Prepared, position: Array) -> Array:
    u, length, target = rows
    residuals = target - (u @ position) * length
    gradient = np.clip(residuals, -1.0, 1.0) @ u
    bent = np.sum(np.minimum(length, 1.0)[np.abs(residuals) < 1.0])
    return np.append(gradient, bent)
