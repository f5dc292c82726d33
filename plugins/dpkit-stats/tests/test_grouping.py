"""Statistics in groups: the cells are those of the rows, the price is that of one release, and margins agree with cells."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import dpkit

sys.path.insert(0, str(Path(__file__).parent))
from statistic_runs import ADD_REMOVE, ALGORITHMS, EXACT, REPLACE_ONE, data, engine, run, setting

TABLE = data(2_000)
BY = ["c", {"column": "y", "edges": [0.0, 0.5, 1.0]}]
CELLS = [(c, y) for c in ("a", "b", "rest") for y in (0, 1)]
ASKED = {
    "count": {},
    "sum": {"column": "x"},
    "mean": {"column": "x"},
    "variance": {"column": "x"},
    "histogram": {"column": "x", "edges": [-5.0, 3.0, 15.0]},
    "quantiles": {"column": "x", "probabilities": [0.9, 0.1, 0.5]},
}
PERSON = dpkit.PrivacyUnit(column="who", at_most=3)


def mask(cell, table=TABLE):
    level = np.where(np.isin(table["c"], ["a", "b"]), table["c"], "rest") == cell[0]
    return level & ((table["y"] >= 0.5) == bool(cell[1]))


def truth(name, x):
    return {
        "count": lambda: [x.size],
        "sum": lambda: [x.sum()],
        "mean": lambda: [x.mean()],
        "variance": lambda: [x.var()],
        "histogram": lambda: np.histogram(x, [-5.0, 3.0, 15.0])[0],
        "quantiles": lambda: np.quantile(x, [0.9, 0.1, 0.5]),
    }[name]()


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_every_cell_is_the_statistic_of_its_rows(name, relation):
    found = run(name, TABLE, setting(relation, missing=0.0, rows=2_000), by=BY, **ASKED[name])
    assert found.columns[:2] == ("c", "y")
    start = found.columns.index("estimate")
    assert found.columns[start : start + 3] == ("estimate", "lower", "upper")
    wanted = np.concatenate([truth(name, TABLE["x"][mask(cell)]) for cell in CELLS])
    close = 0.05 if name == "quantiles" else 1e-4
    assert found.column("estimate") == pytest.approx(wanted, abs=close, rel=1e-5)
    assert all(low <= one <= high for _, one, low, high in [(0, *row[start : start + 3]) for row in found.rows])
    assert found.to_dict()["columns"] == list(found.columns)


@pytest.mark.parametrize("name", ASKED)
def test_margins_are_the_statistic_of_more_rows_and_agree_with_the_cells(name):
    adding = {"mechanism": "gaussian"} if name == "quantiles" else {}  # quantiles that were chosen do not add up
    found = run(name, TABLE, setting(), by=BY, **ASKED[name], **adding)
    by_level, by_side, whole = found.margins
    assert (by_level.columns[0], by_side.columns[0]) == ("c", "y")
    close = 0.05 if name == "quantiles" else 1e-4
    assert whole.column("estimate") == pytest.approx(truth(name, TABLE["x"]), abs=close, rel=1e-5)
    noisy = run(name, TABLE, setting(), by=BY, noise=5.0, **ASKED[name])
    if name in ("count", "sum"):
        cells = np.array(noisy.column("estimate")).reshape(3, 2)
        assert noisy.margins[0].column("estimate") == pytest.approx(cells.sum(axis=1), rel=1e-12)
        assert noisy.margins[1].column("estimate") == pytest.approx(cells.sum(axis=0), rel=1e-12)
        assert noisy.margins[2].column("estimate") == pytest.approx([cells.sum()], rel=1e-12)


def test_a_public_number_of_rows_is_what_the_cells_add_up_to():
    known = setting(REPLACE_ONE, missing=0.0, rows=2_000)
    for name in ("count", "mean"):
        found = run(name, TABLE, known, by=["c"], noise=8.0, **ASKED[name])
        counts = found.column("estimate" if name == "count" else "count")
        assert math.fsum(counts) == pytest.approx(2_000.0, abs=1e-6)
        if name == "count":
            assert found.margins[0].rows == ((2_000.0, 2_000.0, 2_000.0),)
    private = run("count", TABLE, setting(rows=2_000), by=["c"], noise=8.0)
    assert abs(math.fsum(private.column("estimate")) - 2_000.0) > 1e-3


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("unit", [dpkit.PrivacyUnit(), PERSON], ids=["row", "person"])
def test_fifty_cells_cost_as_much_noise_as_one(relation, unit):
    known = setting(relation, rows=2_000, unit=unit)
    fifty = {"column": "y", "edges": list(np.linspace(0.0, 1.0, 51))}
    scales = []
    for by in ({}, {"by": fifty}):
        algorithm = ALGORITHMS["mean"].prepare(known, column="x", **by)
        (noise,), guarantee = dpkit.solve_noise([algorithm], dpkit.ApproxDP(epsilon=1.0, delta=1e-6), neighbours=relation)
        assert guarantee.epsilon(delta=1e-6) <= 1.0
        scales.append(algorithm._noise(noise).scale)
    assert scales[1] <= 1.5 * scales[0]


@pytest.mark.parametrize("mechanism", ["gaussian", pytest.param("laplace", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["count", "sum", "mean", "variance"])
def test_the_intervals_of_all_cells_hold_at_once_as_often_as_promised(name, mechanism):
    known, rng = setting(rows=2_000), np.random.default_rng(3)
    algorithm = ALGORITHMS[name].prepare(known, mechanism=mechanism, by=BY, **ASKED[name])
    (total,) = engine(TABLE, known).evaluate([algorithm.statistic.query])
    noise, state = algorithm._noise(3.0), algorithm.init(3.0)
    wanted = np.concatenate([truth(name, TABLE["x"][mask(cell)]) for cell in CELLS])
    good, covered = 0, 0
    for _ in range(150):
        found = algorithm.result(type(state)(noise=3.0, released=noise.release(total.nearest(), rng)))
        inside = (np.array(found.column("lower")) <= wanted) & (wanted <= np.array(found.column("upper")))
        good += bool(inside.all())
        whole = found.margins[-1]
        covered += whole.column("lower")[0] <= truth(name, TABLE["x"])[0] <= whole.column("upper")[0]
    assert min(good, covered) >= 128  # below that with a probability of 1e-6 where 95% hold


def test_persons_and_whole_noise():
    table = {**TABLE, "who": np.arange(2_000) % 900}
    known = setting(unit=PERSON)
    found = run("count", table, known, by=["c"], mechanism="discrete-laplace", noise=2.0)
    assert all(float(one).is_integer() for one in found.column("estimate"))
    one, per_person = (ALGORITHMS["count"].prepare(each, by=["c"]).accuracy(1.0) for each in (setting(), known))
    assert per_person == pytest.approx(3.0 * one, rel=1e-3)


def test_no_rows_in_a_cell_is_no_failure():
    table = {name: values[:0] for name, values in TABLE.items()}
    for name, parameters in ASKED.items():
        found = run(name, table, setting(), by=BY, noise=EXACT, **parameters)
        assert all(math.isfinite(float(one)) for one in found.column("estimate"))
