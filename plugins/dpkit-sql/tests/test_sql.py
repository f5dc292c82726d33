"""Tables of databases give the same rows as a file, whatever a cell holds; errors show no row and no password."""

import math
import shutil
import sqlite3
import subprocess
import sys
import uuid
from pathlib import Path

import duckdb
import numpy as np
import pytest
from dpkit_sql import dpkit_sources

import dpkit

ROWS = [(n, n % 3, 0.1 + 0.2 * n, ("north", "söuth", None, 'a "b", c')[n % 4], n % 2 == 0) for n in range(500)]
MAKE = "CREATE TABLE {table} (id INTEGER, level DOUBLE PRECISION, size DOUBLE PRECISION, region TEXT, flag {boolean})"
NAMES = ("id", "level", "size", "region", "flag")
SCHEMA = dpkit.Schema(
    columns=(
        dpkit.Number(name="size", lower=0.0, upper=1000.0),
        dpkit.Category(name="level", levels=("0", "1", "2")),
        dpkit.Category(name="region", levels=("north", "söuth", 'a "b", c')),
        dpkit.Boolean(name="flag"),
    )
)


def in_sqlite(folder, rows=ROWS, table='"the people"'):
    path = folder / "rows.db"
    with sqlite3.connect(path) as raw:
        raw.execute(MAKE.format(table=table, boolean="INTEGER"))
        raw.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", rows)
        raw.execute(f"CREATE VIEW seen AS SELECT * FROM {table} ORDER BY id")
    raw.close()
    return {"path": str(path), "table": "the people"}


def in_duckdb(folder, rows=ROWS):
    path = folder / "rows.duckdb"
    with duckdb.connect(str(path)) as raw:
        raw.execute(MAKE.format(table='"the people"', boolean="BOOLEAN"))
        raw.executemany('INSERT INTO "the people" VALUES (?, ?, ?, ?, ?)', rows)
        raw.execute('CREATE VIEW seen AS SELECT * FROM "the people" ORDER BY id')
    return {"path": str(path), "table": "the people"}


def in_postgresql(server, rows=ROWS):
    import psycopg

    address = server.new_database(f"d{uuid.uuid4().hex[:12]}")
    with psycopg.connect(address) as raw:
        raw.execute(MAKE.format(table='"the people"', boolean="BOOLEAN"))
        raw.cursor().executemany('INSERT INTO "the people" VALUES (%s, %s, %s, %s, %s)', rows)
        raw.execute('CREATE VIEW seen AS SELECT * FROM "the people" ORDER BY id')
    return {"address": address, "table": "the people"}


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def database(request, tmp_path):
    if request.param == "postgresql":
        return request.param, in_postgresql(request.getfixturevalue("postgres"))
    return request.param, {"sqlite": in_sqlite, "duckdb": in_duckdb}[request.param](tmp_path)


def opened(name, given, **changes):
    (source,) = (source for source in dpkit_sources() if source.name == name)
    return source.build(**{**given, **changes})


def codes(data):
    return np.concatenate(list(dpkit.open_source(data, SCHEMA).blocks(SCHEMA.names, 77)))


def test_a_database_gives_the_codes_of_the_same_rows_in_memory(database):
    columns = {name: [row[place] for row in ROWS] for place, name in enumerate(NAMES)}
    expected = codes(columns)
    for table in ("the people", "seen"):
        found = opened(*database, table=table)
        assert found.names == NAMES
        np.testing.assert_array_equal(codes(found), expected)
        np.testing.assert_array_equal(codes(found), expected)


def test_batches_are_small_and_hold_what_was_asked_for(database):
    table = opened(*database)
    for names in ((), ("region",), ("flag", "id")):
        batches = list(table.batches(names, 7))
        assert sum(batch.rows for batch in batches) == 500
        assert all(batch.rows <= 7 and set(batch.cells) == set(names) for batch in batches)


def test_what_is_not_there_is_a_message(database, tmp_path):
    name, given = database
    with pytest.raises(dpkit.SourceError, match="no table 'nobody'") as caught:
        opened(name, given, table="nobody")
    assert caught.value.__cause__ is None
    if name != "postgresql":
        with pytest.raises(dpkit.SourceError, match="no such file"):
            opened(name, given, path=str(tmp_path / "absent.db"))
        assert not (tmp_path / "absent.db").exists()
        (tmp_path / "broken.db").write_bytes(b"Zebedee's cells")
        with pytest.raises(dpkit.SourceError, match="cannot be opened as a file of") as caught:
            opened(name, given, path=str(tmp_path / "broken.db"))
        assert "Zebedee" not in str(caught.value)
    else:
        with pytest.raises(dpkit.SourceError, match="nobody answers at its address") as caught:
            opened(name, {**given, "address": "postgresql://Zebedee@localhost:1/shop"})
        assert "Zebedee" not in str(caught.value)


def test_odd_cells_of_sqlite_raise_nothing(tmp_path):
    odd = [
        (n, value, value, value, value) for n, value in enumerate([None, None, "text", 1e300, math.inf, b"\xff\xfe", 2**62, ""])
    ]
    odd.append((9, 1.0, "1,5", "north", 1.0))
    found = codes(opened("sqlite", in_sqlite(tmp_path, odd * 40)))
    assert found.shape == (360, 4)
    assert found[8].tolist()[1:] == [1.0, 0.0, 1.0]
    assert np.isnan(found[8][0])


def test_a_password_is_not_taken_and_not_shown():
    with pytest.raises(dpkit.SourceError, match="PGPASSWORD") as caught:
        opened("postgresql", {"address": "postgresql://me:Zebedee@localhost/shop", "table": "people"})
    assert "Zebedee" not in str(caught.value)


def test_an_analysis_reads_a_table(database, tmp_path):
    pytest.importorskip("dpkit_stats")
    name, given = database
    shown = ", ".join(f"{key}: {value!r}" for key, value in given.items())
    (tmp_path / "a.yaml").write_text(
        f"""dpkit: 1
data:
  source: {{run: {name}, with: {{{shown}}}}}
  columns: {{size: [0, 1000], level: {{levels: [0, 1, 2]}}}}
budget: {{epsilon: 100, delta: 1e-6}}
steps:
  - {{id: sizes, run: mean, by: [level], with: {{column: size}}}}
"""
    )
    frame = dpkit.load(tmp_path / "a.yaml").plan().run().frame("sizes")
    assert list(frame.columns[:4]) == ["level", "estimate", "lower", "upper"]
    assert abs(frame["estimate"] - 50.0).max() < 10.0


@pytest.mark.parametrize(
    ("table", "column", "said"),
    [("peple", "size", "no table 'peple'"), ("the people", "sice", "no column named 'sice'"), ("the people", "size", "fine")],
)
def test_a_check_looks_at_tables_and_columns_and_at_no_row(tmp_path, table, column, said):
    in_sqlite(tmp_path)
    text = f"""dpkit: 1
data: {{source: {{run: sqlite, with: {{path: rows.db, table: {table}}}}}, columns: {{{column}: [0, 1000]}}}}
budget: {{epsilon: 1, delta: 1e-6}}
steps: [{{id: n, run: count}}]
"""
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    script = shutil.which("dpkit", path=str(Path(sys.executable).parent))
    found = subprocess.run([script, "check", str(path)], capture_output=True, encoding="utf-8", timeout=60)
    assert said in " ".join((found.stdout + found.stderr).split())
    assert found.returncode == (0 if said == "fine" else 2)
