"""Rows of numbers that are codes already become the same bits as column by column."""

import numpy as np
import pytest

from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.kinds import Category, Number, encoded
from dpkit.data.columns.plain_block import plain_block
from dpkit.data.columns.schema import Schema

HARD = (np.nan, np.inf, -np.inf, -0.0, 5.0, -1e300, 1e-310, -5.0)
COLUMNS = (
    Number(name="wide", lower=-1e12, upper=1e12),
    Number(name="drops", lower=-1.0, upper=1.0, outside="drop"),
    Number(name="stands", lower=0.0, upper=4.0, nan=3.0, infinite=2.0, outside=1.0),
    Number(name="whole", lower=-5, upper=5, whole=True),
    Category(name="level", levels=("a", "b")),
    Number(name="short", lower=-1e3, upper=1e3),
)


def batch_of(rows, *, hard):
    rng = np.random.default_rng([rows, hard])
    numbers = rng.random(size=(rows, 6))
    numbers[-1, :4] = -0.0
    if hard:
        chosen = rng.integers(rows, size=(30, 2))
        numbers[chosen[:, 0], chosen[:, 1] % 4] = rng.choice(HARD, size=30)
    cells = {column.name: Cells(values=numbers[:, place]) for place, column in enumerate(COLUMNS)}
    cells["level"] = Cells(values=np.array(["a", "b", None, "c"], dtype=object)[rng.integers(4, size=rows)])
    cells["short"] = Cells(values=rng.random(rows).astype(np.float32))
    return Batch(rows=rows, cells=cells)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("rows", [1, 4_095, 4_096, 4_097, 13_000])
@pytest.mark.parametrize("chosen", [slice(0, 1), slice(0, 3), slice(0, 6), slice(5, None, -1)])
def test_codes_are_those_of_each_column(rows, hard, chosen):
    columns, batch = COLUMNS[chosen], batch_of(rows, hard=hard)
    apart = np.column_stack([encoded(column, batch.cells[column.name]) for column in columns])
    found = plain_block(columns, batch)
    assert found.tobytes() == apart.tobytes()  # the sign of zero, too
    place = np.empty_like(apart)
    assert plain_block(columns, batch, into=place) is place
    assert place.tobytes() == apart.tobytes()
    assert Schema(columns=columns).encode(batch, [column.name for column in columns]).tobytes() == apart.tobytes()


def test_columns_with_masks_and_without_numbers_of_64_bits_are_left_to_themselves():
    masked = Cells(values=np.array([1.0, 2.0]), missing=np.array([True, False]))
    assert plain_block(COLUMNS[:1], Batch(rows=2, cells={"wide": masked})) is None
    assert plain_block(COLUMNS[4:], batch_of(9, hard=False)) is None
    assert np.isnan(Schema(columns=COLUMNS[:1]).encode(Batch(rows=2, cells={"wide": masked}), ["wide"])[0, 0])
