"""Rows of numbers that are codes already: put beside each other and looked at together, not column by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpkit.contracts.query import Block
from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.kinds import Coded, Column, Number, cell_of, encoded

_AT_ONCE = 4096
"""Rows whose columns stay in a core's cache while they are put beside each other."""


def plain_block(columns: Sequence[Coded], batch: Batch, *, into: Block | None = None) -> Block | None:
    """The codes of these columns, the same to the bit as each column's own, where numbers of 64 bits are among them; else None.

    Where all entries of some rows lie within a column's bounds, none of its cells is missing, infinite or outside: each is its
    own code. Other columns are encoded by themselves. `into` is where the block is made, if it is given.
    """
    found = [(column, batch.cells[cell_of(column)]) for column in columns if isinstance(column, Column)]
    plain = [place for place, (column, cells) in enumerate(found) if _is_plain(column, cells)]
    if len(found) < len(columns) or not plain:
        return None
    block = np.empty((batch.rows, len(found))) if into is None else into
    ranges = [column.range for column, _ in found]
    apart = set(range(len(found))).difference(plain)
    for place in apart:
        block[:, place] = encoded(*found[place])
    for start in range(0, batch.rows, _AT_ONCE):
        part = block[start : start + _AT_ONCE]
        for place in plain:
            part[:, place] = found[place][1].values[start : start + _AT_ONCE]
        part += 0.0  # minus zero is zero
        least, most = np.min(part), np.max(part)
        apart.update(place for place in plain if not (ranges[place][0] <= least and most <= ranges[place][1]))  # so for NaN
    for place in apart.intersection(plain):
        block[:, place] = encoded(*found[place])
    return block


def _is_plain(column: Column, cells: Cells) -> bool:
    values, is_known = cells.values, cells.missing is None and cells.distinct is None
    return isinstance(column, Number) and not column.whole and is_known and values.dtype == np.float64
