"""The cache: the same bits as without, the data read once, in private files that nobody sees and that end with the run."""

import glob
import logging
import os
import pickle
import stat

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from dpkit.data.columns.kinds import Boolean, Category, Number, exact_in_float32
from dpkit.data.columns.schema import ROW, PrivacyUnit, Schema
from dpkit.data.summing.block_engine import ENGINES, BlockEngine
from dpkit.data.tables import cached_source
from dpkit.data.tables.cached_source import CachedSource
from dpkit.data.tables.open_source import open_source
from dpkit.errors import SourceError

SCHEMA = Schema(
    columns=(
        Number(name="x", lower=-1, upper=1),
        Number(name="y", lower=-1, upper=1, missing=0.5),
        Number(name="short", lower=-2, upper=2),
        Category(name="c", levels=("a", "b", "c")),
    )
)
BLOCKS = next(factory for factory in ENGINES if factory.name == "blocks")


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1.2, 1.2, size=(2, 5000))
    x[::9] = np.nan
    columns = {
        "x": x,
        "y": pyarrow.array(y, mask=np.arange(5000) % 7 == 0),
        "short": rng.normal(size=5000).astype(np.float32),
        "c": rng.choice(np.array(["a", "b", "c", "d"]), size=5000),
        "who": rng.integers(0, 900, size=5000),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet", row_group_size=777)
    return tmp_path / "rows.parquet"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def counted(source):
    """How often the data itself was read, as a list that grows."""
    reads = []
    original = source.blocks

    def blocks(columns, rows):
        reads.append(tuple(columns))
        return original(columns, rows)

    source.blocks = blocks
    return reads


def steps(totals):
    return [total.steps().tolist() for total in totals]


@pytest.mark.parametrize("cells", ["float64", "float32"])
@pytest.mark.parametrize("unit", [ROW, PrivacyUnit(column="who", at_most=3)])
def test_totals_are_the_same_bits_with_and_without_and_the_data_is_read_once(path, folder, queries, cells, unit):
    source = open_source(path, SCHEMA, unit=unit)
    passes = [
        [queries.total("x", -1, 1), queries.total("short", -2, 2)],
        [queries.histogram("c", [0.5, 1.5])],
        [queries.moments(["x", "y"]), queries.total("short", -2, 2)],
        [queries.moments(["y", "x"])],
        [queries.count()],
    ]
    expected = [steps(BlockEngine(source).evaluate(asked)) for asked in passes]
    reads = counted(source)
    engine = BlockEngine(CachedSource(source, cells=cells, folder=str(folder)))
    for _ in range(2):
        assert [steps(engine.evaluate(asked)) for asked in passes] == expected
    assert reads == [("x", "short"), ("c",), ("x", "y", "short")]  # never a column whose all are there
    engine.close()


def test_the_files_have_no_name_and_nobody_else_may_read_them(path, folder, queries, monkeypatch):
    made = []
    original = cached_source.tempfile.TemporaryFile

    def noticed(**options):
        made.append(original(**options))
        return made[-1]

    monkeypatch.setattr(cached_source.tempfile, "TemporaryFile", noticed)
    engine = BlockEngine(CachedSource(open_source(path, SCHEMA), folder=str(folder)))
    engine.evaluate([queries.total("x", -1, 1)])
    assert os.listdir(folder) == []
    (file,) = [one for one in made if not one.closed]
    state = os.fstat(file.fileno())
    assert state.st_size == 8 * 5000
    assert stat.S_IMODE(state.st_mode) & 0o077 == 0
    assert state.st_nlink == 0
    engine.close()
    assert file.closed
    assert glob.glob(str(folder / "**"), recursive=True) == [f"{folder}/"]


def test_float32_takes_half_the_room_where_it_is_exact(path, folder, queries):
    cached = CachedSource(open_source(path, SCHEMA), cells="float32", folder=str(folder))
    BlockEngine(cached).evaluate([queries.total("x", -1, 1), queries.total("short", -2, 2), queries.histogram("c", [0.5])])
    sizes = {name: os.fstat(stored._file.fileno()).st_size for name, stored in cached._stored.items()}
    assert sizes == {"x": 8 * 5000, "short": 4 * 5000, "c": 4 * 5000}
    cached.close()


@pytest.mark.parametrize(
    ("column", "narrow", "expected"),
    [
        (Boolean(name="b"), False, True),
        (Category(name="c", levels=("a", "b")), False, True),
        (Number(name="n", lower=0, upper=2**24, whole=True), False, True),
        (Number(name="n", lower=0, upper=2**24 + 1, whole=True), False, False),
        (Number(name="n", lower=0, upper=1), False, False),
        (Number(name="n", lower=0, upper=1), True, True),
        (Number(name="n", lower=0, upper=0.1), True, False),
        (Number(name="n", lower=0, upper=1, missing=0.1), True, False),
        (Number(name="n", lower=0, upper=1, missing=0.25), True, True),
        (Number(name="n", lower=0, upper=1e100), True, False),
    ],
)
def test_what_a_float32_holds_exactly_is_said_by_the_declaration(column, narrow, expected):
    assert exact_in_float32(column, narrow=narrow) is expected


def test_a_full_disk_costs_time_and_no_release(path, folder, queries, monkeypatch, caplog):
    source = open_source(path, SCHEMA)
    expected = steps(BlockEngine(source).evaluate([queries.total("x", -1, 1)]))
    engine = BlockEngine(CachedSource(source, folder=str(folder)), block_bytes=800)
    writes = []

    def write(number, data):
        writes.append(len(data))
        if len(writes) > 3:
            raise OSError(28, "No space left on device")
        return len(data)

    monkeypatch.setattr(cached_source.os, "write", write)
    with caplog.at_level(logging.WARNING, logger="dpkit"):
        for _ in range(2):
            assert steps(engine.evaluate([queries.total("x", -1, 1)])) == expected
    assert len(writes) == 4
    assert [record.message for record in caplog.records] == [
        "The cache was given up (No space left on device): every pass reads the data."
    ]
    engine.close()


def test_too_many_open_files_cost_time_and_no_release(path, folder, queries, monkeypatch, caplog):
    source = open_source(path, SCHEMA)
    asked = [queries.total("x", -1, 1), queries.total("short", -2, 2)]
    expected = steps(BlockEngine(source).evaluate(asked))
    engine = BlockEngine(CachedSource(source, folder=str(folder)))
    made, original = [], cached_source.tempfile.TemporaryFile

    def limited(**options):
        if made:
            raise OSError(24, "Too many open files")
        made.append(original(**options))
        return made[-1]

    monkeypatch.setattr(cached_source.tempfile, "TemporaryFile", limited)
    with caplog.at_level(logging.WARNING, logger="dpkit"):
        for _ in range(2):
            assert steps(engine.evaluate(asked)) == expected
    assert "Too many open files" in caplog.text
    assert len(caplog.records) == 1
    assert [file.closed for file in made] == [True]


def test_a_pass_that_is_broken_off_leaves_nothing(path, folder):
    cached = CachedSource(open_source(path, SCHEMA), folder=str(folder))
    blocks = cached.blocks(["x"], 100)
    next(blocks)
    blocks.close()
    assert cached._stored == {}
    assert sum(block.shape[0] for block in cached.blocks(["x"], 100)) == 5000
    cached.close()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_read(path, folder):
    with pytest.raises(SourceError, match="no private file"):
        BLOCKS.over(open_source(path, SCHEMA), cache="float64", folder=str(folder / "none"))


def test_the_engine_of_an_analysis_caches_files_only(path, folder, queries):
    with pytest.raises(TypeError, match="does not leave"):
        pickle.dumps(CachedSource(open_source(path, SCHEMA)))
    held = open_source({"x": [0.5], "y": [0.0], "short": [0.0], "c": ["a"]}, SCHEMA)
    for source in (held, open_source(path, SCHEMA)):
        engine = BLOCKS.over(source, cache="float32", folder=str(folder))
        assert isinstance(engine._source, CachedSource) is (source is not held)
        assert engine.setting == BlockEngine(source).setting is not None
        engine.close()
