"""The engine of an analysis: named in YAML, checked against what it declares, opened before anything is reserved, closed."""

from dataclasses import replace

import pytest

import dpkit
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.errors import ReleaseFailedError, SourceError, SpecError

LEDGER = ("accountant: zcdp", "accountant: zcdp\n  ledger: people.ledger")
MADE = []


class Recording:
    """An engine that notes that it was closed."""

    def __init__(self, source, *, address, workers):
        if address == "nowhere":
            raise SourceError(source="the cluster", reason="it does not answer.")
        self.parameters = (address, workers)
        self.closed = 0
        self._engine = BlockEngine(source)
        MADE.append(self)

    def check(self, queries):
        self._engine.check(queries)

    def evaluate(self, queries):
        if self.parameters[0] == "broken":
            raise RuntimeError
        return self._engine.evaluate(queries)

    def close(self):
        self.closed += 1


FAR = dpkit.EngineFactory(
    name="far",
    doc="Somewhere else.",
    make=Recording,
    parameters=(
        dpkit.Parameter(name="address", kind="text", doc="Where."),
        dpkit.Parameter(name="workers", kind="integer", doc="How many.", minimum=1, default=2),
    ),
)


@pytest.fixture(scope="session")
def installed(installed):
    """What is installed, with one more engine, which needs an address."""
    registry = installed.registry
    return replace(installed, registry=replace(registry, engines=(*registry.engines, FAR)))


@pytest.fixture
def on(loaded):
    """`on(engine, changes...)`: the spec with this engine."""
    MADE.clear()
    return lambda engine, *changes: loaded(("steps:", f"engine: {engine}\nsteps:"), *changes)


def test_without_an_engine_it_is_blocks(loaded):
    assert loaded().engine.name == "blocks"


@pytest.mark.parametrize(
    ("written", "name", "parameters"),
    [
        ("memory", "memory", {}),
        ("{memory: }", "memory", {}),
        ("{memory: {}}", "memory", {}),
        ("{far: {address: a:1}}", "far", {"address": "a:1"}),
        ("{far: {address: a:1, workers: 3}}", "far", {"address": "a:1", "workers": 3}),
    ],
)
def test_an_engine_is_named_with_its_parameters(on, written, name, parameters):
    engine = on(written).engine
    assert (engine.name, engine.parameters) == (name, parameters)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("memori", "Did you mean 'memory'"),
        ("dask", "pip install dpkit-dask"),
        ("far", "far needs 'address'"),
        ("{far: {adress: a}}", "unknown key 'adress'"),
        ("{far: {address: a, workers: 0}}", "engine.far.workers"),
        ("{far: [a]}", "found a list"),
        ("{memory: {rows: 3}}", "unknown key 'rows'"),
        ("{memory: {}, far: {}}", "found 2 engines"),
        ("[memory]", "found a list"),
        ("", "found nothing"),
        ("3", "found 3"),
    ],
)
def test_a_wrong_engine_is_a_message_with_its_place(on, written, said):
    with pytest.raises(SpecError, match=r"analysis.yaml:13:") as caught:
        on(written)
    assert said in str(caught.value)
    assert len(caught.value.problems) <= 2


def test_the_engine_computes_and_is_closed(on):
    result = on("{far: {address: a}}").plan().run()
    assert result.is_complete
    assert [(engine.parameters, engine.closed) for engine in MADE] == [(("a", 2), 1)]


def test_every_engine_releases_the_same_bits(on):
    specs = [on(engine) for engine in ("blocks", "memory", "{far: {address: a}}")]
    answers = [spec.plan().simulate(seed=5)["ages"] for spec in specs]
    assert answers[0] == answers[1] == answers[2]
    assert len({spec.fingerprint for spec in specs}) == 1  # so one run may go on under another engine


def test_an_engine_that_cannot_be_opened_costs_nothing(on, folder):
    dpkit.Ledger.create(folder / "people.ledger", dataset="people", budget=dpkit.ApproxDP(epsilon=3.0, delta=1e-6)).close()
    with pytest.raises(SourceError, match="does not answer"):
        on("{far: {address: nowhere}}", LEDGER).plan().run()
    with dpkit.Ledger.open(folder / "people.ledger") as ledger:
        assert ledger.spent().rho == 0.0


def test_an_engine_that_fails_is_closed(on):
    with pytest.raises(ReleaseFailedError):
        on("{far: {address: broken}}").plan().run()
    assert [engine.closed for engine in MADE] == [1]


def test_an_allow_list_holds_for_engines(on):
    with pytest.raises(SpecError, match="no engine named 'far'"):
        on("{far: {address: a}}", ("dpkit: 1", "dpkit: 1\nplugins: [little]"))


def test_several_files_and_globs(on, folder):
    rows = (folder / "people.csv").read_text().splitlines(keepends=True)
    for name, part in (("a1", rows[1:50]), ("a2", rows[50:120]), ("b", rows[120:])):
        (folder / f"{name}.csv").write_text("".join([rows[0], *part]))
    relation = ("add-remove", "replace-one")  # where the number of rows is public, it is held against the declared 200
    assert on("blocks", relation, ("people.csv", "[b.csv, 'a*.csv']")).plan().run().is_complete
    with pytest.raises(SourceError, match="119 rows"):
        on("blocks", relation, ("people.csv", "'a*.csv'")).plan().run()
    with pytest.raises(SpecError, match=r"data\.source"):
        on("blocks", ("people.csv", "[b.csv, 3]"))
    with pytest.raises(SpecError, match=r"data\.source"):
        on("blocks", ("people.csv", "[]"))
