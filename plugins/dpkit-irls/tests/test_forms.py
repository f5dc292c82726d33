"""The three forms: plan and charge agree, only public facts refuse, degenerate data gives an answer, good data a good one."""

import math

import dpkit_irls
import numpy as np
import pytest
from dpkit_irls.paper.paper_irls import published_epsilon
from dpkit_irls.regressions import prepare

import dpkit
from dpkit import DeclaredSetting, run_algorithms, solve_noise
from dpkit.testing import charged_event, flatten

REGISTRY = dpkit.load_plugins(discover=False, extra={"irls": dpkit_irls}).registry
REPLACE = dpkit.Neighbours.REPLACE_ONE
BUDGET = dpkit.ApproxDP(epsilon=0.9, delta=1e-6)
ACCEPTED = {"accept_refuted": ["wishart", "gaussian", "taylor"]}
FORMS = [
    {"run": "irls"},
    {"run": "irls", "units": "bounds"},
    {"run": "irls-moments"},
    {"run": "irls-moments", "noise": "laplace", "average": "iterates"},
    {"run": "irls-moments", "noise": "wishart", "p": 1.5},
    {"run": "irls-paper", "noise": "laplace", **ACCEPTED},
    {"run": "irls-paper", "noise": "gaussian", **ACCEPTED},
]


def names(form):
    return " ".join(f"{value}" for key, value in form.items() if key != "accept_refuted")


def setting(features=2, rows=500, bound=4.0, neighbours=REPLACE):
    columns = [dpkit.Number(name=f"x{place}", lower=-bound, upper=bound, missing=0.0) for place in range(features)]
    schema = dpkit.Schema(columns=(*columns, dpkit.Number(name="y", lower=-bound, upper=bound, missing=0.0)))
    return DeclaredSetting(schema=schema, neighbours=neighbours, rows=rows)


def prepared(where, run="irls", **values):
    features = [name for name in where.columns if name != "y"]
    return prepare(run, where, features=features, target="y", **values)


class Uncounted(dpkit.BlockEngine):
    """It does not say how many rows there are, so that a setting may declare another number."""

    def public_rows(self):
        return None


def fitted(where, data, multiplier=0.5, seed=0, engine=dpkit.BlockEngine, **values):
    source = dpkit.open_source(np.asarray(data), where.schema, neighbours=where.neighbours, names=list(where.columns))
    algorithm = prepared(where, **values)
    rng = np.random.default_rng(seed)
    return run_algorithms({"fit": (algorithm, multiplier)}, engine=engine(source), setting=where, rng=rng)


def line(rows, rng, features=2):
    x = rng.normal(size=(rows, features)).clip(-3.5, 3.5)
    return np.column_stack([x, x @ np.array([1.0, -0.5, 0.25][:features]) * 0.5 + 0.3 + 0.1 * rng.normal(size=rows)])


@pytest.mark.parametrize("form", FORMS, ids=names)
def test_the_plan_is_what_is_charged(form):
    where = setting()
    result = fitted(where, line(500, np.random.default_rng(1)), multiplier=2.0, **form)
    charged = flatten(charged_event(result.releases))
    assert charged == flatten(result.plan)
    assert result.simulation


@pytest.mark.parametrize("form", FORMS, ids=names)
def test_with_little_noise_the_line_is_found(form):
    fit = fitted(setting(rows=4000), line(4000, np.random.default_rng(2)), multiplier=0.01, **form).outcomes["fit"].result
    assert fit.coefficients == pytest.approx((0.5, -0.25), abs=0.03)
    assert fit.intercept == pytest.approx(0.3, abs=0.03)


HARD = {
    "nothing": np.zeros((0, 3)),
    "one row": [[1.0, 2.0, 3.0]],
    "zeros": np.zeros((50, 3)),
    "constant columns": np.ones((50, 3)),
    "equal targets": np.column_stack([np.linspace(-1, 1, 50), np.linspace(1, -1, 50), np.ones(50)]),
    "collinear": np.repeat(np.linspace(-1, 1, 60)[:, None], 3, axis=1),
    "no numbers": np.full((40, 3), np.nan),
    "huge": np.full((40, 3), 1e308),
    "infinite": np.full((40, 3), -np.inf),
    "tiny": np.full((40, 3), 1e-300),
}


@pytest.mark.parametrize("form", FORMS, ids=names)
@pytest.mark.parametrize("data", HARD.values(), ids=HARD.keys())
@pytest.mark.parametrize("noise", [1e-3, 5.0, 1e4])
def test_degenerate_data_gives_a_finite_answer(form, data, noise):
    outcome = fitted(setting(rows=50), data, multiplier=noise, engine=Uncounted, **form).outcomes["fit"]
    assert outcome.ending == "finished"
    assert np.isfinite([*outcome.result.coefficients, outcome.result.intercept]).all()


def test_one_feature_and_add_remove_work():
    where = setting(features=1, rows=None, neighbours=dpkit.Neighbours.ADD_REMOVE)
    data = line(4000, np.random.default_rng(3), features=1)
    for form in ({"run": "irls"}, {"run": "irls-moments"}):
        fit = fitted(where, data, multiplier=0.01, **form).outcomes["fit"].result
        assert fit.coefficients == pytest.approx((0.5,), abs=0.03)


