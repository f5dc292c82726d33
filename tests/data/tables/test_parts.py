"""Parts of a source: pieces of files hold every row once, hold no row themselves, and bound persons as the whole does."""

import pickle

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from dpkit.contracts.table import DivisibleTable
from dpkit.data.columns.bounding import first_of_each, found_rows, gathered, shared_out
from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.tables.open_source import open_source, open_table
from dpkit.errors import SourceError

SCHEMA = Schema(columns=(Number(name="x", lower=-1e6, upper=1e6),))
CANARY = 7301.4242


def cells_of(table):
    return [cell for batch in table.batches(["x"], 3) for cell in batch.cells["x"].values.tolist()]


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(size=499), CANARY)
    persons = np.append(rng.integers(0, 40, size=499), 7)
    for number, part in enumerate(np.split(np.arange(500), [200, 200, 410])):
        table = pyarrow.table({"x": values[part], "who": persons[part]})
        parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=37)
        lines = [f"{x!r},{who}" for x, who in zip(values[part].tolist(), persons[part].tolist(), strict=True)]
        (tmp_path / f"{number}.csv").write_text("\n".join(["x,who", *lines, ""]))
    return tmp_path


@pytest.mark.parametrize("pattern", ["*.parquet", "*.csv"])
@pytest.mark.parametrize("size", [1, 17, 400, 2000, 1 << 30])
def test_pieces_hold_every_row_once_and_in_order(files, pattern, size):
    table = open_table(files / pattern)
    assert isinstance(table, DivisibleTable)
    pieces = [pickle.loads(pickle.dumps(piece)) for piece in table.pieces(size)]
    assert [cell for piece in pieces for cell in cells_of(piece)] == cells_of(table)
    assert len(pieces) > 3 or size > 2000
    assert sum(batch.rows for piece in pieces for batch in piece.batches((), 7)) == 500


def test_a_part_holds_no_row(files):
    source = open_source(files / "*.parquet", SCHEMA)
    sent = pickle.dumps(source.parts(1))
    assert np.float64(CANARY).tobytes() not in sent
    assert b"7301" not in sent
    assert len(sent) < 4000


def test_rows_in_memory_are_not_sent():
    source = open_source({"x": [1.0]}, SCHEMA)
    with pytest.raises(SourceError, match="no row is sent"):
        source.parts(100)


@pytest.mark.parametrize("pattern", ["*.parquet", "*.csv"])
@pytest.mark.parametrize("size", [400, 1 << 30])
@pytest.mark.parametrize("shares", [1, 5])
def test_persons_are_bounded_across_parts_as_in_the_whole(files, pattern, size, shares):
    source = open_source(files / pattern, SCHEMA, unit=PrivacyUnit(column="who", at_most=3))
    expected = np.sort(np.concatenate(list(source.blocks(["x"], 100))).ravel())
    bounding = source.bounding
    parts = source.parts(size)
    found = []
    for part in parts:
        rows = gathered(list(found_rows(lambda part=part: part.persons(bounding.column), key=bounding.key)))
        found.append(shared_out(rows, shares))
    kept = [np.zeros(part.count(), dtype=bool) for part in parts]
    for share in range(shares):
        mine = gathered([rows[share] for rows in found])
        owner = np.repeat(np.arange(len(parts)), [rows[share].position.size for rows in found])
        chosen = first_of_each(mine, at_most=bounding.at_most, key=bounding.key)
        for place in chosen:
            kept[owner[place]][mine.position[place]] = True
    blocks = [block for part, mask in zip(parts, kept, strict=True) for block in part.blocks(["x"], 50, kept=mask)]
    assert np.array_equal(np.sort(np.concatenate(blocks).ravel()), expected)
    assert expected.size <= 3 * 40
    assert "key" not in repr(bounding)
