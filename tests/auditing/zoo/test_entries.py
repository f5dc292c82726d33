"""Each entry of the zoo has the status that it deserves, computed apart from the audit where the law can be summed."""

import itertools
import math

import numpy as np
import pytest

from dpkit.auditing.zoo import ZOO, entry_named

BROKEN = [
    *(f"sparse vector {version}" for version in (3, 4, 5, 6)),
    *("noisy max 3", "noisy max 4", "noisy histogram 2", "mean that leaks N"),
    *("laplace half", "laplace 10%", "gaussian half, black box", "gaussian half, noise law"),
    *("numpy laplace", "numpy gaussian"),
]
RIGHT = [
    *("sparse vector 1", "sparse vector 2", "noisy max 1", "noisy max 2", "noisy histogram 1"),
    *("RAPPOR", "one-time RAPPOR", "truncated geometric", "prefix sums", "parallel laplace"),
    *("laplace", "gaussian", "randomised response"),
]


def test_the_zoo_is_complete():
    assert {entry.name for entry in ZOO if entry.broken} == set(BROKEN)
    assert {entry.name for entry in ZOO if not entry.broken} == set(RIGHT)


def worst_loss(first, second):
    """The largest privacy loss of two laws given as probabilities of the same outcomes."""
    return float(np.max(np.abs(np.log(first) - np.log(second))))


@pytest.mark.parametrize(("name", "instant"), [("RAPPOR", True), ("one-time RAPPOR", False)])
def test_rappor_loses_exactly_what_its_authors_say(name, instant):
    entry = entry_named(name)
    f, p, q = 0.75, 0.45, 0.55

    def one(bit):
        """The probability that a reported bit is 1: kept, or set or cleared by a fair coin; then reported with q or p."""
        permanent = (1.0 - f) * bit + f / 2.0
        return permanent * q + (1.0 - permanent) * p if instant else permanent

    laws = [
        [math.prod(one(b) if r else 1.0 - one(b) for b, r in zip(bits, report, strict=True)) for report in reports()]
        for bits in entry.pair
    ]
    assert worst_loss(*laws) == pytest.approx(entry.claim.epsilon, rel=1e-9)
    assert worst_loss(*laws) <= entry.claim.epsilon
    shares = entry.sampler(entry.pair[0], 20_000, np.random.default_rng(1)).mean(axis=0)
    assert shares == pytest.approx([one(bit) for bit in entry.pair[0]], abs=0.015)


def reports():
    return itertools.product((0, 1), repeat=8)


def test_truncated_geometric_noise_loses_exactly_one():
    entry = entry_named("truncated geometric")
    half = 1.0 - math.exp(-1.0)
    one_sided = half * np.exp(-np.arange(400.0))
    noise = np.convolve(one_sided, one_sided[::-1])  # the difference of two geometric numbers, -399 to 399
    laws = []
    for value in entry.pair:
        law = np.bincount(np.clip(value + np.arange(-399, 400), 0, 5), weights=noise)
        laws.append(law)
        seen = np.bincount(entry.sampler(value, 40_000, np.random.default_rng(2)), minlength=6) / 40_000
        assert seen == pytest.approx(law, abs=0.01)
    assert worst_loss(*laws) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", ["prefix sums", "noisy histogram 1"])
def test_counts_of_which_one_moves_lose_exactly_one(name):
    entry = entry_named(name)
    outputs = entry.sampler(entry.pair[0], 4_000, np.random.default_rng(3))
    counts = np.diff(outputs, prepend=0.0) if name == "prefix sums" else outputs  # running sums can be taken back
    losses = np.sum(np.abs(counts - entry.pair[1]) - np.abs(counts - entry.pair[0]), axis=1)
    assert np.max(losses) == pytest.approx(1.0, abs=1e-9)
    assert np.min(losses) == pytest.approx(-1.0, abs=1e-9)
    assert np.mean(np.abs(counts - entry.pair[0])) == pytest.approx(1.0, abs=0.03)


def test_twenty_answers_at_a_twentieth_lose_exactly_one():
    entry = entry_named("parallel laplace")
    outputs = entry.sampler(entry.pair[1], 4_000, np.random.default_rng(4))
    assert outputs.shape == (4_000, 20)
    assert np.mean(np.abs(outputs - 1.0)) == pytest.approx(20.0, rel=0.02)  # the scale, about the value
    assert np.abs(np.corrcoef(outputs.T) - np.eye(20)).max() < 0.1
    extreme = np.full(20, -3.0)
    assert np.sum(np.abs(extreme - 1.0) - np.abs(extreme)) / 20.0 == 1.0
