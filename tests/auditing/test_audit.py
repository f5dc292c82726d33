"""The audit finds what is broken, leaves alone what is right, and says so in a certificate."""

import math
import time

import numpy as np
import pytest

import dpkit
from dpkit import GDP, ZCDP, ApproxDP, AuditCertificate, PureDP, audit


def laplace(scale):
    return lambda value, n, rng: value + rng.laplace(scale=scale, size=n)


def gaussian(scale):
    return lambda value, n, rng: value + rng.normal(scale=scale, size=n)


def test_noise_at_half_its_scale_is_refuted_in_hundreds_of_samples():
    (certificate,) = audit(laplace(0.5), claim=PureDP(epsilon=1.0), pair=(0.0, 1.0), rng=1)
    assert certificate.verdict == "refuted"
    assert certificate.samples < 1_000
    assert 1.0 < certificate.epsilon_lower < 2.0
    assert certificate.e_value >= 1.0 / certificate.level
    assert certificate.confidence == 0.999
    assert certificate.witness.hits[0] > math.e * certificate.witness.hits[1]


def test_a_claim_at_its_boundary_is_not_refuted_and_comes_with_power():
    (certificate,) = audit(laplace(1.0), claim=PureDP(epsilon=1.0), pair=(0.0, 1.0), samples=20_000, rng=1)
    assert certificate.verdict == "not refuted"
    assert certificate.samples == 20_000
    assert 0.7 < certificate.epsilon_lower <= 1.0
    assert 1.0 < certificate.power < 1.3


def test_too_few_samples_to_refute_anything_are_inconclusive():
    (certificate,) = audit(laplace(1.0), claim=PureDP(epsilon=1.0), pair=(0.0, 1.0), samples=20, rng=1)
    assert certificate.verdict == "inconclusive"
    assert certificate.power == math.inf
    assert AuditCertificate.from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize(
    ("claim", "scale"), [(GDP(mu=1.0), 0.5), (ZCDP(rho=0.5), 0.4), (dpkit.RDP(orders=(2.0, 8.0), epsilons=(1.0, 4.0)), 0.4)]
)
def test_claims_of_every_notion_fall_through_the_profile_they_imply(claim, scale):
    (certificate,) = audit(gaussian(scale), claim=claim, pair=(0.0, 1.0), samples=20_000, rng=2)
    assert certificate.verdict == "refuted"


def test_approximate_claims_allow_their_delta():
    leak = lambda bit, n, rng: np.where(rng.random(n) < 0.01, bit, 2)  # noqa: E731
    assert audit(leak, ApproxDP(epsilon=0.5, delta=0.01), (0, 1), samples=20_000, rng=3)[0].verdict == "not refuted"
    assert audit(leak, ApproxDP(epsilon=0.5, delta=0.001), (0, 1), samples=20_000, rng=3)[0].verdict == "refuted"


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_outputs_may_be_numbers_vectors_and_matrices(shape):
    def fn(value, n, rng):
        return value + rng.laplace(scale=0.2, size=(n, *shape))

    assert audit(fn, PureDP(epsilon=1.0), (0.0, 1.0), samples=10_000, rng=4)[0].verdict == "refuted"


def test_categories_are_integers():
    def fn(value, n, rng):
        return (value + (rng.random(n) < 0.1)).astype(int) % 3

    certificate = audit(fn, PureDP(epsilon=1.0), (0, 1), samples=10_000, rng=5)[0]
    assert certificate.verdict == "refuted"


def test_nan_is_an_outcome_like_any_other():
    def fn(value, n, rng):
        return np.where(rng.random(n) < 0.2 * value, np.nan, rng.laplace(size=n))

    assert audit(fn, PureDP(epsilon=1.0), (0.0, 1.0), samples=10_000, rng=6)[0].verdict == "refuted"


def test_either_direction_is_enough():
    def fn(value, n, rng):
        return np.where(rng.random(n) < value, 1, 0)

    for pair in ((0.0, 0.3), (0.3, 0.0)):
        assert audit(fn, PureDP(epsilon=1.0), pair, samples=10_000, rng=7)[0].verdict == "refuted"


def test_the_seed_decides_everything():
    one, two = (audit(laplace(0.5), PureDP(epsilon=1.0), (0.0, 1.0), rng=11) for _ in range(2))
    assert one == two
    generators = [np.random.default_rng(5), np.random.default_rng(5)]
    one, two = (audit(laplace(0.5), PureDP(epsilon=1.0), (0.0, 1.0), rng=rng) for rng in generators)
    assert one == two


def test_time_is_a_budget():
    def slow(value, n, rng):
        time.sleep(0.02)
        return value + rng.laplace(size=n)

    (certificate,) = audit(slow, PureDP(epsilon=1.0), (0.0, 1.0), samples=10_000_000, time=0.3, rng=1)
    assert certificate.samples < 10_000_000
    assert "time" in certificate.note


def test_a_call_that_is_slow_ends_with_the_time():
    ended = []

    def slow(rows):
        time.sleep(0.2)
        ended.append(rows)

    (certificate,) = audit(slow, PureDP(epsilon=1.0), ([1], [1, 2]), time=0.05, rng=1)
    assert (certificate.verdict, certificate.samples, ended) == ("inconclusive", 0, [])
    assert "the time was up" in certificate.note
