"""Bets go in both directions, average one at the boundary of a claim, and are made at the best stake."""

import math

import numpy as np
import pytest

from dpkit.auditing.betting import bets as betting
from dpkit.auditing.betting.bets import Bet, kelly
from dpkit.auditing.betting.profile import Point

HALF = Point(epsilon=0.5, delta=0.0)


def test_bets_are_made_in_both_directions():
    rng = np.random.default_rng(1)
    first, second = (rng.random(400) < 0.02).astype(float), (rng.random(400) < 0.4).astype(float)
    (bet,) = betting.best_bets({0: (first, second)}, (HALF,), cautions=(1.0,))[0]
    (turned,) = betting.best_bets({0: (second, first)}, (HALF,), cautions=(1.0,))[0]
    assert (bet.upper, bet.forward) == (True, False)
    assert (turned.upper, turned.forward) == (True, True)


@pytest.mark.parametrize("forward", [True, False])
def test_a_factor_never_falls_below_zero_and_averages_one_at_the_boundary(forward):
    point = Point(epsilon=1.0, delta=0.1)
    bet = Bet(column=0, upper=True, cut=0.5, forward=forward, point=point, stake=0.99 * point.ceiling, growth=0.0)
    outcomes = np.array([[0.0], [1.0]])
    q = 0.2
    p = math.e * q + 0.1
    mean = 0.0
    for x in (0, 1):
        for y in (0, 1):
            first, second = (outcomes[[x]], outcomes[[y]]) if forward else (outcomes[[y]], outcomes[[x]])
            factor = math.exp(bet.log_factors(first, second)[0])
            assert factor >= 0.0
            mean += (p if x else 1 - p) * (q if y else 1 - q) * factor
    assert mean == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("gap", [1.05, 2.0, 50.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_kelly_finds_the_best_stake(p, gap, delta):
    point = Point(epsilon=0.7, delta=delta)
    q = (p - delta) / math.exp(0.7) / gap
    (stake,), (growth,) = kelly(np.array([p]), np.array([q]), point)
    grid = np.linspace(0.0, 0.995 * point.ceiling, 20_001)
    gains = (1.0 - delta, 1.0 - point.ratio - delta, -delta, -point.ratio - delta)
    weights = (p * (1 - q), p * q, (1 - p) * (1 - q), (1 - p) * q)
    best = max(sum(w * np.log1p(grid * g) for w, g in zip(weights, gains, strict=True)))
    assert 0.0 <= stake <= point.ceiling
    assert growth >= 0.99 * best - 1e-9
