"""Regressions of every family on a cluster: the same bits as in memory."""

import numpy as np
import pyarrow
import pytest
from dpkit_dask import DASK
from pyarrow import parquet

import dpkit
from dpkit import BlockEngine, DeclaredSetting, Neighbours, run_algorithms

COLUMNS = (
    dpkit.Number(name="x0", lower=-5, upper=5, missing=0.0),
    dpkit.Number(name="x1", lower=-5, upper=5, missing=0.0),
    dpkit.Boolean(name="yes", missing=False),
    dpkit.Category(name="kind", levels=("a", "b", "c")),
    dpkit.Number(name="count", lower=0, upper=50, missing=0.0),
    dpkit.Number(name="y", lower=-9, upper=9, missing=0.0),
)
FAMILIES = [
    ("logistic", "yes", {"ridge": 0.1}),
    ("multinomial", "kind", {}),
    ("poisson", "count", {}),
    ("quantile-regression", "y", {"quantile": 0.7}),
    ("irls", "y", {"score": "bisquare"}),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 2))
    table = {
        "x0": x[:, 0],
        "x1": x[:, 1],
        "yes": rng.random(3_000) < 1.0 / (1.0 + np.exp(-x[:, 0])),
        "kind": np.array(["a", "b", "c"])[np.argmax(rng.gumbel(size=(3_000, 3)) + x[:, :1] * [0.0, 1.0, -1.0], axis=1)],
        "count": rng.poisson(np.exp(0.5 * x[:, 0])),
        "y": x[:, 0] + rng.normal(size=3_000),
    }
    found = tmp_path_factory.mktemp("families") / "rows.parquet"
    parquet.write_table(pyarrow.table(table), found, row_group_size=700)
    return found


@pytest.mark.parametrize(
    ("run", "target", "chosen"),
    [pytest.param(*family, marks=[] if family[0] == "multinomial" else pytest.mark.slow, id=family[0]) for family in FAMILIES],
)
def test_a_fit_has_the_same_bits_on_a_cluster(address, path, run, target, chosen):
    schema, relation = dpkit.Schema(columns=COLUMNS), Neighbours.REPLACE_ONE
    setting = DeclaredSetting(schema=schema, neighbours=relation, rows=3_000)
    fit = dpkit.default_registry().algorithm(run).prepare(setting, features=["x0", "x1"], target=target, iterations=2, **chosen)
    source = dpkit.open_source(path, schema, neighbours=relation)
    engine = DASK.over(source, address=address, partition_bytes=40_000)
    try:
        there, here = (
            run_algorithms({"fit": (fit, 1.0)}, engine=each, setting=setting, rng=np.random.default_rng(5))
            for each in (engine, BlockEngine(source))
        )
    finally:
        engine.close()
    assert there.outcomes["fit"].result.coefficients == here.outcomes["fit"].result.coefficients
