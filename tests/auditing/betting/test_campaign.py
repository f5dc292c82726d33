"""A campaign finds violations of the size that its power states."""

import math
import time

import numpy as np
import pytest

from dpkit import audit
from dpkit.auditing.betting.campaign import smallest_violation
from dpkit.auditing.betting.processes import BettingProcess
from dpkit.auditing.betting.profile import Point
from dpkit.privacy.losses import PureDP


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
    """Of 10 runs at probability 0.95, fewer than 7 have a probability of about 0.001; the seeds are fixed."""
    from dpkit import audit

    (stated,) = audit(made(1.0), PureDP(epsilon=1.0), pair, samples=samples, rng=1)
    assert stated.verdict == "not refuted"
    assert 1.0 < stated.power < 5.0
    found = sum(
        audit(made(stated.power), PureDP(epsilon=1.0), pair, samples=samples, rng=100 + i)[0].refuted for i in range(10)
    )
    assert found >= 7


def test_power_is_stated_for_the_event_seen():
    from dpkit import audit

    likely, rare = (audit(one_event(mass)(1.0), PureDP(epsilon=1.0), (1, 0), samples=6_000, rng=2)[0] for mass in (0.5, 0.1))
    assert likely.power_event == pytest.approx(0.5, abs=0.1)
    assert rare.power_event == pytest.approx(0.1, abs=0.04)
    assert rare.power > likely.power
    assert "through an event of probability" in str(rare)
    assert smallest_violation(Point(epsilon=1.0, delta=0.0), mass=0.5, pairs=10, threshold=math.log(1e3)) == math.inf


ONE = PureDP(epsilon=1.0)


class Clock:
    """The time as what is run makes it."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def timed(clock, *, first, each, scale):
    """A function whose first call takes long, as one that loads a library."""
    calls = []

    def fn(value, n, rng):
        clock.now += (0.0 if calls else first) + n * each
        calls.append(n)
        return value + rng.laplace(scale=scale, size=n)

    fn.independent = True
    return fn


def test_a_slow_first_call_is_not_taken_for_what_a_sample_costs(monkeypatch):
    clock = Clock(monkeypatch)
    (found,) = audit(timed(clock, first=20.0, each=0.01, scale=1.0), ONE, (0.0, 1.0), samples=100_000, time=60.0, rng=1)
    assert found.samples > 1_000
    assert clock.now <= 61.0


def test_a_target_that_stays_slow_is_audited_for_the_time_there_is(monkeypatch):
    clock = Clock(monkeypatch)
    (found,) = audit(timed(clock, first=0.0, each=9.0, scale=1.0), ONE, (0.0, 1.0), samples=100_000, time=100.0, rng=1)
    assert found.verdict == "inconclusive"
    assert clock.now <= 110.0


def test_fresh_samples_are_counted_at_their_own_price(monkeypatch):
    """Bets that take long say nothing about how many outputs can be drawn afterwards."""
    clock = Clock(monkeypatch)
    step = BettingProcess.step

    def slow(self, first, second):
        clock.now += 0.02 * len(first)
        return step(self, first, second)

    monkeypatch.setattr(BettingProcess, "step", slow)
    (found,) = audit(timed(clock, first=0.0, each=0.0001, scale=0.75), ONE, (0.0, 1.0), samples=100_000, time=60.0, rng=1)
    assert found.refuted
    assert found.confirmed
