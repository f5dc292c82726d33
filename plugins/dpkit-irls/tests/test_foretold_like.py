"""Errors that are foretold where public rows stand in for the data: those of fits, for every algorithm; and what is refused."""

import numpy as np
import pytest
from dpkit_irls.foretold_errors import AS_STATED, FILLED, HIDDEN
from dpkit_irls.foretold_like import LIKE
from dpkit_irls.regressions import (
    IRLS,
    LOGISTIC_REGRESSION,
    MOMENTS,
    MULTINOMIAL_REGRESSION,
    PAPER,
    POISSON_REGRESSION,
    QUANTILE_REGRESSION,
)
from dpkit_irls.simulated_run import last_state

import dpkit

REPLACE = dpkit.Neighbours.REPLACE_ONE
ROWS = 6_000
FEATURES = ("year", "twin", "gifts", "g")


def features(rows, rng):
    """A column far from zero, one that goes with it, one that few rows have, and a category with a level of 4%."""
    time = rng.normal(size=rows)
    gifts = np.where(rng.random(rows) < 0.15, rng.gamma(2.0, 40.0, rows), 0.0)
    g = rng.choice(3, rows, p=[0.7, 0.26, 0.04])
    twin = 0.95 * time + 0.3 * rng.normal(size=rows)
    x = np.column_stack([2_000.0 + 4.0 * time, twin, gifts, g])
    return x, 0.5 * time - 0.4 * twin + 0.01 * gifts + np.array([0.0, 0.4, -0.5])[g]


def number(x, line, rng):
    return (30.0 + 2.0 * line + rng.normal(size=len(x))).clip(0.0, 100.0)


def truth_value(x, line, rng):
    return rng.random(len(x)) < 1.0 / (1.0 + np.exp(-line))


def count(x, line, rng):
    return rng.poisson(3.0 * np.exp(0.4 * line)).clip(0, 60)


def kind(x, line, rng):
    return np.argmax(np.stack([0.0 * line, line, -line], axis=1) + rng.gumbel(size=(len(x), 3)), axis=1)


Y = dpkit.Number(name="y", lower=0, upper=100, missing=0.0)
CASES = {
    "irls": (IRLS, Y, number, {}, 3.0),
    "quantile": (QUANTILE_REGRESSION, Y, number, {"quantile": 0.75}, 3.0),
    "logistic": (LOGISTIC_REGRESSION, dpkit.Boolean(name="y"), truth_value, {}, 2.0),
    "poisson": (POISSON_REGRESSION, dpkit.Number(name="y", lower=0, upper=60), count, {}, 2.0),
    "multinomial": (MULTINOMIAL_REGRESSION, dpkit.Category(name="y", levels=("k", "l", "m")), kind, {}, 1.0),
    "moments": (MOMENTS, Y, number, {}, 0.5),
}


def setting(target, rows=ROWS, *more):
    numbers = (("year", 1_900, 2_100), ("twin", -10, 10), ("gifts", 0, 2_000))
    columns = [dpkit.Number(name=name, lower=low, upper=high, missing=float(max(low, 0))) for name, low, high in numbers]
    schema = dpkit.Schema(columns=(*columns, dpkit.Category(name="g", levels=("u", "v", "w")), target, *more))
    return dpkit.DeclaredSetting(schema=schema, neighbours=REPLACE, rows=rows)


def block(make, rows, rng):
    x, line = features(rows, rng)
    return np.column_stack([x, make(x, line, rng)])


def prepared(name, rows=ROWS, more=(), **changes):
    factory, target, make, values, noise = CASES[name]
    chosen = {"features": FEATURES, "target": "y", "few_rows": "answer"} | values | changes
    return factory.prepare(setting(target, rows, *more), **chosen), make, noise


def split(told):
    """Errors, and what fits will state, in the order of the coefficients."""
    names = [name for name in told if AS_STATED not in name]
    stated = [told.get(name.replace(HIDDEN, AS_STATED), told[name]) for name in names]
    return np.array([told[name] for name in names]), np.array(stated)


def flat(fit):
    if hasattr(fit, "intercepts"):
        return np.column_stack([fit.coefficients, fit.intercepts]).ravel(), np.column_stack(
            [fit.standard_errors, fit.intercept_errors]
        ).ravel()
    return np.array([*fit.coefficients, fit.intercept]), np.array([*fit.standard_errors, fit.intercept_error])


def fits_of(name, count):
    """Coefficients and what is stated of them, of fits of other rows."""
    algorithm, make, noise = prepared(name)
    found = []
    for run in range(count):
        rng = np.random.default_rng([30, run])
        found.append(flat(algorithm.result(last_state(algorithm, noise, block(make, ROWS, rng), rng))))
    return np.array([one[0] for one in found]), 1.96 * np.median([one[1] for one in found], axis=0)


@pytest.mark.parametrize("name", [name for name in CASES if name != "moments"])
def test_what_fits_of_every_family_will_state_is_foretold_from_rows_like_the_data(name):
    algorithm, make, noise = prepared(name)
    told = split(algorithm.accuracy_like(noise, 0.95, block(make, 2_000, np.random.default_rng(1))))[1]
    stated = fits_of(name, 5)[1]
    # the middle of five fits is itself off by a quarter or so where curvatures are doubted
    assert np.all((told > 0.4 * stated) & (told < 2.5 * stated)), told / stated


