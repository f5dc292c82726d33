"""The same YAML on a cluster: the same simulated values, no charge where the cluster cannot be used, and clear words."""

import json

import distributed
import pytest
from dpkit_dask import DASK
from dpkit_dask import engine as engine_module
from dpkit_dask.cluster import Certificates, Cluster, ClusterError

import dpkit
from dpkit import SourceError, SpecError

YAML = """\
dpkit: 1
data:
  source: {source}
  rows: 20000
  neighbours: add-remove
  {unit}
  columns:
    x: [-10000, 10000]
    y: {{lower: -3, upper: 3}}
budget:
  epsilon: 1.0
  delta: 1e-6
  accountant: zcdp
engine: {engine}
steps:
  - id: mean
    run: mean
    with: {{column: x}}
  - id: both
    run: covariance
    with: {{columns: [x, y]}}
  - id: fit
    run: irls
    with: {{features: [x], target: y, iterations: 3}}
"""


def spec(folder, *, engine, source="one.parquet", unit="unit: row", ledger=""):
    text = YAML.format(engine=engine, source=source, unit=unit)
    if ledger:
        text = text.replace("delta: 1e-6", f"delta: 1e-6\n  ledger: {ledger}")
    (folder / "analysis.yaml").write_text(text)
    return dpkit.load(folder / "analysis.yaml")


@pytest.mark.parametrize("unit", ["unit: row", pytest.param("unit: {column: who, at_most: 3}", marks=pytest.mark.slow)])
def test_a_seeded_simulation_releases_the_same_values(address, tmp_path, unit):
    there = spec(tmp_path, engine=f"{{dask: {{address: '{address}', partition_bytes: 60000}}}}", unit=unit)
    here = spec(tmp_path, engine="memory", unit=unit)
    assert there.fingerprint == here.fingerprint
    one, other = there.plan().simulate(seed=7), here.plan().simulate(seed=7)
    assert json.loads(one.trace())["releases"] == json.loads(other.trace())["releases"]
    assert len(one.releases) >= 4


def test_steps_with_filters_of_their_own_share_the_cluster(address, files, tmp_path):
    """The same bits as here, also where persons are the unit and conditions come before contributions are bounded."""
    text = """\
dpkit: 1
data:
  source: {source}
  unit: {unit}
  columns: {{x: [-10000, 10000], y: {{lower: -3, upper: 3}}}}
  let: {{z: "exp(y) * 2"}}
  where: x > -9000
budget: {{epsilon: 10000, delta: 0.001}}
engine: {engine}
steps:
  - {{id: all, run: mean, with: {{column: z}}}}
  - {{id: few, run: mean, where: "y between 0 and 1 and z > 3", let: {{w: ln(z)}}, with: {{column: w}}}}
"""
    for unit in ("row", "{column: who, at_most: 2}"):
        found = {}
        for engine in (f"{{dask: {{address: '{address}', partition_bytes: 20000}}}}", "blocks"):
            (tmp_path / "a.yaml").write_text(text.format(source=files / "one.parquet", unit=unit, engine=engine))
            result = dpkit.load(tmp_path / "a.yaml").plan().run()
            found[engine] = [result["all"].count, result["few"].count, result["few"].estimate]
        one, other = found.values()
        assert one == pytest.approx(other, rel=2e-2), unit  # the noise differs


def test_without_an_address_a_cluster_of_this_machine_is_started_and_ended(tmp_path):
    there = spec(tmp_path, engine="{dask: {workers: 1}}").plan().simulate(seed=1)
    here = spec(tmp_path, engine="blocks").plan().simulate(seed=1)
    assert json.loads(there.trace())["releases"] == json.loads(here.trace())["releases"]


def test_a_cluster_that_cannot_be_reached_is_an_error_before_charging(files, tmp_path):
    path = tmp_path / "one.ledger"
    dpkit.Ledger.create(path, dataset="one", budget=dpkit.ApproxDP(epsilon=9.0, delta=1e-6)).close()
    engine = "{dask: {address: 'tcp://127.0.0.1:1', timeout: 0.5}}"
    plan = spec(tmp_path, engine=engine, source=files / "one.parquet", ledger="one.ledger").plan()
    with pytest.raises(ClusterError, match=r"does not answer within 0\.5 seconds"):
        plan.run()
    with dpkit.Ledger.open(path) as ledger:
        assert ledger.spent().rho == 0.0


