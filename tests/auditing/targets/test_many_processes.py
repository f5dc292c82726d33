"""Many processes draw what one would: the generator decides, not how many there are; and a budget of seconds is kept."""

import multiprocessing
import os
import time

import numpy as np

from dpkit import PureDP, audit
from dpkit.auditing.betting.campaign import Budget
from dpkit.auditing.certificates.replay import replay
from dpkit.auditing.targets.many_processes import ManyProcesses


def half(value, n, rng):
    return value + rng.laplace(scale=0.4, size=n)


def test_the_number_of_processes_does_not_matter():
    drawn = []
    for jobs in (1, 2):
        many = ManyProcesses(half, jobs)
        drawn.append(many(0.0, 40, np.random.default_rng(1)))
        assert many(0.0, 3, np.random.default_rng(1)).shape == (3,)
        many.close()
    assert np.array_equal(*drawn)


def test_a_function_that_cannot_be_sent_is_inherited():
    many = ManyProcesses(lambda value, n, rng: value + np.zeros(n), 2)
    assert many(2.0, 20, np.random.default_rng(1)).tolist() == [2.0] * 20
    many.close()


def test_an_audit_by_processes_is_replayed():
    (found,) = audit(half, PureDP(epsilon=1.0), (0.0, 1.0), samples=1_000, rng=1, jobs=2)
    assert found.refuted
    assert replay(found, half).confirmed


def ends_its_process(value, n, rng):
    return os._exit(0) if value else np.zeros(n)


def sleeps_for_ever(value, n, rng):
    time.sleep(1e6)


def test_a_call_that_ends_its_process_is_an_outcome():
    (found,) = audit(ends_its_process, PureDP(epsilon=1.0), (0.0, 1.0), samples=100, rng=1, jobs=2)
    assert found.refuted
    assert "raised ProcessEnded" in found.note


def test_processes_end_when_time_is_up():
    (found,) = audit(sleeps_for_ever, PureDP(epsilon=1.0), (0.0, 1.0), samples=100, rng=1, jobs=2, time=0.5)
    assert (found.verdict, found.samples) == ("inconclusive", 0)
    assert not multiprocessing.active_children()


def test_the_last_batch_is_as_large_as_there_is_time_for():
    now = time.monotonic()
    budget = Budget(samples=100, deadline=now + 100.0, began=now)
    assert 70 <= budget.affordable(10.0, 10, betting=True) <= 75
    assert 95 <= budget.affordable(10.0, 10, betting=False) <= 100
    assert Budget(samples=100).affordable(1.0, 1, betting=True) == np.inf
    assert Budget(samples=10, deadline=now - 1.0, began=now - 2.0).affordable(1.0, 1, betting=True) == 0.0


def test_a_timed_audit_that_ends_by_its_samples_is_replayed():
    (found,) = audit(half, PureDP(epsilon=1.0), (0.0, 1.0), samples=2_000, rng=1, time=1_000.0)
    assert replay(found, half).confirmed


def test_a_run_that_time_ended_is_replayed_for_as_many_samples():
    def slow(value, n, rng):
        time.sleep(0.004 * n)
        return value + rng.laplace(size=n)

    (found,) = audit(slow, PureDP(epsilon=1.0), (0.0, 1.0), samples=100_000, rng=1, time=1.0)
    assert "time was up" in found.note
    again = replay(found, lambda value, n, rng: value + rng.laplace(size=n))
    assert {"target", "note"} >= set(again.differences) - {"source"}