def test_columns_in_other_units_dummies_and_sparse_columns_work_as_they_come():
    rng = np.random.default_rng(4)
    rows = 6000
    plain = rng.normal(size=rows).clip(-4, 4)
    large = 1e4 * rng.normal(size=rows).clip(-4, 4)
    dummy = (rng.random(rows) < 0.05).astype(float)
    sparse = np.where(rng.random(rows) < 0.03, rng.normal(size=rows).clip(-4, 4), 0.0)
    constant = np.full(rows, 0.7)
    y = plain - 0.5e-4 * large + dummy + 0.5 * sparse + 0.2 * rng.normal(size=rows)
    bounds = {"plain": 1e3, "large": 1e6, "sparse": 10.0, "constant": 1.0}
    columns = [dpkit.Number(name=name, lower=-bound, upper=bound, missing=0.0) for name, bound in bounds.items()]
    columns += [
        dpkit.Number(name="dummy", lower=0.0, upper=1.0, missing=0.0),
        dpkit.Number(name="y", lower=-100, upper=100, missing=0),
    ]
    where = DeclaredSetting(schema=dpkit.Schema(columns=tuple(columns)), neighbours=REPLACE, rows=rows)
    algorithm = prepared(where, intercept=False)
    (noise,), _ = solve_noise([algorithm], BUDGET, accountant="gdp", neighbours=REPLACE, registry=REGISTRY)
    data = np.column_stack([plain, large, sparse, constant, dummy, y])
    fit = fitted(where, data, multiplier=noise, intercept=False).outcomes["fit"].result
    truth = dict(zip(("plain", "large", "sparse", "constant", "dummy"), (1.0, -0.5e-4, 0.5, 0.0, 1.0), strict=True))
    for name, tolerance in {"plain": 0.1, "large": 0.1e-4, "dummy": 0.5}.items():
        assert dict(zip(fit.features, fit.coefficients, strict=True))[name] == pytest.approx(truth[name], abs=tolerance)


def test_every_sound_form_meets_a_budget():
    where = setting(features=10)
    for name, accountant in (("irls", "gdp"), ("irls", "zcdp"), ("irls-moments", "best")):
        algorithm = prepared(where, run=name)
        (noise,), guarantee = solve_noise([algorithm], BUDGET, accountant=accountant, neighbours=REPLACE, registry=REGISTRY)
        assert guarantee.epsilon(delta=1e-6) <= 0.9
        assert noise > 0
    pure = prepared(where, run="irls-moments", noise="laplace")
    (noise,), guarantee = solve_noise(
        [pure], dpkit.PureDP(epsilon=0.9), accountant="pure", neighbours=REPLACE, registry=REGISTRY
    )
    assert guarantee.epsilon(delta=0.0) <= 0.9


def test_the_paper_is_refused_unless_every_refuted_step_is_named():
    for accepted in ([], ["wishart"], ["wishart", "gaussian"]):
        with pytest.raises(dpkit.InvalidValueError, match="refuted"):
            prepared(setting(), run="irls-paper", accept_refuted=accepted)
    algorithm = prepared(setting(), run="irls-paper", **ACCEPTED)
    fit = fitted(setting(), line(500, np.random.default_rng(1)), run="irls-paper", **ACCEPTED).outcomes["fit"].result
    assert "does not hold" in fit.notes[0]
    plan = algorithm.plan(algorithm.published_noise(0.9))
    priced = dpkit.account(plan, "pure", REPLACE, REGISTRY, accept=algorithm.refuted_rules)
    assert priced.epsilon(delta=0.0) == pytest.approx(20 * math.sqrt(0.09), rel=1e-9)


def test_the_published_calibrations():
    assert published_epsilon("conventional", 0.9, 10, delta=1e-6) == pytest.approx(0.045)
    assert published_epsilon("cdp", 0.9, 10, delta=1e-6) == pytest.approx(0.3)
    each = published_epsilon("advanced", 0.9, 10, delta=1e-6)
    assert math.sqrt(40 * math.log(1e6)) * each + 20 * each * math.expm1(each) == pytest.approx(0.9)


def test_only_public_facts_refuse():
    where = setting()
    with pytest.raises(dpkit.UnknownNameError, match="x0"):
        prepare("irls", where, features=["x00"], target="y")
    with pytest.raises(dpkit.InvalidValueError, match="distinct"):
        prepare("irls", where, features=["x0", "x0"], target="y")
    unknown = setting(rows=None, neighbours=dpkit.Neighbours.ADD_REMOVE)
    with pytest.raises(dpkit.InvalidValueError, match="Declare the number of rows"):
        prepared(unknown, run="irls-paper", **ACCEPTED)


def test_too_few_rows_are_said_from_public_facts():
    algorithm = prepared(setting(features=10, rows=100))
    assert "rows are few" in algorithm.advice(4.66)[0]
    assert prepared(setting(features=10, rows=5000)).advice(4.66) == ()
