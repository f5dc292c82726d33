"""A source and its parts: every row once, persons bounded as in the whole, and files that change are refused."""

import os
import pickle

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import dpkit
from dpkit.contracts.table import DivisibleTable
from dpkit.data.columns.bounding import first_of_each, found_rows, gathered, shared_out
from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.tables.cached_source import CachedSource
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


CITATION = dpkit.Citation(key="dpkit", locator="tests")


def total_of(name):
    return dpkit.Query(
        name="total", columns=(name,), rows=lambda block: block, shape=(1,), grid=2.0**-10, bound=1.0,
        sensitivity=lambda relation: (dpkit.l1(1.0), dpkit.l2(1.0)), because=CITATION,
    )  # fmt: skip


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("rows", [300, 450])
def test_files_that_change_between_passes_are_refused_without_a_word_of_their_rows(tmp_path, rows, cached):
    """Which rows of a person are used was chosen by their places: in another file these may all be of one person."""
    path = tmp_path / "people.csv"

    def write(owner, count, time):
        path.write_text("x,y,who\n" + "".join(f"0.5,0.5,{owner(place)}\n" for place in range(count)), encoding="utf-8")
        os.utime(path, ns=(time, time))

    write(lambda place: place // 3, 300, 10**18)
    columns = tuple(Number(name=name, lower=0.0, upper=1.0, missing=0.0) for name in ("x", "y"))
    source = dpkit.open_source(path, Schema(columns=columns), unit=PrivacyUnit(column="who", at_most=1))
    engine = dpkit.BlockEngine(CachedSource(source) if cached else source)
    (found,) = engine.evaluate([total_of("x")])
    assert found.nearest() == 50.0
    write(lambda place: place % 100, rows, 10**18 + 1)
    with pytest.raises(SourceError, match="its files have changed since they were first read") as told:
        engine.evaluate([total_of("y")])
    assert "300" not in str(told.value)
    assert "450" not in str(told.value)
    engine.close()


ONE_NUMBER = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))


def test_a_file_that_changes_during_a_pass_gives_no_total(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "0.5\n" * 100, encoding="utf-8")
    source = dpkit.open_source(path, ONE_NUMBER)
    blocks = source.blocks(["x"], 10)
    next(blocks)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="changed"):
        list(blocks)


@pytest.mark.parametrize("missing", [False, True])
def test_a_source_that_keeps_its_codes_knows_whether_one_is_missing(missing):
    values = np.arange(70_000.0)
    values[69_999] = np.nan if missing else 0.0
    source = open_source({"x": values}, SCHEMA)
    assert not source.is_complete  # nothing was read yet
    first, second = (np.concatenate(list(source.blocks(["x"], 5_000))) for _ in range(2))
    assert source.is_complete is not missing
    assert first.tobytes() == second.tobytes() == np.where(np.isnan(values), np.nan, values)[:, None].tobytes()


def test_rows_with_a_missing_cell_are_dropped_in_every_pass():
    values = np.arange(70_000.0)
    values[::7_000] = np.nan
    source = open_source({"x": values}, SCHEMA)
    query = dpkit.Query(
        name="ones", rows=lambda block: np.ones((len(block), 1)), shape=(1,), columns=("x",), grid=1.0, bound=1.0,
        sensitivity=lambda neighbours: (dpkit.l2(2.0),), because=dpkit.Citation(key="here", locator="one a row"),
    )  # fmt: skip
    engine = dpkit.BlockEngine(source, block_bytes=1 << 16)
    assert [engine.evaluate([query])[0].nearest()[0] for _ in range(3)] == [69_990.0] * 3
    complete = dpkit.BlockEngine(open_source({"x": np.nan_to_num(values)}, SCHEMA), block_bytes=1 << 16)
    assert [complete.evaluate([query])[0].nearest()[0] for _ in range(3)] == [70_000.0] * 3
