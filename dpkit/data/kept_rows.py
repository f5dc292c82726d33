"""Prepared rows that are kept in memory between the passes of one algorithm, up to a stated number of bytes."""

from __future__ import annotations

from dpkit.core.query import Block, Preparation


class KeptRows:
    """The blocks that one preparation made of all rows. Only the latest preparation's are kept, and only if all of them fit.

    A preparation is kept from the second pass that asks for it, so that one which is asked once costs no memory.
    """

    def __init__(self, *, most_bytes: int) -> None:
        self._most = most_bytes
        self._asked: Preparation | None = None
        self._complete = False
        self._blocks: list[Block] = []
        self._bytes = 0

    def blocks_of(self, preparation: Preparation | None) -> list[Block] | None:
        """What is kept of this preparation, or None."""
        return self._blocks if self._complete and preparation is not None and preparation is self._asked else None

    def begin(self, preparation: Preparation | None) -> bool:
        """A pass over the source begins: whether to keep what it prepares."""
        again = preparation is not None and preparation is self._asked
        self._forget()
        self._asked = preparation
        return again and self._most > 0

    def add(self, block: Block) -> bool:
        """Keep one more block; False, and all is forgotten, where that is too much."""
        self._bytes += block.nbytes
        if self._bytes > self._most:
            self._forget()
            return False
        self._blocks.append(block)
        return True

    def end(self, *, complete: bool) -> None:
        """The pass is over; `complete` when every block was kept."""
        self._complete = complete
        if not complete:
            self._forget()

    def _forget(self) -> None:
        self._complete, self._blocks, self._bytes = False, [], 0
