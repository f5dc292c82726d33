"""Statistics by keys that nobody declared: which come out, what they cost, and that the tables are those of the rows."""

import collections
import sys
from pathlib import Path

import numpy as np
import pytest

import dpkit

sys.path.insert(0, str(Path(__file__).parent))
from statistic_runs import ADD_REMOVE, ALGORITHMS, REPLACE_ONE, ROW, run

PERSON = dpkit.PrivacyUnit(column="who", at_most=3)
RNG = np.random.default_rng(5)
ROWS = 3_000
CITY = np.array([f"c{min(place, 400)}" for place in RNG.zipf(1.6, ROWS)], dtype=object)
TABLE = {"city": CITY, "x": RNG.uniform(0, 10, ROWS), "m": RNG.integers(0, 2, ROWS).astype(bool), "who": np.arange(ROWS) // 2}
COUNTS = collections.Counter(CITY.tolist())
KEYS = {"column": "city", "keys": "private", "delta": 1e-6}


def setting(relation=ADD_REMOVE, unit=ROW):
    columns = (dpkit.Text(name="city"), dpkit.Number(name="x", lower=0, upper=10), dpkit.Boolean(name="m"))
    return dpkit.DeclaredSetting(schema=dpkit.Schema(columns=columns), neighbours=relation, unit=unit)


@pytest.mark.parametrize("noise", ["gaussian", "geometric"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_counts_come_with_the_keys_and_their_intervals_hold(relation, noise):
    covered, all_rows = 0, 0
    for seed in range(25):
        found = run("count", TABLE, setting(relation), by={**KEYS, "noise": noise}, noise=2.0, seed=seed)
        assert found.columns == ("city", "estimate", "lower", "upper")
        kept = found.column("city")
        assert list(kept) == sorted(kept)
        assert all(COUNTS[key] >= 3 for key in kept)
        assert {key for key, count in COUNTS.items() if count > 150} <= set(kept)
        inside = [low <= COUNTS[key] <= high for key, _, low, high in found.rows]
        covered, all_rows = covered + sum(inside), all_rows + len(inside)
    assert covered >= 0.98 * all_rows  # all of a table hold at once with 95%


@pytest.mark.parametrize("name", ["count", "sum", "mean", "quantiles"])
@pytest.mark.parametrize("unit", [ROW, PERSON], ids=["row", "person"])
def test_tables_are_those_of_the_rows_with_each_key(name, unit):
    parameters = {} if name == "count" else {"column": "x"}
    found = run(name, TABLE, setting(unit=unit), by=[KEYS, "m"], noise=1.0, **parameters)
    assert found.columns[:2] == ("city", "m")
    key = found.column("city")[0]
    assert key in COUNTS
    if name == "mean":
        place = found.columns.index("estimate")
        for row in found.rows:
            mine = TABLE["x"][(row[0] == CITY) & (TABLE["m"] == row[1])]
            if len(mine) > 300:
                assert row[place] == pytest.approx(mine.mean(), abs=0.7)


def test_no_key_is_no_failure():
    empty = {name: values[:0] for name, values in TABLE.items()}
    for unit in (ROW, PERSON):
        for name, parameters in (("count", {}), ("mean", {"column": "x"})):
            found = run(name, empty, setting(unit=unit), by=KEYS, noise=2.0, **parameters)
            assert (found.columns[0], found.rows) == ("city", ())


@pytest.mark.parametrize("unit", [ROW, PERSON], ids=["row", "person"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_the_delta_of_the_keys_is_paid_from_the_budget(relation, unit):
    for name, parameters in (("count", {}), ("mean", {"column": "x"})):
        algorithm = ALGORITHMS[name].prepare(setting(relation, unit), by=KEYS, **parameters)
        with pytest.raises((dpkit.BudgetUnreachableError, dpkit.InvalidValueError)):
            dpkit.solve_noise([algorithm], dpkit.ApproxDP(epsilon=1.0, delta=5e-7), neighbours=relation)
        _, guarantee = dpkit.solve_noise([algorithm], dpkit.ApproxDP(epsilon=1.0, delta=2e-6), neighbours=relation)
        assert guarantee.epsilon(delta=2e-6) <= 1.0
        assert algorithm.advice(2.0)


def test_wrong_keys_are_refused():
    wrong = [
        ({"column": "city", "keys": "public", "delta": 1e-6}, "private"),
        ({"column": "city", "keys": "private"}, "delta"),
        ({"column": "city", "keys": "private", "delta": 0.5}, "at most 0.1"),
        ({"column": "x", "keys": "private", "delta": 1e-6}, "declare 'x' as text"),
        ([KEYS, KEYS], "at most one column"),
        ("city", "keys: private"),
    ]
    for by, message in wrong:
        with pytest.raises(dpkit.InvalidValueError, match=message):
            ALGORITHMS["count"].prepare(setting(), by=by)
    with pytest.raises(dpkit.InvalidValueError, match="a column of numbers"):
        ALGORITHMS["mean"].prepare(setting(), column="city")


@pytest.mark.parametrize(("delta", "fits"), [("1e-7", True), ("1e-3", False)])
def test_a_delta_of_keys_above_the_budget_is_refused_before_any_plan(tmp_path, delta, fits):
    path = tmp_path / "a.yaml"
    step = f"{{id: n, run: count, by: {{column: city, keys: private, delta: {delta}}}}}"
    data = "data: {source: a.csv, columns: {city: text}}"
    path.write_text(f"dpkit: 1\n{data}\nbudget: {{epsilon: 1, delta: 1e-6}}\nsteps: [{step}]\n", encoding="utf-8")
    if fits:
        assert dpkit.load(path)
        return
    with pytest.raises(dpkit.SpecError, match=r"add up to 0\.001"):
        dpkit.load(path)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_largest_budget_has_a_plan_too(tmp_path, neighbours):
    (tmp_path / "a.csv").write_text("city\n" + "Ulm\n" * 9 + "Bern\n" * 5, encoding="utf-8")
    data = f"data: {{source: a.csv, rows: 14, neighbours: {neighbours}, columns: {{city: text}}}}\n"
    steps = "steps:\n  - {id: a, run: count, by: {column: city, keys: private}}\n"
    (tmp_path / "a.yaml").write_text(f"dpkit: 1\n{data}budget: {{epsilon: 10000, delta: 1e-6}}\n{steps}", encoding="utf-8")
    found = dpkit.load(tmp_path / "a.yaml").plan().run().outcomes["a"].result
    assert [row[:2] for row in found.rows] == [("Bern", 5.0), ("Ulm", 9.0)]
