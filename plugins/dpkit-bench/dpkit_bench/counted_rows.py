"""Rows that are made when they are read, from a counter: any number of them in constant memory, the same in every pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpkit import Batch, Cells, Citation, Distance, Neighbours, Query, l2
from dpkit.authoring import Block

STEP = 2.0**-10
"""Every cell is a multiple of it within [-1, 1], so products are multiples of its square."""

_CELLS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRows:
    """A source of `rows` rows of `width` columns. Row i depends on the seed, the width and i alone: chunks have their own
    counter of a counter-based generator (Philox).
    """

    rows: int
    width: int
    seed: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """x0, x1, ..."""
        return tuple(f"x{place}" for place in range(self.width))

    def sample(self, columns: Sequence[str]) -> Block:
        """A few of them: nothing here is anybody's."""
        return self._chunk(0)[:8, self._places(columns)]

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        """Every row in order; at most a chunk is in memory."""
        places = self._places(columns)
        whole = places == list(range(self.width))
        for first in range(0, self.rows, self._chunk_rows):
            chunk = self._chunk(first // self._chunk_rows)[: self.rows - first]
            chunk = chunk if whole else chunk[:, places]
            for start in range(0, len(chunk), rows):
                yield chunk[start : start + rows]

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """The same as a table, for what is written to a file."""
        for block in self.blocks(names, rows):
            yield Batch(rows=len(block), cells={name: Cells(values=block[:, place]) for place, name in enumerate(names)})

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table."""
        return self.columns

    @property
    def _chunk_rows(self) -> int:
        return max(1, _CELLS // self.width)

    def _chunk(self, number: int) -> Block:
        bits = np.random.Philox(key=[self.seed, self.width], counter=[0, 0, number, 0])
        whole = np.random.Generator(bits).integers(-1024, 1025, size=(self._chunk_rows, self.width), dtype=np.int16)
        return whole.astype(np.float64) * STEP

    def _places(self, columns: Sequence[str]) -> list[int]:
        return [self.columns.index(name) for name in columns or self.columns]


def moments(width: int) -> Query:
    """The second moments of all columns: the pass whose work grows fastest with the width."""

    def rows(block: Block) -> Block:
        return np.asarray(block[:, :, None] * block[:, None, :])

    def block_sum(block: Block) -> Block:
        return np.asarray(block.T @ block)

    def sensitivity(neighbours: Neighbours) -> tuple[Distance, ...]:
        return (l2(float(width) * (2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0)),)

    return Query(
        name="moments",
        columns=tuple(f"x{place}" for place in range(width)),
        rows=rows,
        block_sum=block_sum,
        shape=(width, width),
        bound=1.0,
        grid=STEP * STEP,
        sensitivity=sensitivity,
        because=Citation(key="DMNS06", locator="section 3.2"),
    )
