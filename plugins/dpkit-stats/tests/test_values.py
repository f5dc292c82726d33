"""With next to no noise, each statistic is what numpy says it is, under both relations, with and without rows that drop."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import dpkit

sys.path.insert(0, str(Path(__file__).parent))
from dpkit_stats.count_tree import consistent_leaves, worst_prefix
from statistic_runs import ADD_REMOVE, ALGORITHMS, REPLACE_ONE, data, run, schema, setting

TABLE = data()
SETTINGS = {
    "add-remove": setting(),
    "replace-one, dropping": setting(REPLACE_ONE, rows=2_000),
    "replace-one, public size": setting(REPLACE_ONE, missing=0.0, rows=2_000),
    "replace-one, size not declared": setting(REPLACE_ONE, missing=0.0),
}
everywhere = pytest.mark.parametrize("known", SETTINGS.values(), ids=SETTINGS.keys())


@everywhere
def test_count_and_sum(known):
    for noise in ("gaussian", "laplace", "discrete-gaussian", "discrete-laplace"):
        assert run("count", TABLE, known, mechanism=noise).estimate == pytest.approx(2_000, abs=1e-4)
    assert run("sum", TABLE, known, column="x").estimate == pytest.approx(TABLE["x"].sum(), abs=1e-4)
    assert run("sum", TABLE, known, column="x", mechanism="laplace").estimate == pytest.approx(TABLE["x"].sum(), abs=1e-4)


@everywhere
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_mean_variance_and_covariance(known, mechanism):
    for name, truth in (("mean", np.mean(TABLE["x"])), ("variance", np.var(TABLE["x"]))):
        found = run(name, TABLE, known, column="x", mechanism=mechanism)
        assert found.estimate == pytest.approx(truth, abs=1e-6)
        assert found.count == pytest.approx(2_000, abs=1e-3)
    found = run("covariance", TABLE, known, columns=["x", "y"], mechanism=mechanism)
    truth = np.cov(TABLE["x"], TABLE["y"], bias=True)
    assert np.allclose(found.estimate, truth, atol=1e-4)
    assert np.linalg.norm(np.array(found.estimate) - truth) <= found.error
    assert np.allclose(found.means, [TABLE["x"].mean(), TABLE["y"].mean()], atol=1e-4)


@everywhere
def test_histograms_and_quantiles(known):
    levels = run("histogram", TABLE, known, column="c")
    assert levels.cells == ("a", "b", "rest")
    assert np.allclose(levels.estimates, [np.sum(TABLE["c"] == level) for level in ("a", "b", "zzz")], atol=1e-3)
    edges = [-5.0, 1.0, 2.0, 8.0]
    cells = run("histogram", TABLE, known, column="x", edges=edges, mechanism="discrete-gaussian")
    assert cells.cells == ("[-5, 1)", "[1, 2)", "[2, 8]")
    assert list(cells.estimates) == np.histogram(TABLE["x"], edges)[0].tolist()
    asked = [0.0, 0.1, 0.5, 0.9, 1.0]
    for mechanism in ("gaussian", "laplace", "discrete-gaussian", "discrete-laplace"):
        found = run("quantiles", TABLE, known, column="x", probabilities=asked, depth=12, mechanism=mechanism)
        assert np.allclose(found.estimates[1:4], np.quantile(TABLE["x"], asked[1:4]), atol=3 * found.resolution)
        assert list(found.estimates) == sorted(found.estimates)


def test_rows_without_a_value_are_left_out_and_not_counted_as_the_middle():
    table = {**data(100), "x": np.where(np.arange(100) < 60, np.nan, 9.0)}
    for known in (setting(), setting(REPLACE_ONE, rows=100)):
        found = run("mean", table, known, column="x")
        assert found.estimate == pytest.approx(9.0, abs=1e-4)
        assert found.count == pytest.approx(40, abs=1e-3)


def test_a_public_size_is_used_as_it_is_and_a_private_one_never():
    public = run("mean", TABLE, setting(REPLACE_ONE, missing=0.0, rows=2_000), column="x", noise=5.0)
    assert public.count == 2_000
    person = dpkit.PrivacyUnit(column="c", at_most=3)
    for private in (setting(rows=2_000), setting(REPLACE_ONE, missing=0.0, rows=2_000, unit=person)):
        assert run("mean", TABLE, private, column="x", noise=5.0).count != 2_000


def test_a_person_counts_at_most_so_often_and_costs_as_much_more():
    table = {**data(30), "who": [place // 10 for place in range(30)]}
    known = setting(unit=dpkit.PrivacyUnit(column="who", at_most=4))
    assert run("count", table, known, column="x").estimate == pytest.approx(12, abs=1e-3)
    per_row, per_person = (ALGORITHMS["count"].prepare(one).accuracy(1.0) for one in (setting(), known))
    assert per_person == pytest.approx(4.0 * per_row, rel=1e-4)


@pytest.mark.parametrize("neighbours", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("table", [data(0), data(1), {"x": ["?"], "y": [None], "c": [1]}], ids=["empty", "one row", "no value"])
def test_degenerate_data_gives_an_answer_that_json_can_hold(table, neighbours):
    asked = {name: {"column": "x"} for name in ("count", "sum", "mean", "variance", "quantiles")}
    asked |= {"histogram": {"column": "c"}, "covariance": {"columns": ["x", "y"]}}
    for name, parameters in asked.items():
        found = run(name, table, setting(neighbours), noise=2.0, **parameters)
        plain = found.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert name != "mean" or -5.0 <= plain["estimate"] <= 15.0


def test_wrong_names_and_parameters_are_refused_with_what_is_right():
    known = setting()
    for name in ("sum", "mean", "variance", "quantiles"):
        with pytest.raises(dpkit.UnknownNameError, match="Known: c, x, y"):
            ALGORITHMS[name].prepare(known, column="z")
        with pytest.raises(dpkit.InvalidValueError, match=r"a column of numbers \(x, y\)"):
            ALGORITHMS[name].prepare(known, column="c")
    with pytest.raises(dpkit.UnknownNameError, match="Did you mean 'column'"):
        ALGORITHMS["mean"].prepare(known, colum="x")
    wrong = [
        ("histogram", {"column": "x"}, "increasing numbers"),
        ("histogram", {"column": "x", "edges": [1.0, 1.0]}, "increasing numbers"),
        ("histogram", {"column": "c", "edges": [0.0, 1.0]}, "its levels"),
        ("quantiles", {"column": "x", "probabilities": [0.5, 0.5]}, "that differ"),
        ("quantiles", {"column": "x", "probabilities": [1.5]}, "<= 1"),
        ("covariance", {"columns": ["x", "x"]}, "columns that differ"),
        ("mean", {"column": "x", "mechanism": "discrete-laplace"}, "laplace, gaussian"),
    ]
    for name, parameters, message in wrong:
        with pytest.raises(dpkit.InvalidValueError, match=message):
            ALGORITHMS[name].prepare(known, **parameters)
    flat = dpkit.Schema(columns=(dpkit.Number(name="x", lower=1.0, upper=1.0), *schema().columns[1:]))
    with pytest.raises(dpkit.InvalidValueError, match="bounds differ"):
        ALGORITHMS["mean"].prepare(dpkit.DeclaredSetting(schema=flat), column="x")


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("total", [None, 0.0])
def test_the_worst_prefix_bounds_every_prefix_of_a_tree(depth, total):
    """The answer is linear in the nodes, so the worst error is the sum of the magnitudes of its coefficients."""
    nodes = np.eye(2 ** (depth + 1) - 2)
    prefixes = np.array([np.cumsum(consistent_leaves(node, total=total)) for node in nodes])
    worst = float(np.abs(prefixes).sum(axis=0).max())
    assert worst <= worst_prefix(depth) <= 4.0 * worst + 2.0


def test_quantiles_with_a_stranger_s_noise_have_an_error_from_its_accuracy_alone():
    algorithm = ALGORITHMS["quantiles"].prepare(setting(), column="x", depth=3, mechanism="hello")
    error = algorithm.accuracy(1.0)["rank, in rows"]
    assert 0.0 < error < 10_000
    own = ALGORITHMS["quantiles"].prepare(setting(), column="x", depth=3, mechanism="laplace").accuracy(1.0)
    assert error > own["rank, in rows"] / 2.0


@pytest.mark.parametrize(
    ("asked", "chosen"), [((0.5,), True), ((0.25, 0.5, 0.75), True), (tuple(np.arange(1, 60) / 60), False)]
)
def test_few_quantiles_are_chosen_and_many_are_read_from_a_tree(asked, chosen):
    algorithm = ALGORITHMS["quantiles"].prepare(setting(), column="x", probabilities=asked)
    assert isinstance(algorithm.noise(1.0), dpkit.ExponentialQuantiles) is chosen


@pytest.mark.parametrize("unit", [dpkit.PrivacyUnit(), dpkit.PrivacyUnit(column="c", at_most=4)])
def test_a_count_without_a_column_counts_rows(unit):
    table = {"x": np.array([1.0, np.nan, 3.0, np.nan]), "y": np.full(4, np.nan), "c": np.array(["a", "a", "b", "b"])}
    known = setting(unit=unit)
    assert run("count", table, known).estimate == pytest.approx(4.0, abs=1e-4)
    assert run("count", table, known, column="x").estimate == pytest.approx(2.0, abs=1e-4)
    assert run("count", table, known, column="y").estimate == pytest.approx(0.0, abs=1e-4)
    none = dpkit.DeclaredSetting(schema=known.schema.extended(where="x is null"), unit=unit)
    assert run("count", table, none).estimate == pytest.approx(2.0, abs=1e-4)
    by_level = run("count", table, known, by=["c"])
    assert [row[1] for row in by_level.rows] == pytest.approx([2.0, 2.0, 0.0], abs=1e-4)


def test_the_number_of_rows_is_free_where_it_is_public_and_not_where_some_are_left_out():
    known = setting(REPLACE_ONE, rows=2_000)
    query = ALGORITHMS["count"].prepare(known).statistic.query
    assert {distance.value for distance in known.distances(query)} == {0.0}
    some = dpkit.DeclaredSetting(schema=known.schema.extended(where="x > 0"), neighbours=REPLACE_ONE)
    assert {distance.value for distance in some.distances(query)} == {1.0}


def test_a_column_of_whole_numbers_has_whole_quantiles():
    ages = dpkit.Number(name="age", lower=0, upper=100, whole=True)
    known = dpkit.DeclaredSetting(schema=dpkit.Schema(columns=(ages,)))
    found = run("quantiles", {"age": np.arange(101.0)}, known, column="age", probabilities=[0.5, 0.1], noise=0.01)
    assert found.estimates == (50.0, 10.0)
    assert all(float(end).is_integer() for end in (*found.lower, *found.upper))
    assert found.lower[0] <= 50.0 <= found.upper[0]
    assert found.resolution == 1.0


def test_a_proportion_is_the_share_of_a_level_or_of_true():
    known, table = setting(), data()
    found = run("proportion", table, known, column="c", level="b")
    assert found.estimate == pytest.approx(np.mean(table["c"] == "b"), abs=1e-6)
    public = run("proportion", table, setting(REPLACE_ONE, rows=2_000), column="c", level="b", noise=1.0)
    assert public.count == 2_000
    assert public.lower <= np.mean(table["c"] == "b") <= public.upper
    truth = dpkit.DeclaredSetting(schema=dpkit.Schema(columns=(dpkit.Boolean(name="m"),)))
    assert run("proportion", {"m": [True, False, True, None]}, truth, column="m").estimate == pytest.approx(2 / 3, abs=1e-6)
    assert run("histogram", {"m": [True, False, True]}, truth, column="m").cells == ("false", "true")
    with pytest.raises(dpkit.InvalidValueError, match="a level of 'c': a, b, rest"):
        ALGORITHMS["proportion"].prepare(known, column="c")
    with pytest.raises(dpkit.InvalidValueError, match="a category, or a boolean"):
        ALGORITHMS["proportion"].prepare(known, column="x")


def test_the_median_and_the_correlation_have_names():
    table = data()
    found = run("median", table, setting(), column="x")
    assert found.estimate == pytest.approx(np.median(table["x"]), abs=0.05)
    assert found.lower <= found.estimate <= found.upper
    exact = np.corrcoef(table["x"], table["y"])[0, 1]
    assert run("correlation", table, setting(), columns=["x", "y"]).estimate == pytest.approx(exact, abs=1e-3)
    covered = 0
    for seed in range(60):
        one = run("correlation", table, setting(), columns=["x", "y"], noise=2.0, seed=seed)
        covered += one.lower <= exact <= one.upper
        assert -1.0 <= one.lower <= one.estimate <= one.upper <= 1.0
    assert covered >= 46  # below that with a probability of 1e-6 where 95% hold
    nothing = run("correlation", {name: values[:0] for name, values in table.items()}, setting(), columns=["x", "y"], noise=2.0)
    assert (nothing.lower, nothing.upper) == (-1.0, 1.0)


def correlated(rng, rows):
    """Columns off the middle of their bounds on different sides, of different deviations."""
    x = rng.gamma(2.0, 0.6, rows)
    return {"x": np.clip(x - 3.0, -3.0, 5.0), "y": np.clip(4.0 - 0.5 * x + rng.normal(0.0, 0.5, rows), -3.0, 5.0)}


def in_the_middle(rng, rows):
    """Columns that vary by an eighth of their bounds and have nothing to do with each other."""
    return {name: 1.0 + rng.choice([-1.0, 1.0], rows) for name in "xy"}


@pytest.mark.parametrize(
    ("table_of", "is_declared", "said"),
    [
        (correlated, True, "deviations as declared"),
        (in_the_middle, True, "deviations as declared"),
        (in_the_middle, False, "columns whose deviation is an eighth of their bounds"),
    ],
)
def test_the_stated_error_of_a_correlation_is_one_to_expect_for_columns_that_vary_as_is_said(table_of, is_declared, said):
    rows = 20_000
    columns = tuple(dpkit.Number(name=name, lower=-3.0, upper=5.0) for name in "xy")
    known = dpkit.DeclaredSetting(schema=dpkit.Schema(columns=columns), rows=rows)
    table = table_of(np.random.default_rng(4), rows)
    asked = {"columns": ["x", "y"]} | ({"deviations": [float(np.std(table[name])) for name in "xy"]} if is_declared else {})
    exact = np.corrcoef(table["x"], table["y"])[0, 1]
    ((name, stated),) = ALGORITHMS["correlation"].prepare(known, **asked).accuracy(4.0).items()
    assert name == said
    errors = [run("correlation", table, known, **asked, noise=4.0, seed=n).estimate - exact for n in range(60)]
    assert 0.8 < stated / (1.96 * np.sqrt(np.mean(np.square(errors)))) < 2.0


@pytest.mark.parametrize("deviations", [[0.0, 1.0], [-1.0, 1.0], [1.0], [1.0, 1.0, 1.0], [4.5, 1.0]])
def test_deviations_that_no_column_has_are_refused(deviations):
    columns = tuple(dpkit.Number(name=name, lower=-3.0, upper=5.0) for name in "xy")
    known = dpkit.DeclaredSetting(schema=dpkit.Schema(columns=columns), rows=10)
    with pytest.raises(dpkit.DpkitError, match="at most 4 and 4: half of the bounds"):
        ALGORITHMS["correlation"].prepare(known, columns=["x", "y"], deviations=deviations)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("  rows: 10\n", "columns whose deviation is an eighth of their bounds  2"),
        ("", "answer  not known before the run; `rows` is not declared"),
    ],
)
def test_a_plan_says_which_errors_nobody_knows_before_the_run(tmp_path, rows, said):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    head = f"dpkit: 1\ndata:\n  source: a.csv\n  columns: {{x: [0, 9], y: [0, 9]}}\n{rows}"
    steps = "budget: {epsilon: 1, delta: 1e-6}\nsteps:\n"
    steps += "  - {id: both, run: correlation, with: {columns: [x, y]}}\n  - {id: all, run: count}\n"
    (tmp_path / "a.yaml").write_text(head + steps, encoding="utf-8")
    text = str(dpkit.load(tmp_path / "a.yaml").plan())
    assert f"both  {said}\n" in text