@pytest.mark.parametrize("name", ["irls", "moments"])
def test_errors_are_foretold_from_rows_like_the_data(name):
    """Within half and twice of those of fits of other rows, where 24 fits tell how large these are to 15%."""
    algorithm, make, noise = prepared(name)
    told = split(algorithm.accuracy_like(noise, 0.95, block(make, 800, np.random.default_rng(1))))[0]
    every = block(make, 40_000, np.random.default_rng(2))
    truth = flat(algorithm.result(last_state(algorithm, noise * 1e-4, every, np.random.default_rng(3))))[0]
    off = 1.96 * np.sqrt(np.mean(np.square(fits_of(name, 24)[0] - truth), axis=0))
    assert np.all((told > 0.5 * off) & (told < 2.0 * off)), told / off


def test_without_them_such_data_are_foretold_wrongly():
    algorithm, make, noise = prepared("irls")
    like = split(algorithm.accuracy_like(noise, 0.95, block(make, 800, np.random.default_rng(1))))[1]
    alone = split(algorithm.accuracy(noise))[1]
    assert np.sum((alone < 0.5 * like) | (alone > 2.0 * like)) >= 4
    names = [name for name in algorithm.accuracy(noise) if AS_STATED not in name]
    assert [name.removesuffix(FILLED).removesuffix(HIDDEN) for name in names] == [*algorithm.entries, "intercept"]


def test_the_paper_s_method_tries_rows_too():
    accepted = {"accept_refuted": ["wishart", "gaussian", "taylor"], "few_rows": "answer"}
    algorithm = PAPER.prepare(setting(Y), features=["twin", "g"], target="y", **accepted)
    rows = block(number, 800, np.random.default_rng(1))
    few, many = (algorithm.accuracy_like(noise, 0.95, rows) for noise in (0.01, 1.0))
    assert set(few) == {f"{name}{LIKE}" for name in ("twin", "g=v", "g=w", "intercept")}
    assert all(many[name] > few[name] > 0.0 for name in few)


def test_rows_that_do_not_count_leave_fewer():
    """Half of the rows of the stand-in lack a cell: errors are those of half as many rows."""
    algorithm, make, noise = prepared("irls", rows=20_000)
    rows = block(make, 2_000, np.random.default_rng(1))
    whole = split(algorithm.accuracy_like(noise, 0.95, rows))[1]
    holes = rows.copy()
    holes[::2, 1] = np.nan
    assert split(algorithm.accuracy_like(noise, 0.95, holes))[1] / whole == pytest.approx(np.full(6, 1.7), rel=0.3)
    assert algorithm.accuracy_like(noise, 0.95, rows) == algorithm.accuracy_like(noise, 0.95, rows)


def test_weights_of_rows_are_those_of_the_stand_in():
    """Where most rows weigh a tenth of the largest weight there is less to go by than where all weigh the most."""
    more = (dpkit.Number(name="w", lower=0, upper=10, missing=0.0),)
    algorithm, make, noise = prepared("irls", rows=20_000, more=more, weight="w")
    rows = block(make, 2_000, np.random.default_rng(1))
    heavy = algorithm.accuracy_like(noise, 0.95, np.column_stack([rows, np.full(2_000, 10.0)]))
    light = algorithm.accuracy_like(noise, 0.95, np.column_stack([rows, np.where(np.arange(2_000) % 10, 1.0, 10.0)]))
    ratios = split(light)[1] / split(heavy)[1]
    assert np.all(ratios > 1.8)


def test_too_few_rows_are_refused_and_without_a_size_nothing_is_foretold():
    algorithm, make, noise = prepared("irls")
    rows = block(make, 29, np.random.default_rng(1))
    with pytest.raises(dpkit.InvalidValueError, match="at least 30 for 6 coefficients, got '29 rows without a missing cell"):
        algorithm.accuracy_like(noise, 0.95, rows)
    holes = np.vstack([rows, np.full((400, 5), np.nan)])
    with pytest.raises(dpkit.InvalidValueError, match="got '29 rows"):
        algorithm.accuracy_like(noise, 0.95, holes)
    for name in ("irls", "moments"):
        unknown, _, _ = prepared(name, rows=None)
        assert unknown.accuracy_like(noise, 0.95, block(make, 100, np.random.default_rng(1))) == {}


def test_what_is_hidden_has_its_error_and_what_its_interval_will_say():
    """A level of 0.4% of 3,000 rows: its interval is what is believed of a level, several times what it is."""
    columns = (
        dpkit.Number(name="a", lower=-5, upper=5),
        dpkit.Category(name="g", levels=("u", "v", "w")),
        dpkit.Number(name="y", lower=-20, upper=20),
    )
    where = dpkit.DeclaredSetting(schema=dpkit.Schema(columns=columns), neighbours=REPLACE, rows=3_000)
    algorithm = IRLS.prepare(where, features=["a", "g"], target="y")

    def drawn(rows, rng):
        a, g = rng.normal(size=rows), rng.choice(3, rows, p=[0.7, 0.296, 0.004])
        return np.column_stack([a, g, a + np.array([0.0, 0.5, 0.4])[g] + rng.normal(size=rows)])

    told = algorithm.accuracy_like(4.0, 0.95, drawn(4_000, np.random.default_rng(1)))
    hidden, wide = told[f"g=w{HIDDEN}{LIKE}"], told[f"g=w{AS_STATED}{LIKE}"]
    off, stated = [], []
    for run in range(20):
        rng = np.random.default_rng([40, run])
        fit = algorithm.result(last_state(algorithm, 4.0, drawn(3_000, rng), rng))
        off.append(fit.coefficients[2] - 0.4)
        stated.append(fit.standard_errors[2])
    assert 0.5 < hidden / (1.96 * np.sqrt(np.mean(np.square(off)))) < 2.0
    assert 0.5 < wide / (1.96 * np.median(stated)) < 2.0
    assert wide > 2.5 * hidden
