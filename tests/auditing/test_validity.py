"""The error probability is what it says: e-values average at most 1 under claims that hold, and mutants are caught."""

import math

import numpy as np
import pytest

from dpkit.auditing.betting import bets as betting
from dpkit.auditing.betting import lower_bound
from dpkit.auditing.betting.bank import Bank, columns_for
from dpkit.auditing.betting.bets import Bet, kelly
from dpkit.auditing.betting.campaign import smallest_violation
from dpkit.auditing.betting.lower_bound import epsilon_lower
from dpkit.auditing.betting.processes import Prequential
from dpkit.auditing.betting.profile import Point, implied_delta, points_of
from dpkit.auditing.zoo import entry_named
from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, MeanCDP, PureDP

HALF = Point(epsilon=0.5, delta=0.0)
ALPHA = 0.05


def response(bits, n, rng, epsilon=0.5):
    """Randomised response: the claim at its boundary in every sample."""
    return np.where(rng.random((n, 1)) < 1.0 / (1.0 + math.exp(-epsilon)), bits, 1.0 - bits)


def false_alarms(runs, process_class=Prequential, batches=25, size=8):
    """How often a true claim is refuted at level ALPHA."""
    alarms = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        process = process_class(Bank(columns_for((1,), (0.0, 1.0), np.zeros((1, 1)))[:2]), (HALF,))
        for _ in range(batches):
            process.choose()
            path = process.step(response(0.0, size, rng), response(1.0, size, rng))
            if path.max() >= -math.log(ALPHA):
                alarms += 1
                break
    return alarms


def test_false_alarms_keep_to_their_level():
    # 60 runs at 0.05: more than 9 has a probability below 2e-3 (and the seeds are fixed)
    assert false_alarms(60) <= 9


class Peeking(Prequential):
    """Chooses its bets after it has seen the batch."""

    def step(self, first, second):
        scores = self.bank.scores(first), self.bank.scores(second)
        self.bank.take((first, second), scores)
        self.choose()
        return self._portfolio.path(self._bettors, *scores)


def test_an_e_process_that_peeks_is_caught():
    assert false_alarms(60, Peeking) > 9


class Overbetting(Prequential):
    """Forgets e^epsilon: it pays as if the claim were epsilon = 0."""

    def __init__(self, bank, points):
        super().__init__(bank, (Point(epsilon=0.0, delta=0.0),))


def test_a_forgotten_factor_is_caught():
    assert false_alarms(60, Overbetting) > 20


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


def test_clopper_and_pearson_cover():
    rng = np.random.default_rng(3)
    truth = math.log((0.5 - 0.01) / 0.2)
    hits = zip(rng.binomial(500, 0.5, size=2_000), rng.binomial(500, 0.2, size=2_000), strict=True)
    above = sum(epsilon_lower((int(a), int(b)), 500, delta=0.01, alpha=0.05) > truth for a, b in hits)
    assert above <= 100
    assert epsilon_lower((0, 0), 10, delta=0.0, alpha=0.1) == 0.0
    assert lower_bound.epsilon_lower((10, 0), 10, delta=0.0, alpha=0.1) > 0.0


@pytest.mark.parametrize(
    "loss",
    [
        PureDP(epsilon=1.0),
        ApproxDP(epsilon=1.0, delta=1e-3),
        GDP(mu=1.0),
        ZCDP(rho=0.5, delta=1e-4),
        RDP(orders=(2.0, 4.0), epsilons=(1.0, 2.0), delta=1e-4),
        MeanCDP(mu=0.5, tau=1.0),
    ],
)
def test_points_are_implied_by_the_claim(loss):
    points = points_of(loss)
    assert points
    for point in points:
        assert 0.0 <= point.delta < 1.0
        assert point.delta >= implied_delta(loss, point.epsilon) * (1.0 - 1e-9) or isinstance(loss, ApproxDP)


def one_event(mass):
    def made(epsilon):
        return lambda bit, n, rng: (rng.random(n) < (mass if bit else mass * math.exp(-epsilon))).astype(int)

    return made


def laplace_on_one_of(entries):
    def made(epsilon):
        return lambda value, n, rng: np.asarray(value) + rng.laplace(scale=1.0 / epsilon, size=(n, entries))

    return made


@pytest.mark.parametrize(
    ("made", "pair", "samples"),
    [
        (one_event(0.5), (1, 0), 1_000),
        (one_event(0.1), (1, 0), 3_000),
        (laplace_on_one_of(1), (np.zeros(1), np.ones(1)), 1_500),
        pytest.param(laplace_on_one_of(5), (np.zeros(5), np.eye(5)[2]), 2_000, marks=pytest.mark.slow),
    ],
    ids=["likely", "rare", "laplace", "vector"],
)
def test_violations_of_the_size_that_power_states_are_found(made, pair, samples):
    """Of 20 runs at probability 0.95, fewer than 16 have a probability below 0.003; the seeds are fixed."""
    from dpkit import audit

    (stated,) = audit(made(1.0), PureDP(epsilon=1.0), pair, samples=samples, rng=1)
    assert stated.verdict == "not refuted"
    assert 1.0 < stated.power < 5.0
    found = sum(
        audit(made(stated.power), PureDP(epsilon=1.0), pair, samples=samples, rng=100 + i)[0].refuted for i in range(20)
    )
    assert found >= 16


def test_power_is_stated_for_the_event_seen():
    from dpkit import audit

    likely, rare = (audit(one_event(mass)(1.0), PureDP(epsilon=1.0), (1, 0), samples=6_000, rng=2)[0] for mass in (0.5, 0.1))
    assert likely.power_event == pytest.approx(0.5, abs=0.1)
    assert rare.power_event == pytest.approx(0.1, abs=0.04)
    assert rare.power > likely.power
    assert "through an event of probability" in str(rare)
    assert smallest_violation(Point(epsilon=1.0, delta=0.0), mass=0.5, pairs=10, threshold=math.log(1e3)) == math.inf


def test_the_bound_of_a_right_entry_is_near_its_epsilon():
    certificate = entry_named("laplace").audit(samples=30_000, rng=1)
    assert 0.7 < certificate.epsilon_lower <= 1.0