@pytest.mark.parametrize(
    ("address", "said"),
    [("", "address is empty"), (" ", "address is empty"), ("nonsense", "make no sense"), ("unix:///nowhere", "make no sense")],
)
def test_an_address_that_is_none_is_an_error_and_starts_nothing(monkeypatch, address, said):
    real = distributed.Client

    def asserting(given, **options):
        assert "://" not in given  # which some addresses meet in Dask, too
        return real(given, **options)

    monkeypatch.setattr(distributed, "Client", asserting)
    with pytest.raises(ClusterError, match=said):
        Cluster.at(address, certificates=Certificates(), timeout=0.5)


@pytest.mark.parametrize("broken", ["LocalCluster", "Client"])
def test_a_local_cluster_that_does_not_start_is_an_error_and_is_ended(monkeypatch, broken):
    ended = []

    class Local:
        def __init__(self, **options):
            pass

        def close(self):
            ended.append(self)

    def failing(*_, **__):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", Local)
    monkeypatch.setattr(distributed, broken, failing)
    with pytest.raises(ClusterError, match=r"do not start .*__main__"):
        Cluster.local(workers=1, timeout=0.5)
    assert len(ended) == (broken == "Client")


def test_a_cluster_without_workers_is_an_error(cluster, monkeypatch):
    waited = distributed.Client.wait_for_workers  # briefly; the scheduler may take its time to answer
    monkeypatch.setattr(distributed.Client, "wait_for_workers", lambda self, n, timeout: waited(self, n, timeout=0.5))
    options = {"n_workers": 0, "processes": False, "dashboard_address": "127.0.0.1:0", "protocol": "tcp://"}
    options["loop"] = cluster.loop  # Dask waits 10 seconds for a thread of its own, which a busy machine may not give it
    with distributed.LocalCluster(**options) as empty, pytest.raises(ClusterError, match="no worker"):
        Cluster.at(empty.scheduler_address, certificates=Certificates(), timeout=120.0)


def test_data_in_memory_is_refused(address, tmp_path):
    plan = spec(tmp_path, engine=f"{{dask: {{address: '{address}'}}}}").plan()
    with pytest.raises(SourceError, match="no row is sent"):
        plan.run(data={"x": [1.0], "y": [2.0]})


@pytest.mark.parametrize(
    ("task", "answers", "said"),
    [
        ("machine_kind", ["one", "another"], "its workers differ"),
        ("plugin_versions", [("dpkit 0.0",)], "its workers lack"),
        ("file_sizes", [[None]], "is not there"),
        ("file_sizes", [[1]], "another size"),
    ],
)
def test_workers_that_are_not_fit_are_refused_before_anything_is_asked(
    address, files, schema, monkeypatch, task, answers, said
):
    everywhere = Cluster.everywhere

    def answered(self, function, *arguments):
        return answers if function.__name__ == task else everywhere(self, function, *arguments)

    monkeypatch.setattr(Cluster, "everywhere", answered)
    with pytest.raises(ClusterError, match=said):
        DASK.over(dpkit.open_source(files / "one.parquet", schema), address=address)


def test_queries_that_cannot_travel_are_refused_before_anything_is_charged(address, files, schema, queries):
    import threading

    lock = threading.Lock()
    engine = DASK.over(dpkit.open_source(files / "one.parquet", schema), address=address)
    try:
        with pytest.raises(dpkit.InvalidValueError, match="pickled"):
            engine.check([queries.of_rows(lambda block: block[:, 0] if lock else 0)])
    finally:
        engine.close()


def test_what_the_yaml_may_say(tmp_path):
    with pytest.raises(SpecError, match=r"engine\.dask\.workers"):
        spec(tmp_path, engine="{dask: {workers: 0}}")
    with pytest.raises(SpecError, match="unknown key 'adress'"):
        spec(tmp_path, engine="{dask: {adress: a}}")


class Never:
    """A task that comes to nothing."""

    cancelled = False

    def result(self, timeout):
        raise TimeoutError

    def cancel(self):
        self.cancelled = True


def test_a_step_is_given_up_when_all_workers_stay_away(address, files, schema, monkeypatch):
    engine = DASK.over(dpkit.open_source(files / "one.parquet", schema), address=address)
    try:
        assert engine._cluster.count_workers() >= 1
        seen = iter([2, 0, 0])
        monkeypatch.setattr(engine._cluster, "count_workers", lambda: next(seen))
        monkeypatch.setattr(engine_module, "_PATIENCE", 0.0)
        future = Never()
        with pytest.raises(ClusterError, match="all its workers are gone"):
            engine._result(future)
        assert future.cancelled
    finally:
        engine.close()
