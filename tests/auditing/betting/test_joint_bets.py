"""Two bets together keep the law of one: never below zero, worth nothing on average at the boundary, faster than either."""

import itertools
import math

import numpy as np
import pytest

from dpkit.auditing.betting.bets import Bet
from dpkit.auditing.betting.joint_bets import JointBet, joint_bet
from dpkit.auditing.betting.profile import Point

POINT = Point(epsilon=0.7, delta=0.05)
WAYS = (
    Bet(column=0, upper=True, cut=2.0, forward=True, point=POINT, growth=0.1),
    Bet(column=0, upper=False, cut=0.0, forward=False, point=POINT, growth=0.2),
)
CELLS = np.array([[0.0], [1.0], [2.0]])


def outcomes():
    """Every pair of cells: 0 is likelier under the second side, 2 under the first."""
    return [(CELLS[[x]], CELLS[[y]]) for x, y in itertools.product(range(3), repeat=2)]


def past(p, q, n=4_000):
    rng = np.random.default_rng(1)
    return tuple(rng.choice(3, size=(n, 1), p=law).astype(float) for law in (p, q))


TOLD = ((0.05, 0.25, 0.7), (0.7, 0.25, 0.05))


def test_a_factor_never_falls_below_zero_though_both_bets_are_as_large_as_they_may_be():
    together = joint_bet(WAYS, past((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)), caution=0.01)
    shares = [bet.stake / POINT.ceiling for bet in together.bets]
    assert 0.9 < sum(shares) <= 0.995 + 1e-12
    assert all(np.isfinite(together.log_factors(*sides)).all() for sides in outcomes())
    with np.errstate(invalid="ignore"):  # each at its own ceiling: two losses at once are more than there is
        careless = JointBet(bets=tuple(Bet(**{**vars_of(bet), "stake": 0.9 * POINT.ceiling}) for bet in WAYS))
        assert not all(np.isfinite(careless.log_factors(*sides)).all() for sides in outcomes())


def vars_of(bet):
    return {name: getattr(bet, name) for name in bet.__slots__}


def test_the_factor_averages_at_most_one_wherever_the_claim_holds():
    together = joint_bet(WAYS, past(*TOLD), caution=1.0)
    factors = np.exp([together.log_factors(*sides)[0] for sides in outcomes()]).reshape(3, 3)
    rng = np.random.default_rng(2)
    checked = 0
    for p, q in rng.dirichlet(np.ones(3), size=(4_000, 2)):
        excess = max(np.maximum(p - POINT.ratio * q, 0.0).sum(), np.maximum(q - POINT.ratio * p, 0.0).sum())
        if excess <= POINT.delta:
            checked += 1
            assert p @ factors @ q <= 1.0 + 1e-12
    assert checked > 500
    assert np.array(TOLD[0]) @ factors @ np.array(TOLD[1]) > 1.2


@pytest.mark.parametrize("told", [TOLD, ((0.2, 0.3, 0.5), (0.5, 0.3, 0.2)), ((0.6, 0.1, 0.3), (0.9, 0.08, 0.02))])
def test_the_stakes_are_those_that_would_have_grown_fastest(told):
    seen = past(*told)
    together = joint_bet(WAYS, seen, caution=1e-6)
    found = float(np.mean(together.log_factors(*seen)))
    gains = [bet.gains(*seen) for bet in WAYS]
    grid = np.linspace(0.0, 0.995 * POINT.ceiling, 41)
    best = max(float(np.mean(np.log1p(a * gains[0] + b * gains[1]))) for a in grid for b in grid if a + b <= grid[-1])
    assert found >= best - 1e-3
    assert math.isfinite(found)
