"""Outputs of one call are held against those of single calls, before anything is believed."""

import math

import numpy as np
import pytest

from dpkit import PureDP, audit
from dpkit.auditing.audit import DOUBTED
from dpkit.auditing.independence import find_dependence, pilot_size, unlike

PAIR = (0.0, 1.0)


def shared(value, n, rng):
    return value + rng.laplace() + np.zeros(n)


def shared_in_part(value, n, rng):
    return value + rng.normal(scale=4.0) + rng.normal(scale=0.2, size=n)


def spends_by_number(value, n, rng):
    return value + rng.laplace(scale=0.1 if n > 1 else 3.0, size=n)


def right(value, n, rng):
    return value + rng.laplace(size=n)


def coins(value, n, rng):
    return (rng.random(n) < 0.3 + 0.4 * value).astype(int)


@pytest.mark.parametrize(
    ("fn", "words"),
    [(shared, "depend on each other"), (shared_in_part, "depend on each other"), (spends_by_number, "distributed otherwise")],
)
def test_what_outputs_of_a_call_share_is_seen(fn, words):
    found, drawn, _ = find_dependence(fn, PAIR, 4, np.random.SeedSequence(1))
    assert words in found
    assert drawn == 64


@pytest.mark.parametrize("fn", [right, coins, lambda value, n, rng: np.full(n, 7.0)])
def test_independent_outputs_are_not_accused(fn):
    assert [find_dependence(fn, PAIR, 4, np.random.SeedSequence(seed))[0] for seed in range(8)] == [""] * 8


def test_outputs_that_are_no_numbers_and_errors_are_for_the_audit_to_see():
    def raises(value, n, rng):
        raise RuntimeError

    assert find_dependence(raises, PAIR, 8, np.random.SeedSequence(1)) == ("", 0, None)
    assert find_dependence(lambda value, n, rng: ["a"] * n, PAIR, 8, np.random.SeedSequence(1))[0] == ""


def test_a_true_claim_is_not_refuted_by_what_a_batch_shares():
    for seed in range(5):
        (found,) = audit(shared, PureDP(epsilon=1.0), PAIR, samples=4_000, rng=seed)
        assert not found.refuted
        assert "drawn one a call" in found.note
        assert found.pilot_samples == 64
        assert found.samples <= 4_000


def test_a_budget_too_small_for_looking_is_said():
    assert pilot_size(100) == 0
    (found,) = audit(right, PureDP(epsilon=1.0), PAIR, samples=100, rng=1)
    assert "not checked" in found.note
    assert found.samples == 100


def blocks(value, n, rng):
    """Shared in blocks of 1,000: a pilot of 4 by 4 outputs has no chance to see it."""
    rng_of_block = getattr(blocks, "state", None)
    if rng_of_block is None or n == 1 or n == 4:
        return value + rng.laplace(size=n)
    return value + np.repeat(rng.laplace(size=-(-n // 1000)), 1000)[:n]


def test_what_the_pilot_does_not_see_is_told_by_single_calls():
    blocks.state = True
    verdicts = [audit(blocks, PureDP(epsilon=1.0), PAIR, samples=20_000, rng=seed)[0] for seed in range(2)]
    assert not any(one.refuted for one in verdicts)
    assert any(DOUBTED in one.note for one in verdicts)
    assert all(one.samples <= 20_000 for one in verdicts)


def loosely_shared(value, n, rng):
    """Laplace noise of which a fourth is shared by a call: seen by 4 calls in one of five seeds."""
    normal = 0.5 * rng.normal() + math.sqrt(0.75) * rng.normal(size=n)
    chance = 0.5 * (1.0 + np.vectorize(math.erf)(normal / math.sqrt(2.0)))
    return value + np.where(chance < 0.5, np.log(2.0 * chance), -np.log(2.0 - 2.0 * chance))


def test_noise_that_is_loosely_shared_refutes_no_true_claim():
    verdicts = [audit(loosely_shared, PureDP(epsilon=1.0), PAIR, samples=6_000, rng=seed)[0] for seed in range(3)]
    assert not any(one.refuted for one in verdicts)
    assert sum("drawn one a call" in one.note for one in verdicts) >= 2


def test_a_false_claim_is_refuted_by_single_calls_where_a_call_shares_noise():
    def less(value, n, rng):
        return loosely_shared(2.0 * value, n, rng)

    assert all(audit(less, PureDP(epsilon=1.0), PAIR, samples=20_000, rng=seed)[0].confirmed for seed in range(3))


def test_outputs_of_single_calls_are_like_those_of_one_call():
    rng = np.random.default_rng(5)
    for _ in range(20):
        many, alone = ((rng.laplace(size=(size, 1)), rng.laplace(size=(size, 1))) for size in (400, 300))
        assert not unlike(many, alone)
        assert unlike((many[0], many[1] + 0.5), alone)
