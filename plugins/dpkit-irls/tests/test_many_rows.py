"""Where rows abound, the few steps of a family with a link arrive, whatever the columns are: at its estimand without noise."""

import numpy as np
import pytest
from dpkit_irls.bounded import link_filter
from dpkit_irls.bounded.estimand import estimand_of
from dpkit_irls.bounded.facts import Facts
from dpkit_irls.bounded.shapes import blended
from dpkit_irls.measuring.gaps import registry
from dpkit_irls.simulated_run import last_state

from dpkit import ApproxDP, Boolean, DeclaredSetting, Neighbours, Number, Schema, solve_noise

ROWS = 90_000


def correlated_truths(rng):
    return (rng.normal(size=(ROWS, 3)) + 1.5 * rng.normal(size=(ROWS, 1)) > 2.0).astype(float)


def normal(rng):
    return rng.normal(size=(ROWS, 3))


def heavy(rng):
    return rng.standard_t(3, size=(ROWS, 3))


CASES = {
    "truth values that go together": ("logistic", correlated_truths, (2.0, -1.0, 1.0), -2.0),
    "strong slopes": ("logistic", normal, (4.0, -3.0, 3.0), 0.0),
    "heavy tails": ("logistic", heavy, (1.0, -1.0, 1.0), 0.0),
    "counts": ("poisson", normal, (0.5, -0.3, 0.3), 0.5),
    "over-dispersed counts": ("poisson", correlated_truths, (1.0, -0.5, 0.5), 0.0),
}


def algorithm_of(family, **chosen):
    target = Boolean(name="y", missing=False) if family == "logistic" else Number(name="y", lower=0.0, upper=1e4, missing=0.0)
    numbers = [Number(name=f"x{place}", lower=-1e6, upper=1e6, missing=0.0) for place in range(3)]
    setting = DeclaredSetting(schema=Schema(columns=(*numbers, target)), neighbours=Neighbours.REPLACE_ONE, rows=ROWS)
    made = registry().algorithm(family).prepare(setting, features=["x0", "x1", "x2"], target="y", **chosen)
    budget = ApproxDP(epsilon=1.0, delta=1e-6)
    noise = solve_noise([made], budget, accountant="gdp", neighbours=setting.neighbours, registry=registry())[0][0]
    return made, noise


def answers(rng, family, line, name):
    if family == "logistic":
        return (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-line))).astype(float)
    means = np.exp(line)
    return (rng.poisson(means) if name == "counts" else rng.negative_binomial(means / 2.0, 1.0 / 3.0)).astype(float)


def apart(made, noise, x, y, seed):
    """How far a fit is from the same without noise, in the errors that it states."""
    fit = made.result(last_state(made, noise, np.column_stack([x, y]), np.random.default_rng(seed)))
    exact = estimand_of(fit, x, y)
    stated = np.array([*fit.standard_errors, fit.intercept_error])
    return (np.array([*fit.coefficients, fit.intercept]) - [*exact.coefficients, exact.intercept]) / stated


@pytest.mark.parametrize("name", CASES)
def test_few_steps_arrive(name):
    family, columns, slopes, constant = CASES[name]
    made, noise = algorithm_of(family)
    assert made.iterations == (5 if family == "logistic" else 6)
    for seed in (3, 4):
        rng = np.random.default_rng([seed, len(name)])
        x = columns(rng)
        y = answers(rng, family, x @ np.array(slopes) + constant, name)
        assert np.max(np.abs(apart(made, noise, x, y, seed))) < 2.0


@pytest.mark.parametrize("name", ["truth values that go together", "strong slopes"])
def test_steps_that_lean_on_those_before_do_not(monkeypatch, name):
    monkeypatch.setattr(Facts, "abundant", property(lambda facts: False))
    monkeypatch.setattr(link_filter, "blended_along", lambda *given, plain, **more: blended(*given, **more))
    family, columns, slopes, constant = CASES[name]
    made, noise = algorithm_of(family)
    found = []
    for seed in (3, 4):
        rng = np.random.default_rng([seed, len(name)])
        x = columns(rng)
        found.append(apart(made, noise, x, answers(rng, family, x @ np.array(slopes) + constant, name), seed))
    assert np.max(np.abs(found)) > 2.0
