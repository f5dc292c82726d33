"""Prepared rows that are kept in memory between the passes of one algorithm, up to a stated number of bytes."""

from __future__ import annotations

import math

import numpy as np

from dpkit.contracts.query import Block, Preparation

Prepared = tuple[Preparation, tuple[str, ...]]
"""A preparation, and the columns that it is given, in order."""

MERGED_BYTES = 4 << 20
"""Smaller blocks are kept as one: threads that sum few rows at a time wait for Python."""


class KeptRows:
    """The blocks that one preparation made of some columns of all rows: the latest ones, and only if all of them fit.

    Where they did not fit, nothing as wide is tried again.
    """

    def __init__(self, *, most_bytes: int) -> None:
        self._most = most_bytes
        self._asked: Prepared | None = None
        self._complete = False
        self._blocks: list[Block] = []
        self._small: list[Block] = []
        self._former: list[Block] = []
        self._bytes = 0
        self._too_wide = math.inf

    def blocks_of(self, asked: Prepared | None) -> list[Block] | None:
        """What is kept of this preparation of these columns, or None."""
        return self._blocks if self._complete and asked is not None and asked == self._asked else None

    def begin(self, asked: Prepared | None) -> bool:
        """A pass over the source begins: whether to keep what it prepares."""
        former = self._blocks
        self._forget()
        self._asked = asked
        keeping = asked is not None and self._most > 0 and asked[0].width < self._too_wide
        self._former = former if keeping else []
        return keeping

    def add(self, block: Block) -> bool:
        """Keep one more block; False, and all is forgotten, where that is too much.

        For each an older one is let go: memory that goes back to the system all at once is slow to get again.
        """
        self._bytes += block.nbytes
        if self._former:
            self._former.pop()
        while self._former and self._bytes + sum(old.nbytes for old in self._former) > self._most:
            self._former.pop()
        if self._bytes > self._most:
            self._too_wide = block.shape[1]
            self._forget()
            return False
        self._small.append(block)
        if sum(small.nbytes for small in self._small) >= MERGED_BYTES:
            self._merge()
        return True

    def end(self, *, complete: bool) -> None:
        """The pass is over; `complete` when every block was kept."""
        self._complete, self._former = complete, []
        self._merge()
        if not complete:
            self._forget()

    def _merge(self) -> None:
        """Blocks as they were read make fewer and larger ones, each column contiguous."""
        if len(self._small) == 1:
            self._blocks += self._small
        elif self._small:
            merged = np.concatenate([block.T for block in self._small], axis=1).T
            merged.flags.writeable = False
            self._blocks.append(merged)
        self._small = []

    def _forget(self) -> None:
        self._complete, self._blocks, self._small, self._former, self._bytes = False, [], [], [], 0
