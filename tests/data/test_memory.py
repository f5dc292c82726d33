"""Memory stays within the bound of docs/scale.md, whatever the number of rows: measured in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import csv, parquet

from dpkit.data.summing.parallel import usable_threads

MEGABYTE = 1 << 20
BOUND = (64 + 8 * max(0, usable_threads() - 2)) * MEGABYTE
"""What docs/scale.md states: beyond code and libraries, for ten columns."""

COLUMNS = 10


def write(path, rows, *, group):
    rng = np.random.default_rng(0)
    names = [f"x{place}" for place in range(COLUMNS)]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    options = {"compression": "none", "use_dictionary": False}
    writer = parquet.ParquetWriter(path, schema, **options) if path.suffix == ".parquet" else csv.CSVWriter(path, schema)
    with writer:
        for start in range(0, rows, group):
            columns = [rng.uniform(-1, 1, size=min(group, rows - start)) for _ in names]
            writer.write_table(pyarrow.table(columns, schema=schema), group)


def measured(small, large, *, cache="none", limit=0):
    command = [sys.executable, str(Path(__file__).parent / "memory_child.py"), small, large, cache, COLUMNS, limit]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=environment, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "rows", "cache"),
    [("x.parquet", 1_500_000, "none"), ("x.parquet", 1_500_000, "float64"), ("x.csv", 120_000, "none")],
)
def test_a_file_beyond_the_bound_is_read_within_it(tmp_path, name, rows, cache):
    """One row group of 120 MB, which must not be held as a whole either; or CSV, whose texts would take as much."""
    small, large = tmp_path / f"small.{name}", tmp_path / name
    write(small, 5_000, group=5_000)
    write(large, rows, group=rows)
    found = measured(small, large, cache=cache)
    assert found["peak"] - found["before"] < BOUND
    assert found["trace"] == pytest.approx(rows * COLUMNS / 3, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["none", "float64"])
def test_four_gigabytes_of_parquet_under_a_limit_of_one(tmp_path, cache):
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    rows = 50_000_000
    write(small, 5_000, group=5_000)
    write(large, rows, group=1_000_000)
    assert os.path.getsize(large) >= 4_000_000_000
    found = measured(small, large, cache=cache, limit=1 << 30)
    assert found["peak"] - found["before"] < BOUND
    assert found["trace"] == pytest.approx(rows * COLUMNS / 3, rel=0.01)
