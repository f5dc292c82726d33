"""Before the fit: errors by simulation and rows that are needed, from public facts. After it: standard errors. Warm starts."""

import textwrap
from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.foretold_errors import made_up
from dpkit_irls.moments.moment_errors import residual_scale, scores
from dpkit_irls.moments.moment_query import Scaling
from dpkit_irls.regressions import IRLS, MOMENTS, PAPER
from dpkit_irls.simulated_run import last_state

import dpkit
from dpkit import DeclaredSetting, run_algorithms

REPLACE = dpkit.Neighbours.REPLACE_ONE
COLUMNS = ("a", "b", "y")
FORMS = {
    "bounded": (IRLS, {}),
    "moments": (MOMENTS, {}),
    "laplace": (MOMENTS, {"noise": "laplace"}),
    "wishart": (MOMENTS, {"noise": "wishart"}),
    "paper": (PAPER, {"accept_refuted": ["wishart", "gaussian", "taylor"]}),
}


def setting(rows, relation=REPLACE):
    numbers = [dpkit.Number(name=name, lower=-4, upper=4, missing=0.0) for name in COLUMNS]
    return DeclaredSetting(schema=dpkit.Schema(columns=tuple(numbers)), neighbours=relation, rows=rows)


def prepared(rows, name, relation=REPLACE, **changes):
    return FORMS[name][0].prepare(setting(rows, relation), features=["a", "b"], target="y", **(FORMS[name][1] | changes))


def fitted(rows, name, noise, seed, **changes):
    where, rng = setting(rows), np.random.default_rng(seed)
    source = dpkit.open_source(made_up(where, COLUMNS, rows, rng), where.schema, neighbours=REPLACE, names=list(COLUMNS))
    algorithm = prepared(rows, name, **changes)
    return (
        run_algorithms({"fit": (algorithm, noise)}, engine=dpkit.BlockEngine(source), setting=where, rng=rng)
        .outcomes["fit"]
        .result
    )


@pytest.mark.parametrize("name", FORMS)
def test_errors_are_foretold_without_data_and_grow_with_the_noise(name):
    algorithm = prepared(4000, name)
    little, much = algorithm.accuracy(0.1), algorithm.accuracy(3.0)
    assert set(little) == {"a, on made-up data", "b, on made-up data", "intercept, on made-up data"}
    assert 0.0 < little["a, on made-up data"] < much["a, on made-up data"]
    assert algorithm.accuracy(0.1) == little
    if name != "paper":
        assert prepared(None, name, dpkit.Neighbours.ADD_REMOVE).accuracy(0.1) == {}


@pytest.mark.parametrize(("name", "rows", "noise"), [("bounded", 2000, 4.0), ("moments", 4000, 12.0)])
def test_what_is_foretold_is_what_happens_and_standard_errors_cover_the_truth(name, rows, noise):
    foretold = prepared(rows, name).accuracy(noise)["a, on made-up data"]
    fits = [fitted(rows, name, noise, seed) for seed in range(12)]
    truth = 4.0 * 0.15 / np.sqrt(2.0) / 1.2
    off = np.array([np.abs(np.abs(fit.coefficients) - truth) for fit in fits])
    shown = np.array([fit.standard_errors for fit in fits])
    assert foretold / 2.5 < np.quantile(off, 0.95) < 2.5 * foretold
    assert np.mean(off < 1.96 * shown) > 0.8
    assert shown.mean() < 4.0 * np.sqrt(np.mean(off * off))
    assert all(fit.intercept_error > 0.0 for fit in fits)


def test_rare_levels_are_foretold_where_their_shares_are_declared():
    shares, rows, noise = {"g": (0.9, 0.09, 0.01)}, 20_000, 4.0
    columns = (*(dpkit.Number(name=name, lower=-4, upper=4, missing=0.0) for name in ("a", "y")),)
    schema = dpkit.Schema(columns=(columns[0], dpkit.Category(name="g", levels=("u", "v", "w")), columns[1]))
    where = DeclaredSetting(schema=schema, neighbours=REPLACE, rows=rows)
    algorithm = IRLS.prepare(where, features=["a", "g"], target="y", shares=shares)
    declared = algorithm.accuracy(noise)
    rng, stated = np.random.default_rng(5), []
    for _ in range(2):
        block = made_up(where, where.columns, rows, rng, shares=shares)
        fit = algorithm.result(last_state(algorithm, noise, block, rng))
        stated.append([*fit.standard_errors, fit.intercept_error])
    observed = 1.96 * np.mean(stated, axis=0)
    assert np.array(list(declared.values())) / observed == pytest.approx(np.ones(4), rel=0.5)
    assert replace(algorithm, shares={}).accuracy(noise)["g=w, on made-up data"] < 0.5 * declared["g=w, on made-up data"]


