"""Before the fit: errors by simulation and rows that are needed, from public facts. After it: standard errors. Warm starts."""

import textwrap
from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.foretold_errors import AS_STATED, FILLED, GUESSED, HIDDEN, MADE_UP, NOISE_ALONE, UNGUESSED
from dpkit_irls.foretold_like import LIKE
from dpkit_irls.made_up_rows import made_up, made_up_with_line
from dpkit_irls.moments.moment_errors import residual_scale, scores
from dpkit_irls.moments.moment_query import Scaling
from dpkit_irls.regressions import IRLS, LOGISTIC_REGRESSION, MOMENTS, MULTINOMIAL_REGRESSION, PAPER, POISSON_REGRESSION
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
    assert set(little) == {
        f"a{FILLED}",
        "b, on made-up data that fill the bounds",
        "intercept, on made-up data that fill the bounds",
    }
    assert 0.0 < little[f"a{FILLED}"] < much[f"a{FILLED}"]
    assert algorithm.accuracy(0.1) == little
    if name != "paper":
        assert prepared(None, name, dpkit.Neighbours.ADD_REMOVE).accuracy(0.1) == {}


@pytest.mark.parametrize(("name", "rows", "noise"), [("bounded", 2000, 4.0), ("moments", 4000, 12.0)])
def test_what_is_foretold_is_what_happens_and_standard_errors_cover_the_truth(name, rows, noise):
    foretold = prepared(rows, name).accuracy(noise)[f"a{FILLED}"]
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
    assert replace(algorithm, shares={}).accuracy(noise)[f"g=w{FILLED}"] < 0.5 * declared[f"g=w{FILLED}"]


def wide_setting(rows):
    columns = (
        dpkit.Number(name="income", lower=0, upper=1_000_000, missing=0.0),
        dpkit.Boolean(name="rare"),
        dpkit.Category(name="g", levels=("u", "v", "w")),
        dpkit.Number(name="y", lower=0, upper=10_000, missing=0.0),
    )
    return DeclaredSetting(schema=dpkit.Schema(columns=columns), neighbours=REPLACE, rows=rows)


def test_what_is_foretold_of_numbers_far_within_their_bounds_is_what_fits_state_where_deviations_are_declared():
    """Without them it was a hundred times too small for the income, and too large for the rest."""
    where, noise, rng = wide_setting(5_000), 4.0, np.random.default_rng(26_001)
    shares, deviations = {"g": (0.6, 0.3, 0.1)}, {"income": 20_000.0, "rare": 0.3, "y": 40.0}
    chosen = {"features": ["income", "rare", "g"], "target": "y", "shares": shares}
    algorithm = IRLS.prepare(where, deviations=deviations, **chosen)
    stated = []
    for _ in range(3):
        income = rng.gamma(2.0, 14_000.0, 5_000)
        rare, g = (rng.random(5_000) < 0.1).astype(float), rng.choice(3, 5_000, p=shares["g"])
        y = 300.0 + 0.002 * income + 30.0 * rare - 20.0 * (g == 1) + 40.0 * rng.normal(size=5_000)
        fit = algorithm.result(last_state(algorithm, noise, np.column_stack([income, rare, g, y]), rng))
        stated.append([*fit.standard_errors, fit.intercept_error])
    told, untold = algorithm.accuracy(noise), IRLS.prepare(where, **chosen).accuracy(noise)
    ratios = np.array(list(told.values())) / (1.96 * np.mean(stated, axis=0))
    assert np.all((ratios > 0.5) & (ratios < 2.0))
    assert all(name.endswith(MADE_UP) for name in told)
    others = np.array(list(untold.values())) / (1.96 * np.mean(stated, axis=0))
    assert np.sum((others > 0.5) & (others < 2.0)) <= 1
    assert all(name.endswith(FILLED) for name in untold)


def test_a_foretold_error_is_in_proportion_to_what_is_declared():
    def errors(**deviations):
        return np.array(list(prepared(4_000, "bounded", deviations=deviations).accuracy(3.0).values()))

    whole = errors(a=0.5, b=0.5, y=0.4)
    assert errors(a=0.05, b=0.5, y=0.4) / whole == pytest.approx([10.0, 1.0, 1.0], rel=0.4)
    assert errors(a=0.5, b=0.5, y=0.04) / whole == pytest.approx([0.1, 0.1, 0.1], rel=0.4)


