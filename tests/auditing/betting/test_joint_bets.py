"""Two bets together keep the law of one: never at zero, worth nothing on average at the boundary, as fast as any test can."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from dpkit.auditing.betting.bets import Bet
from dpkit.auditing.betting.joint_bets import joint_bet
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


def test_a_factor_never_falls_to_zero_though_the_past_told_everything():
    together = joint_bet(WAYS, past((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)), caution=0.01)
    shares = [bet.stake for bet in together.bets]
    assert 0.9 < sum(shares) <= 0.995 + 1e-12
    assert sum(shares) + together.on_first + together.on_second == pytest.approx(1.0)
    assert all(np.isfinite(together.log_factors(*sides)).all() for sides in outcomes())


def test_the_factor_averages_at_most_one_wherever_the_claim_holds():
    together = joint_bet(WAYS, past(*TOLD), caution=1.0)
    factors = np.exp([together.log_factors(*sides)[0] for sides in outcomes()]).reshape(3, 3)
    rng = np.random.default_rng(2)
    checked = 0
    for p, q in rng.dirichlet(np.ones(3), size=(4_000, 2)):
        excess = max(np.maximum(p - POINT.ratio * q, 0.0).sum(), np.maximum(q - POINT.ratio * p, 0.0).sum())
        if excess <= POINT.delta:
            checked += 1
            assert p @ factors @ q <= 1.0
    assert checked > 500
    assert np.array(TOLD[0]) @ factors @ np.array(TOLD[1]) > 1.2


def nearest(p, q):
    """KL from (p, q) to the nearest pair of laws that keep the pure claim, by an optimiser that knows nothing of bets."""

    def apart(logits):
        one, two = (np.exp(side - np.logaddexp.reduce(side)) for side in (logits[:3], logits[3:]))
        broken = np.maximum(np.abs(np.log(one / two)) - POINT.epsilon, 0.0).sum()
        return float(np.sum(p * np.log(p / one)) + np.sum(q * np.log(q / two)) + 1e3 * broken)

    starts = np.log(np.concatenate([0.5 * (np.array(p) + q)] * 2))
    found = min((minimize(apart, starts + 0.1 * np.random.default_rng(k).normal(size=6), method="Nelder-Mead",
                          options={"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-12}).fun)
                for k in range(4))  # fmt: skip
    return float(found)


@pytest.mark.parametrize("told", [TOLD, ((0.2, 0.3, 0.5), (0.5, 0.3, 0.2)), ((0.6, 0.1, 0.3), (0.85, 0.1, 0.05))])
def test_it_grows_as_fast_as_any_test_can(told):
    pure = Point(epsilon=POINT.epsilon, delta=0.0)
    bets = [replace(bet, point=pure) for bet in WAYS]
    p, q = (np.array(law) for law in told)
    seen = tuple(np.repeat(CELLS, np.round(20_000 * law).astype(int), axis=0) for law in (p, q))
    together = joint_bet(bets, seen, caution=1e-6)
    factors = np.array([together.log_factors(*sides)[0] for sides in outcomes()]).reshape(3, 3)
    assert float(p @ factors @ q) == pytest.approx(nearest(p, q), rel=0.02)


def test_little_is_staked_on_little_news_and_much_on_much():
    """Five outputs of each side that all speak against the claim are what chance gives; four thousand are not."""
    few, many = (joint_bet(WAYS, past((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), n=n), caution=2.0) for n in (5, 4_000))
    assert sum(bet.stake for bet in few.bets) < 0.05 < 0.9 < sum(bet.stake for bet in many.bets)
