"""Made-up data of declared columns: rows that are hard, rows within the ranges, and engines over both. Reads nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpkit.contracts.query import Block, Query
from dpkit.contracts.setting import Setting
from dpkit.data.columns.dates import Date, Time
from dpkit.data.columns.kinds import Boolean, Category, Column
from dpkit.data.setting import DeclaredSetting
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.data.tables.open_source import open_source
from dpkit.numerics.special import Array

Table = dict[str, list[object]]

FEW, MANY = 40, 700
"""Rows of a made-up table: of most, and of the long one, on which what happens at hundreds of rows is seen."""
MOST_MOVED = 64
"""Entries of a row that are moved one at a time."""
_BROKEN = (float("nan"), float("inf"), float("-inf"), None, "text", "", 1e308, -1e308, 5e-324)


def hard_tables(setting: DeclaredSetting, rng: np.random.Generator) -> dict[str, Table]:
    """Datasets by name: none, one, equal, extreme, broken and ordinary rows."""
    columns = setting.schema.columns
    return {
        "no row": _table(setting, {column.name: [] for column in columns}),
        "one row": _table(setting, {column.name: _cells(column, [0.3]) for column in columns}),
        "equal rows": _table(setting, {column.name: _cells(column, [1.0] * FEW) for column in columns}),
        "lowest rows": _table(setting, {column.name: _cells(column, [0.0] * FEW) for column in columns}),
        "broken rows": _table(setting, {column.name: list(_BROKEN) for column in columns}),
        "ordinary rows": _table(setting, {column.name: _cells(column, rng.random(FEW).tolist()) for column in columns}),
    }


def many_rows(setting: DeclaredSetting, rng: np.random.Generator) -> Table:
    """Hundreds of rows in the lower half of every column: of a category, some levels do not occur."""
    shares = {column.name: (0.45 * rng.random(MANY)).tolist() for column in setting.schema.columns}
    return _table(setting, {column.name: _cells(column, shares[column.name]) for column in setting.schema.columns})


def _cells(column: Column, shares: Sequence[float]) -> list[object]:
    """Cells at these places between the lower and the upper end of a column."""
    lower, upper = column.range
    if isinstance(column, Category):
        return [column.levels[round(share * upper)] for share in shares]
    if isinstance(column, Boolean):
        return [share > 0.5 for share in shares]
    codes = [lower + share * (upper - lower) for share in shares]
    return [column.cell(code) for code in codes] if isinstance(column, Date | Time) else list(codes)


def _table(setting: DeclaredSetting, cells: Table) -> Table:
    person = setting.unit.column
    count = len(next(iter(cells.values())))
    return cells if person is None else {**cells, person: [f"p{place // 3}" for place in range(count)]}


class _AnySizeEngine(BlockEngine):
    """It does not count rows: a setting may declare more than a made-up table has, and laws hold for every number."""

    def public_rows(self) -> int | None:
        return None


def engine_over(setting: DeclaredSetting, table: Table) -> BlockEngine:
    """An engine over a made-up table."""
    return _AnySizeEngine(open_source(table, setting.schema, unit=setting.unit, neighbours=setting.neighbours))


class RowSpace:
    """The rows that a query can meet: codes within the declared ranges of its columns, whole where they are."""

    def __init__(self, setting: Setting, query: Query) -> None:
        names = query.columns or setting.columns
        ranges = np.array([setting.range(name) for name in names], dtype=np.float64).reshape(-1, 2)
        self.lower, self.upper = ranges[:, 0], ranges[:, 1]
        if isinstance(setting, DeclaredSetting):
            columns = setting.schema.select(tuple(names))
            whole = [bool(getattr(column, "levels", ())) or getattr(column, "whole", True) for column in columns]
        else:
            whole = [bool(setting.levels(name)) for name in names]
        self.whole = np.array(whole, dtype=np.bool_)

    def within(self, block: Block) -> Block:
        """The nearest rows that the data may hold."""
        return np.where(self.whole, np.rint(block), block).clip(self.lower, self.upper)

    def ordinary(self, count: int, rng: np.random.Generator) -> Block:
        """The given number of rows anywhere within the ranges."""
        return self.within(self.lower + (self.upper - self.lower) * rng.random((count, len(self.lower))))

    def near(self, row: Array, size: float, rng: np.random.Generator) -> Block:
        """Random moves by a share of the ranges, and moves of one entry to either side."""
        width, spread = len(row), size * (self.upper - self.lower)
        moves = spread * rng.standard_normal((24, width)) * (rng.random((24, width)) < 0.6)
        single = np.diag(spread)[rng.permutation(width)[:MOST_MOVED]]
        return self.within(row + np.concatenate([moves, single, -single]))

    def rows(self, count: int, rng: np.random.Generator) -> Block:
        """The given number of rows: corners, ends, middles, zeros and ordinary ones, mixed; corners first."""
        width = len(self.lower)
        shares = rng.random((count, width))
        kinds = rng.integers(0, 4, size=(count, 1))
        shares = np.where(kinds < 2, rng.integers(0, 2, size=(count, width)), shares)
        shares[: min(count, 3)] = np.array([0.0, 1.0, 0.5])[: min(count, 3), None]
        found = self.lower + (self.upper - self.lower) * shares
        found = np.where((kinds == 3) & (rng.random((count, width)) < 0.3), 0.0, found)
        return np.ascontiguousarray(self.within(found))