def test_a_plan_says_which_levels_the_noise_will_hide():
    where = wide_setting(3_000)
    chosen = {"features": ["income", "g"], "target": "y", "shares": {"g": (0.7, 0.295, 0.005)}}
    told = IRLS.prepare(where, **chosen).accuracy(4.0)
    assert [name.partition(",")[0] for name in told if HIDDEN in name] == ["g=w"]
    classes = MULTINOMIAL_REGRESSION.prepare(where, features=["income"], target="g").accuracy(4.0)
    assert set(classes) == {f"{level}: {name}{FILLED}" for level in "vw" for name in ("income", "intercept")}


def test_the_intercept_of_columns_far_from_zero_is_foretold_where_middles_are_declared():
    """Bounds of a year hold zero. Without a middle it is taken to lie near that, and the intercept's error is far too small."""
    columns = (dpkit.Number(name="year", lower=0, upper=4_000), dpkit.Number(name="y", lower=0, upper=100))
    where = DeclaredSetting(schema=dpkit.Schema(columns=columns), neighbours=REPLACE, rows=5_000)
    chosen = {"features": ["year"], "target": "y", "deviations": {"year": 5.0, "y": 2.0}}
    algorithm, rng = IRLS.prepare(where, middles={"year": 2_000.0, "y": 40.0}, **chosen), np.random.default_rng(8)
    stated = []
    for _ in range(3):
        year = 2_005.0 + 6.0 * rng.normal(size=5_000)
        y = 40.0 + 0.3 * (year - 2_005.0) + 2.5 * rng.normal(size=5_000)
        fit = algorithm.result(last_state(algorithm, 4.0, np.column_stack([year, y]), rng))
        stated.append([*fit.standard_errors, fit.intercept_error])
    told = np.array(list(algorithm.accuracy(4.0).values())) / (1.96 * np.median(stated, axis=0))
    assert np.all((told > 0.5) & (told < 2.0))
    untold = list(IRLS.prepare(where, **chosen).accuracy(4.0).values())[-1] / (1.96 * np.median(stated, axis=0)[-1])
    assert untold < 0.05


def test_a_middle_of_a_truth_value_is_its_share_and_a_rate_is_none_where_it_varies_less():
    where = wide_setting(4_000)

    def shown(**guesses):
        block = made_up(where, ("income", "rare", "y"), 4_000, np.random.default_rng(4), **guesses)
        return block[:, 1]

    assert set(shown(middles={"rare": 0.04})) == {0.0, 1.0}
    assert shown(middles={"rare": 0.04}).mean() == pytest.approx(0.04, abs=0.015)
    assert set(shown(middles={"rare": 0.04}, deviations={"rare": 0.2})) == {0.0, 1.0}
    rate = shown(middles={"rare": 0.4}, deviations={"rare": 0.1})
    assert (rate.mean(), rate.std()) == pytest.approx((0.4, 0.1), rel=0.1)


def test_what_is_hidden_is_off_by_what_it_is_and_its_interval_is_wider():
    """A level whose count is about its noise: what fits will state is what is believed of it, and is told beside."""
    chosen = {"features": ["income", "g"], "target": "y", "shares": {"g": (0.7, 0.295, 0.005)}}
    told = IRLS.prepare(wide_setting(3_000), deviations={"income": 1e4, "y": 40.0}, **chosen).accuracy(4.0)
    error, stated = told[f"g=w{HIDDEN}{MADE_UP}"], told[f"g=w{AS_STATED}{MADE_UP}"]
    effect = 40.0 * 2.0 / np.sqrt(3.0)
    assert 0.5 < error / (1.96 * effect) < 2.0
    assert stated > error
    assert f"g=v{MADE_UP}" in told
    assert f"g=v{AS_STATED}{MADE_UP}" not in told