def test_scores_of_normal_residuals():
    rng = np.random.default_rng(1)
    r = 0.3 * rng.normal(size=400_000)
    weights = np.minimum(1.0, 0.1 / np.abs(r))
    found = scores(0.3, cap=10.0, p=1.0)
    assert found.weight == pytest.approx(weights.mean(), rel=0.01)
    assert found.squared_score == pytest.approx(np.mean((weights * r) ** 2), rel=0.01)
    assert found.slope == pytest.approx(np.mean(np.abs(r) < 0.1), rel=0.01)
    assert residual_scale(np.mean(weights * r * r), cap=10.0, p=1.0) == pytest.approx(0.3, rel=0.02)
    plain = scores(0.3, cap=1.0, p=2.0)
    assert plain.slope == plain.weight == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", FORMS)
def test_a_start_from_public_values_is_where_a_fit_starts(name):
    """One step of very little use: far too much noise to move on by, so that a fit stays about where it starts."""
    for start in ([3.0, -2.0, 1.0], [-1.0, 0.5, 2.0]):
        algorithm = prepared(4000, name, start=start)
        state = algorithm.init(1.0)
        found = algorithm.result(state)
        assert (*found.coefficients, found.intercept) == pytest.approx(start)
    with pytest.raises(dpkit.InvalidValueError, match="3 finite numbers"):
        prepared(4000, name, start=[1.0, 2.0])


@pytest.mark.parametrize("intercept", [True, False])
def test_scaled_coefficients_and_back(intercept):
    scaling = Scaling(columns=COLUMNS, x_bound=7.0, y_bound=3.0, intercept=intercept)
    start = (0.5, -2.0, 4.0)[: 2 + intercept]
    slopes, constant = scaling.coefficients(np.array(scaling.theta_of(start)))
    assert (*slopes, *([constant] if intercept else [])) == pytest.approx(start)


def test_a_good_start_saves_steps():
    """Cold, two steps do not reach a line that is far from zero; from nearby they do."""
    where = setting(3000)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3000, 2)).clip(-3, 3)
    rows = np.column_stack([x, (x @ [0.8, -0.5] + 0.5 + 0.01 * rng.normal(size=3000)).clip(-4, 4)])
    off = []
    for start in ([], [0.78, -0.52, 0.5]):
        source = dpkit.open_source(rows, where.schema, neighbours=REPLACE, names=list(COLUMNS))
        algorithm = prepared(3000, "bounded", iterations=2, start=start)
        seeded = np.random.default_rng(4)
        run = run_algorithms({"fit": (algorithm, 4.0)}, engine=dpkit.BlockEngine(source), setting=where, rng=seeded)
        off.append(np.abs(np.subtract(run.outcomes["fit"].result.coefficients, [0.8, -0.5])).max())
    assert off[1] < 0.5 * off[0]


ANALYSIS = """
dpkit: 1
data:
  source: rows.csv
  neighbours: replace-one
  rows: {rows}
  columns:
    a: {{lower: -4, upper: 4, missing: 0}}
    b: {{lower: -4, upper: 4, missing: 0}}
    y: {{lower: -4, upper: 4, missing: 0}}
budget: {{epsilon: {epsilon}, delta: 1.0e-6, accountant: gdp}}
steps:
  - {{id: fit, run: {run}, with: {{features: [a, b], target: y{more}}}}}
"""


def planned(folder, rows, epsilon=0.9, more="", run="irls"):
    path = folder / "analysis.yaml"
    path.write_text(textwrap.dedent(ANALYSIS.format(rows=rows, epsilon=epsilon, more=more, run=run)), encoding="utf-8")
    return dpkit.load(path).plan()


@pytest.mark.parametrize("run", ["irls", "irls-moments"])
def test_a_plan_with_far_too_few_rows_is_refused_with_what_would_do(tmp_path, run):
    with pytest.raises(dpkit.PlanRefusedError, match="rows are too few") as refused:
        planned(tmp_path, 40, run=run)
    said = refused.value.nearest
    rows, epsilon = int(said.split("about ")[1].split()[0]), float(said.split("epsilon ")[1].rstrip("."))
    assert planned(tmp_path, rows + 1, run=run).steps[0].advice
    assert planned(tmp_path, 40, epsilon=epsilon * 1.02, run=run).steps[0].advice
    assert "rows are few" in planned(tmp_path, 40, run=run, more=", few_rows: answer").steps[0].advice[0]


def test_a_plan_says_when_rows_are_few_and_how_large_errors_will_be(tmp_path):
    few = planned(tmp_path, 200)
    assert "WARNING     fit: 200 rows are few for this budget: about" in str(few)
    assert few.as_json()["steps"][0]["advice"] == list(few.steps[0].advice)
    enough = planned(tmp_path, 20_000)
    assert "WARNING" not in str(enough)
    assert "a, on made-up data" in str(enough)
    assert enough.steps[0].errors["a, on made-up data"] < few.steps[0].errors["a, on made-up data"]
