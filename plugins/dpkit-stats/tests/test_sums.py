"""Sums of narrow bounds far from zero, and how far one replaced row moves moments: the stated numbers are the true ones."""

import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from dpkit_stats import sums
from dpkit_stats.scaling import Interval

import dpkit

sys.path.insert(0, str(Path(__file__).parent))
from statistic_runs import ADD_REMOVE, ALGORITHMS, REPLACE_ONE, engine

ROWS = 20_000
FAR = [(1e9, 1e9 + 1.0), (-1e9 - 1.0, -1e9), (1e15, 1e15 + 64.0), (-3.0, 1e-3), (0.0, 1e-100), (2.0**52, 2.0**52 + 2.0)]


def declared(bounds, neighbours, *, missing, rows):
    column = dpkit.Number(name="x", lower=bounds[0], upper=bounds[1], missing=missing)
    return dpkit.DeclaredSetting(schema=dpkit.Schema(columns=(column,)), neighbours=neighbours, rows=rows)


def settings(bounds):
    yield declared(bounds, ADD_REMOVE, missing="drop", rows=None)
    yield declared(bounds, REPLACE_ONE, missing="drop", rows=ROWS)
    yield declared(bounds, REPLACE_ONE, missing=bounds[0], rows=ROWS)
    yield declared(bounds, REPLACE_ONE, missing=bounds[0], rows=None)


@pytest.mark.parametrize("bounds", FAR)
def test_the_error_of_a_sum_holds_wherever_its_bounds_lie(bounds):
    lower, upper = bounds
    rng = np.random.default_rng(3)
    shares = rng.random(ROWS)
    values = np.clip(lower * (1.0 - shares) + upper * shares, lower, upper)
    truth = sum(map(Fraction, values.tolist()))
    for known in settings(bounds):
        table, good = engine({"x": values}, known), 0
        algorithm = ALGORITHMS["sum"].prepare(known, column="x")
        for seed in range(20):
            found = dpkit.run_algorithms(
                {"it": (algorithm, 1.0)}, engine=table, setting=known, rng=np.random.default_rng(seed)
            ).outcomes["it"].result  # fmt: skip
            allowed = min(found.error, algorithm.accuracy(1.0, rows=ROWS))
            good += abs(Fraction(found.estimate) - truth) <= Fraction(allowed)
        assert good >= 15  # 20 at 0.95: fewer than 15 with a probability below 3e-4


def test_a_narrow_column_far_from_zero_has_a_small_error():
    """Replaced, one row moves the sum by 1: the error is that of this noise, and not of the magnitude."""
    for rows in (ROWS, None):
        known = declared((1e9, 1e9 + 1.0), REPLACE_ONE, missing=1e9, rows=rows)
        assert ALGORITHMS["sum"].prepare(known, column="x").accuracy(1.0, rows=ROWS) < 2.0


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("bounds", [*FAR, (0.1, 0.3), (-7.0, 9.0)])
def test_a_sum_s_sensitivities_are_exact(bounds, centred):
    interval = Interval(lower=bounds[0], upper=bounds[1])
    query = sums.sum_query("x", interval, centred=centred)
    rng = np.random.default_rng(5)
    block = np.concatenate([bounds, rng.uniform(*bounds, 300), [np.nan, np.inf, -np.inf, 0.0]])[:, None]
    rows = query.rows(block)
    for neighbours, moved in ((ADD_REMOVE, np.abs(rows).max()), (REPLACE_ONE, np.ptp(rows))):
        l1, l2 = (distance.value for distance in query.sensitivity(neighbours))
        assert l1 == moved <= l2 <= moved * (1 + 1e-15)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_replaced_moments_are_attained_and_never_exceeded(size):
    """Corners, the pair of theorem 2, and a climb over pairs; a wrong constant would fail on one side or on the other."""
    bounds = [Interval(lower=-1.0, upper=1.0)] * size
    query = sums.covariance_query([f"x{place}" for place in range(size)], bounds)
    l1, l2 = (distance.value for distance in query.sensitivity(REPLACE_ONE))
    rng = np.random.default_rng(size)
    pairs = [np.array(corners, dtype=np.float64).reshape(2, size) for corners in product((-1.0, 1.0), repeat=2 * size)]
    pairs.append(np.stack([np.ones(size), -np.ones(size) / (size + 1)]))
    pairs.extend(rng.uniform(-1.0, 1.0, (500, 2, size)))

    def moved(pair):
        difference = np.subtract(*query.rows(pair))
        return np.abs(difference).sum(), np.linalg.norm(difference)

    best = [0.0, 0.0]
    for pair in pairs:
        best = np.maximum(best, moved(pair))
    for norm in (0, 1):
        climb = max(pairs[-50:], key=lambda pair: moved(pair)[norm])
        for step in np.geomspace(1.0, 1e-3, 400):
            near = np.clip(climb + rng.normal(0.0, step, climb.shape), -1.0, 1.0)
            climb = max(climb, near, key=lambda pair: moved(pair)[norm])
        best[norm] = max(best[norm], moved(climb)[norm])
    assert best[0] <= l1 <= best[0] + 1e-4  # rows are cut to 20 bits
    assert best[1] <= l2 * (1 + 1e-15) <= best[1] * (1 + 1e-12)


def test_a_fine_grid_adds_up_exactly():
    """Terms of 50 bits, of which float64 adds up eight without rounding: integers add them up."""
    values = np.random.default_rng(2).uniform(1.0, 2.0, 5_000)
    known = declared((1.0, 2.0), ADD_REMOVE, missing="drop", rows=None)
    query = sums.sum_query("x", Interval(lower=1.0, upper=2.0))
    (total,) = engine({"x": values}, known).evaluate([query])
    assert sum(map(Fraction, query.rows(values[:, None]).tolist())) == Fraction(int(total.steps())) * Fraction(sums.FINE)
    assert abs(2 * Fraction(int(total.steps())) * Fraction(sums.FINE) - sum(map(Fraction, values.tolist()))) < 5_000 * 2.0**-50