@pytest.mark.parametrize(
    ("run", "target"), [(LOGISTIC_REGRESSION, "rare"), (MULTINOMIAL_REGRESSION, "g"), (POISSON_REGRESSION, "y"), (IRLS, "y")]
)
def test_made_up_rows_follow_the_line_that_they_are_said_to(run, target):
    """Fits of many of them with hardly any noise find it, of every kind of target."""
    columns = (
        dpkit.Number(name="a", lower=0, upper=10),
        dpkit.Number(name="b", lower=-5, upper=5),
        dpkit.Boolean(name="rare"),
        dpkit.Category(name="g", levels=("u", "v", "w")),
        dpkit.Number(name="y", lower=0, upper=60),
    )
    where = DeclaredSetting(schema=dpkit.Schema(columns=columns), neighbours=REPLACE, rows=40_000)
    algorithm = run.prepare(where, features=["a", "b"], target=target)
    block, line = made_up_with_line(
        where, algorithm.columns, 40_000, np.random.default_rng(3),
        shares={}, deviations={}, middles={}, target=algorithm.family.target,
    )  # fmt: skip
    found = algorithm.told(last_state(algorithm, 1e-3, block, np.random.default_rng(4)))
    for value, error, true in zip(found.coefficients.values(), found.errors.values(), line.ravel(), strict=True):
        assert abs(value - true) < 5.0 * error
    assert algorithm.names == list(found.coefficients)


@pytest.mark.parametrize(
    ("middles", "said"),
    [
        ({"z": 1.0}, "income, rare, y"),
        ({"income": -1.0}, "within the declared range of 'income': 0 to 1000000"),
        ({"rare": 1.5}, "within the declared range of 'rare': 0 to 1"),
        ({"income": [3.0]}, "mapping from names to finite numbers"),
    ],
)
def test_middles_that_cannot_be_are_refused(middles, said):
    with pytest.raises(dpkit.InvalidValueError, match=said):
        IRLS.prepare(wide_setting(3_000), features=["income", "rare", "g"], target="y", middles=middles)


def test_a_plan_says_what_its_errors_rest_on(tmp_path):
    more = ", deviations: {a: 1, b: 1, y: 1}"
    plain, guessed = planned(tmp_path, 20_000).steps[0], planned(tmp_path, 20_000, more=more).steps[0]
    assert plain.errors_rest_on == UNGUESSED
    assert guessed.errors_rest_on == GUESSED
    assert planned(tmp_path, 20_000, epsilon=20.0, run="irls-moments").steps[0].errors_rest_on == NOISE_ALONE
    planned(tmp_path, 20_000)
    rows = made_up(setting(500), COLUMNS, 500, np.random.default_rng(1))
    like = dpkit.load(tmp_path / "analysis.yaml").plan(like=dict(zip(COLUMNS, rows.T, strict=True)))
    assert set(like.steps[0].errors) == {f"{name}{LIKE}" for name in ("a", "b", "intercept")}
    assert "rows drawn from the dict that stands in for the data, which has 500" in str(like)


@pytest.mark.parametrize(
    ("deviations", "said"),
    [
        ({"z": 1.0}, "income, rare, y"),
        ({"g": 1.0}, "income, rare, y"),
        ({"income": 600_000.0}, "at most half.*500000"),
        ({"income": 0.0}, "> 0"),
        ({"income": [3.0]}, "mapping from names to finite numbers"),
        ([3.0], "mapping from names to finite numbers"),
    ],
)
def test_deviations_that_cannot_be_are_refused(deviations, said):
    with pytest.raises(dpkit.InvalidValueError, match=said):
        IRLS.prepare(wide_setting(3_000), features=["income", "rare", "g"], target="y", deviations=deviations)
    with pytest.raises(dpkit.InvalidValueError, match="of numbers among the columns: income"):
        LOGISTIC_REGRESSION.prepare(wide_setting(3_000), features=["income"], target="rare", deviations={"rare": 0.1})


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
    assert f"a{FILLED}" in str(enough)
    assert f"a{HIDDEN}{FILLED}" in str(few)
    assert enough.steps[0].errors[f"a{FILLED}"] < few.steps[0].errors[f"a{HIDDEN}{FILLED}"]
