"""Successive outputs that depend on each other: a right program whose noise comes from a clock is accused of nothing."""

import itertools

import numpy as np
import pytest

from dpkit import PureDP, audit, confirm
from dpkit.auditing import successive
from dpkit.auditing.successive import CLOCKED, REPEATED, TOGETHER, depend

ONE = PureDP(epsilon=1.0)
PAIR = ([1], [1, 1])


@pytest.fixture
def ticks(monkeypatch):
    """A clock of which a second is as many calls as asked for."""
    counted = itertools.count()
    monkeypatch.setattr(successive.time, "sleep", lambda _: [next(counted) for _ in range(10_000)])
    return counted


def seeded_by(clock, calls):
    def release(rows):
        return len(rows) + np.random.default_rng(next(clock) // calls).laplace()

    return release


def test_a_program_seeded_by_the_clock_is_not_refuted(ticks):
    (found,) = audit(seeded_by(ticks, 40), ONE, PAIR, samples=2_000, rng=1)
    assert found.verdict == "inconclusive"
    assert REPEATED in found.note
    assert found.epsilon_lower == 0.0


def test_a_program_that_is_quicker_than_its_clock_is_not_refuted(ticks):
    (found,) = audit(seeded_by(ticks, 9_000), ONE, PAIR, samples=200, rng=1)
    assert found.verdict == "inconclusive"
    assert CLOCKED in found.note


def test_noise_that_is_the_same_for_ever_is_refuted(ticks):
    (found,) = audit(seeded_by(ticks, 10**9), ONE, PAIR, samples=200, rng=1)
    assert found.refuted


def test_a_confirmation_by_outputs_that_repeat_is_none(ticks):
    def release(rows):
        return len(rows) + np.random.default_rng(next(ticks) // calls[0]).laplace()

    calls = [10**9]
    (found,) = audit(release, ONE, PAIR, samples=2_000, rng=1)
    assert found.refuted
    calls[0] = 40
    again = confirm(found, release, samples=2_000, rng=2)
    assert not again.confirmed
    assert again.dependence == REPEATED
    assert REPEATED in str(again)


def test_outputs_that_wander_tell_nothing():
    steps = np.random.default_rng(1).normal(size=1_000)
    assert depend(np.cumsum(steps)[:, None]) == TOGETHER
    assert depend(steps[:, None]) == ""


@pytest.mark.parametrize("law", ["laplace", "coin", "rare", "geometric", "atom", "vector", "constant"])
def test_independent_outputs_are_not_called_dependent(law):
    """A false word has a probability below 1e-6 here; none of 200."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        size = int(rng.integers(32, 600))
        noise = rng.laplace(size=(size, 1))
        drawn = {
            "laplace": noise,
            "coin": 1.0 * (noise > 0.0),
            "rare": 1.0 * (rng.random((size, 1)) < 0.01),
            "geometric": np.floor(np.abs(noise)),
            "atom": np.where(rng.random((size, 1)) < 0.2, 1.0, noise),
            "vector": rng.laplace(size=(size, 3)),
            "constant": np.ones((size, 1)),
        }[law]
        assert depend(drawn) == ""
