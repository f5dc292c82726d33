"""The engine on a real cluster: the same bits as in memory on any partitioning, also for persons, and after a worker died."""

import os
from dataclasses import dataclass

import numpy as np
import pytest
from dpkit_dask import DASK

import dpkit
from dpkit import BlockEngine, run_algorithms


def steps(totals):
    return [total.steps().tolist() for total in totals]


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("one.parquet", 1),
        pytest.param("one.parquet", 1 << 30, marks=pytest.mark.slow),
        ("several-*.parquet", 40_000),
        ("one.csv", 17_001),
    ],
)
def test_totals_are_those_of_one_machine_on_any_partitioning(address, files, schema, queries, pattern, size):
    asked = [queries.total(), queries.products()]
    here = BlockEngine(dpkit.open_source(files / "one.parquet", schema)).evaluate(asked)
    engine = DASK.over(dpkit.open_source(files / pattern, schema), address=address, partition_bytes=size)
    try:
        engine.check(asked)
        assert steps(engine.evaluate(asked)) == steps(here)
        assert engine.evaluate([]) == ()
        assert engine.setting == BlockEngine(dpkit.open_source(files / pattern, schema)).setting
    finally:
        engine.close()


def test_persons_are_bounded_across_partitions(address, files, schema, queries):
    unit = dpkit.PrivacyUnit(column="who", at_most=2)
    source = dpkit.open_source(files / "one.parquet", schema, unit=unit)
    asked = [queries.total(), queries.of_rows(lambda block: np.ones(block.shape[0]), name="count", bound=1.0)]
    here = BlockEngine(source).evaluate(asked)
    engine = DASK.over(source, address=address, partition_bytes=1)
    try:
        assert steps(engine.evaluate(asked)) == steps(here)
        assert steps(engine.evaluate(asked[:1])) == steps(here[:1])
    finally:
        engine.close()
    assert 700 < here[1].nearest() <= 1400  # of 6000 rows


def test_files_that_change_between_passes_are_refused(address, files, schema, queries, tmp_path):
    """Which rows of a person are used was chosen by their places."""
    mine = tmp_path / "one.parquet"
    mine.write_bytes((files / "one.parquet").read_bytes())
    engine = DASK.over(dpkit.open_source(mine, schema), address=address, partition_bytes=1)
    try:
        engine.evaluate([queries.total()])
        os.utime(mine, ns=(1, 1))
        with pytest.raises(dpkit.SourceError, match="changed"):
            engine.evaluate([queries.total()])
    finally:
        engine.close()


@dataclass(frozen=True)
class OnePass:
    """Releases one query once."""

    setting: object
    query: object

    def plan(self, noise):
        return dpkit.planned_event(self.setting, self.query, dpkit.Gaussian(scale=noise))

    def init(self, noise):
        return (noise, ())

    def step(self, state, curator):
        return (state[0], (float(curator.release(self.query, dpkit.Gaussian(scale=state[0]))),))

    def finished(self, state):
        return bool(state[1])

    def result(self, state):
        return state[1]


def test_a_worker_killed_in_the_middle_of_a_step_changes_nothing_and_charges_nothing_twice(
    address, files, schema, queries, tmp_path
):
    source = dpkit.open_source(files / "one.parquet", schema)
    setting = dpkit.DeclaredSetting(schema=schema)
    found = {}
    for name, query in {"calm": queries.total(), "killed": queries.deadly(str(tmp_path / "flag"))}.items():
        path = tmp_path / f"{name}.ledger"
        dpkit.Ledger.create(path, dataset=name, budget=dpkit.ApproxDP(epsilon=9.0, delta=1e-6)).close()
        engine = DASK.over(source, address=address, partition_bytes=1)
        try:
            with dpkit.Ledger.open(path) as ledger:
                ran = run_algorithms(
                    {"fit": (OnePass(setting, query), 1e5)},
                    engine=engine,
                    setting=setting,
                    ledger=ledger,
                    run="one",
                    rng=np.random.default_rng(3),
                )
                found[name] = (ran.outcomes["fit"].result, ledger.spent().rho, len(ran.releases))
        finally:
            engine.close()
    assert (tmp_path / "flag").exists()  # somebody died
    assert found["killed"] == found["calm"]
    assert found["calm"][2] == 1
