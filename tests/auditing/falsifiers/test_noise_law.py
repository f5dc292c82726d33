"""The noise law: less noise than declared falls soon, discrete noise too; what it cannot compare it leaves alone."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpkit import GDP, ApproxDP, DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, PureDP, RandomizedResponse, audit, l2
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import PairOutputs
from dpkit.auditing.falsifiers.noise_law import DiscreteNoiseLaw, noise_law_of
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.neighbours import Neighbours

CLAIM = Claim(
    loss=PureDP(epsilon=1.0),
    neighbours=Neighbours.ADD_REMOVE,
    because=Citation(key="caller", locator="a test"),
    status="unproved",
)
TINY = ApproxDP(epsilon=1.0, delta=1e-5)
SCORES = (np.zeros(4), np.array([1.0, -1.0, -1.0, -1.0]))
DISCRETE = [  # declared, drawn, pair, samples that must be enough
    (DiscreteLaplace(scale=4.0), DiscreteLaplace(scale=2.0), (np.int64(0), np.int64(1)), 150),
    (DiscreteLaplace(scale=4.0), DiscreteLaplace(scale=3.2), (np.int64(0), np.int64(1)), 2_000),
    (DiscreteGaussian(scale=4.0), DiscreteGaussian(scale=2.0), (np.int64(0), np.int64(1)), 80),
    (DiscreteGaussian(scale=4.0), DiscreteGaussian(scale=3.2), (np.int64(0), np.int64(1)), 600),
    (Exponential(scale=2.0), Exponential(scale=1.0), (SCORES[1], SCORES[0]), 3_000),
    (RandomizedResponse(epsilon=1.0, categories=3), RandomizedResponse(epsilon=1.6, categories=3), (0, 1), 1_000),
]


def declared_law(declared, drawn, pair, *, samples=4_000, seed=1, claim=TINY):
    (certificate,) = [
        one
        for one in audit(drawn.release_many, claim, pair, samples=samples, rng=seed, density=declared, falsifiers=["noise law"])
        if one.hypothesis == "declared law"
    ]
    return certificate


@pytest.mark.parametrize(("declared", "drawn", "pair", "enough"), DISCRETE, ids=lambda item: str(item)[:30])
def test_sharper_discrete_noise_falls_whatever_delta_is(declared, drawn, pair, enough):
    certificate = declared_law(declared, drawn, pair)
    assert certificate.refuted
    assert certificate.samples - certificate.pilot_samples <= enough
    assert "power" in certificate.witness.event


@pytest.mark.parametrize("law", [DISCRETE[0], DISCRETE[2], DISCRETE[4], DISCRETE[5]], ids=lambda item: type(item[0]).__name__)
def test_discrete_noise_as_declared_stands(law):
    declared, _, pair, _ = law
    assert not declared_law(declared, declared, pair).refuted


def test_more_discrete_noise_than_declared_is_no_violation():
    assert not declared_law(DiscreteLaplace(scale=2.0), DiscreteLaplace(scale=4.0), (np.int64(0), np.int64(1))).refuted


@pytest.mark.parametrize("law", [DISCRETE[0][0], DISCRETE[2][0], RandomizedResponse(epsilon=1.0, categories=3)], ids=repr)
def test_the_alternatives_are_distributions(law):
    """Their ratio to the declared law has mean at most 1, and hardly less."""
    subject = ClaimAtPair(sampler=law.release_many, claim=CLAIM, pair=(np.int64(0), np.int64(1)), density=law)
    process = DiscreteNoiseLaw(subject)
    outcomes = np.arange(-400.0, 401.0)[:, None] if not isinstance(law, RandomizedResponse) else np.arange(3.0)[:, None]
    log_f = subject.log_density(outcomes, 0)
    for power, log_sum in zip((1.1, 1.4, 2.0, 4.0, 11.0, 100.0), process._sums[0], strict=True):
        total = math.fsum(np.exp(log_f + (power - 1.0) * log_f - log_sum))
        assert 1.0 - 1e-7 < total <= 1.0


class Sphere:
    """Directions in the plane, density on the circle: shrinking leaves the circle, and says nothing."""

    def release_many(self, value, n, rng):
        turned = rng.vonmises(0.0, 1.0, size=n) + math.atan2(*np.asarray(value)[::-1])
        return np.stack([np.cos(turned), np.sin(turned)], axis=1)

    def log_density(self, output, value):
        return np.asarray(output) @ np.asarray(value) - math.log(2.0 * math.pi * np.i0(1.0))


def test_a_density_on_a_curved_space_is_left_alone():
    pair = (np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    law = Sphere()
    subject = ClaimAtPair(sampler=law.release_many, claim=CLAIM, pair=pair, density=law)
    assert noise_law_of(subject, PairOutputs(law.release_many, pair, np.random.SeedSequence(1))) is None


class Partly:
    """Noise on one of three entries; the others are public."""

    def release_many(self, value, n, rng):
        return np.asarray(value) + rng.normal(size=(n, 1)) * np.array([1.0, 0.0, 0.0])

    def log_density(self, output, value):
        gap = np.asarray(output) - np.asarray(value)
        return np.where(np.all(gap[..., 1:] == 0.0, axis=-1), -0.5 * gap[..., 0] ** 2 - 0.5 * math.log(2.0 * math.pi), -np.inf)


def test_noise_in_a_subspace_is_compared_in_its_own_dimension():
    pair = (np.zeros(3), np.array([1.0, 0.0, 0.0]))
    assert not declared_law(Partly(), Partly(), pair, claim=GDP(mu=1.0)).refuted


class Sometimes:
    """The value itself with probability 0.2, which it declares."""

    def release_many(self, value, n, rng):
        return np.asarray(value) + np.where(rng.random(n) < 0.2, 0.0, rng.normal(size=n))

    def log_density(self, output, value):
        gap = np.asarray(output) - np.asarray(value)
        return np.where(gap == 0.0, math.log(0.2), math.log(0.8) - 0.5 * gap**2 - 0.5 * math.log(2.0 * math.pi))


def test_an_atom_at_the_value_is_not_taken_for_less_noise():
    for seed in range(5):
        assert not declared_law(Sometimes(), Sometimes(), (0.0, 1.0), seed=seed).refuted


def test_less_noise_in_a_vector_is_found():
    assert declared_law(Gaussian(scale=2.0), Gaussian(scale=1.6), (np.zeros(3), np.array([1.0, 0.0, 0.0]))).refuted


@dataclass(frozen=True)
class HalfNoise:
    """Declares Gaussian noise of its scale, and draws half of it."""

    scale: float

    def event(self, at):
        return Gaussian(scale=self.scale).event(at)

    def claims(self, at):
        return Gaussian(scale=self.scale).claims(at)

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        return np.asarray(value) + rng.normal(scale=0.5 * self.scale, size=(n, *np.shape(value)))

    def log_density(self, output, value):
        return Gaussian(scale=self.scale).log_density(output, value)


def test_half_the_noise_falls_to_the_noise_law_in_tens_of_samples():
    (certificate,) = audit(HalfNoise(4.0), at=l2(1.0), rng=1)
    assert certificate.verdict == "refuted"
    assert certificate.falsifier == "noise law"
    assert certificate.hypothesis == "declared law"
    assert certificate.samples - certificate.pilot_samples <= 40


def test_half_the_noise_falls_whatever_delta_is():
    sampler = HalfNoise(4.0).release_many
    claim = ApproxDP(epsilon=1.0, delta=1e-5)
    certificates = audit(sampler, claim, (0.0, 1.0), density=Gaussian(scale=4.0), rng=2)
    assert certificates[0].falsifier == "noise law"
    assert certificates[0].samples - certificates[0].pilot_samples <= 60
