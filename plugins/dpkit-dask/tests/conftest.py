"""A real cluster of two processes, files in several layouts, and queries as a plugin author would write them."""

import logging
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import dask
import distributed
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import dpkit

CANARY = 7301.424242
ROWS = 6000
SOURCE = dpkit.Citation(key="dpkit", locator="docs/proofs/exact-sums.md")


HERE = Path(__file__).parent
RUNNING = ExitStack()
"""What ends the cluster, once there is one."""


@pytest.fixture(scope="session")
def cluster():
    """Two worker processes for all files of this folder; one that is killed is started again."""
    RUNNING.enter_context(dask.config.set(PATIENT))
    return RUNNING.enter_context(started())


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem):
    """End the cluster with the last test of this folder, and not with the session: Dask takes CPU time while it waits."""
    if nextitem is None or HERE not in nextitem.path.parents:
        RUNNING.close()


PATIENT = {"distributed.comm.timeouts.connect": "5m", "distributed.comm.timeouts.tcp": "5m"}
"""On a busy machine processes start late, which is no fault of theirs."""


def started(tries=3):
    """Dask gives its thread 10 seconds to start, which cannot be changed: asked again, where a machine is busier than that."""
    try:
        return distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            death_timeout=300,
        )
    except (RuntimeError, TimeoutError, OSError):
        if tries == 1:
            raise
        return started(tries - 1)


@pytest.fixture(scope="session")
def address(cluster):
    """Its scheduler."""
    return cluster.scheduler_address


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The same rows as one Parquet file, as several, and as CSV; a value that no output may show is in every tenth row."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    x = rng.uniform(-1e4, 1e4, size=ROWS)
    x[::10] = CANARY
    table = pyarrow.table({"x": x, "y": rng.normal(size=ROWS), "who": rng.integers(0, 700, size=ROWS)})
    parquet.write_table(table, folder / "one.parquet", row_group_size=ROWS // 9)
    for number, start in enumerate(range(0, ROWS, 2500)):
        parquet.write_table(table.slice(start, 2500), folder / f"several-{number}.parquet", row_group_size=700)
    lines = [",".join(map(repr, row)) for row in zip(*(table[name].to_pylist() for name in table.column_names), strict=True)]
    noted = [f'{line},"a\n1,2,3,4\n"' if place % 3 else f"{line}," for place, line in enumerate(lines)]  # one row each
    (folder / "one.csv").write_text("\n".join(["x,y,who,note", *noted, ""]))
    return folder


@pytest.fixture(scope="session")
def schema():
    return dpkit.Schema(columns=(dpkit.Number(name="x", lower=-1e4, upper=1e4), dpkit.Number(name="y", lower=-3, upper=3)))


def of_rows(rows, *, name="total", shape=(), columns=("x",), bound=1e4):
    return dpkit.Query(
        name=name,
        rows=rows,
        shape=shape,
        columns=columns,
        bound=bound,
        sensitivity=lambda neighbours: (dpkit.l1(bound), dpkit.l2(bound)),
        because=SOURCE,
    )


def total():
    return of_rows(lambda block: block[:, 0])


def products():
    return of_rows(lambda block: block[:, :, None] * block[:, None, :], shape=(2, 2), columns=("x", "y"), bound=1e8)


def deadly(flag):
    """A total; whoever evaluates it first, on more rows than a rehearsal has, dies of it."""

    def rows(block):
        if block.shape[0] > 3:
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return block[:, 0]

    return of_rows(rows)


@pytest.fixture(scope="session")
def queries():
    return SimpleNamespace(total=total, products=products, deadly=deadly, of_rows=of_rows, CANARY=CANARY)
