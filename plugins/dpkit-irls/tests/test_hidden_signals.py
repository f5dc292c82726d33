"""Intervals where the noise hides a large effect: what a start is good for on average is not what intervals may believe."""

from dataclasses import replace

import numpy as np
from dpkit_irls import PrivateLogisticRegression, PrivateRobustRegressor
from dpkit_irls.bounded.tuning import TUNING
from dpkit_irls.measuring import coverage
from dpkit_irls.measuring.designs import Design
from dpkit_irls.rows.fixed_point import STEP
from dpkit_irls.simulated_run import last_state


def held(errors, stated):
    return np.mean(np.abs(np.array(errors)) < 1.96 * np.array(stated), axis=0)


def test_opposite_effects_of_columns_that_go_together_lie_in_their_intervals():
    """Age of a contract and what was paid in all: rows hardly tell their effects apart, large and of opposite sign."""
    errors, stated, truth = [], [], np.array([-0.075, 0.0005, 0.0])
    for number in range(8):
        rng = np.random.default_rng(200_100 + number)
        months, price = rng.integers(0, 73, 3_000) * 1.0, rng.uniform(20.0, 115.0, 3_000)
        x = np.column_stack([months, months * price * rng.normal(1.0, 0.03, 3_000), price])
        yes = rng.random(3_000) < 1.0 / (1.0 + np.exp(-(x @ truth + 0.5)))
        bounds = ([0.0, 0.0, 0.0], [100.0, 20_000.0, 300.0])
        model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, bounds=bounds, classes=[0, 1], random_state=number)
        model.fit(x, yes.astype(int))
        errors.append(model.coef_.ravel() - truth)
        stated.append(model.standard_errors_.ravel())
    found = held(errors, stated)
    assert np.min(found) >= 0.75, found


def test_a_column_that_few_rows_have_is_not_called_known():
    errors, stated = [], []
    for number in range(8):
        rng = np.random.default_rng(200_200 + number)
        children = np.where(rng.random(1_000) < 0.05, rng.integers(1, 4, 1_000), 0) * 1.0
        x = np.column_stack([rng.gamma(1.0, 80.0, 1_000), rng.poisson(2.5, 1_000), children])
        y = 90.0 - 0.05 * x[:, 0] + 2.0 * x[:, 1] + 27.0 * children + 30.0 * rng.normal(size=1_000)
        bounds = ([0.0, 0.0, 0.0], [1_000.0, 60.0, 10.0])
        model = PrivateRobustRegressor(epsilon=1.0, delta=1e-6, bounds=bounds, random_state=number)
        model.fit(x, y)
        errors.append(model.coef_[2] - 27.0)
        stated.append(model.standard_errors_[2])
    found = held(errors, stated)
    assert found >= 0.75, found


def short_of_a_scatter(tuning):
    """By how many standard deviations of noise the pooled scatter is too large along the direction that rows hardly have."""
    algorithm = replace(coverage._prepared("nine columns", 3_000), tuning=tuning)
    found = []
    for number in range(6):
        rng = np.random.default_rng([5_100, number])
        block = NINE.rows(3_000, rng)
        state = last_state(algorithm, coverage._noise(1.0), block, rng)
        w = state.frame.prepared(block)[:, :-2] * STEP
        scatter = w.T @ w
        short = np.linalg.eigh(scatter)[1][:, 0]
        pooled = state.filter.scatter
        found.append(short @ (pooled.mean - scatter) @ short / pooled.spread)
    return np.mean(found)


def nine(rng, rows):
    """The last column is nearly the sum of the first two."""
    x = rng.normal(size=(rows, 8))
    return np.column_stack([x, x[:, 0] + x[:, 1] + 0.02 * rng.normal(size=rows)])


NINE = Design(
    name="nine columns", draw=nine, bounds=((-10.0, 10.0),) * 9, target_bounds=(-50.0, 50.0), slopes=(1.0,) * 8 + (-1.0,)
)


def test_whitening_by_noise_is_no_evidence_against_short_directions(monkeypatch):
    """After it no direction looks short. Pooled with what steps see, it hid from intervals that columns go together."""
    monkeypatch.setitem(coverage.other_designs(), NINE.name, NINE)
    assert abs(short_of_a_scatter(TUNING)) < 1.0
    assert short_of_a_scatter(replace(TUNING, first_scatter=1.0)) > 2.0  # a mutant
