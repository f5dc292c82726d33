"""Audits of dpkit's own mechanisms: right ones stand, and a lie in any part of them falls to the falsifier made for it."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpkit import (
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PureDP,
    RandomizedResponse,
    SymmetricGaussian,
    audit,
    frobenius,
    l1,
    l2,
    linf,
    records,
)

RIGHT = [
    (Laplace(scale=1.0), l1(1.0)),
    (Gaussian(scale=2.0), l2(1.0)),
    (SymmetricGaussian(scale=2.0), frobenius(1.0)),
    (DiscreteLaplace(scale=2.0), l1(1)),
    (DiscreteGaussian(scale=2.0), l2(1)),
    (Exponential(scale=2.0), linf(1.0)),
    (RandomizedResponse(epsilon=1.0, categories=3), records(1)),
]


@pytest.mark.parametrize(("mechanism", "at"), RIGHT, ids=lambda item: type(item).__name__)
def test_what_dpkit_ships_is_not_refuted_even_in_floating_point(mechanism, at):
    certificates = audit(mechanism, at=at, samples=3_000, rng=1)
    assert {certificate.verdict for certificate in certificates} <= {"not refuted", "inconclusive"}
    assert any(certificate.hypothesis == "floating point" for certificate in certificates)


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
    assert certificate.samples <= 40


def test_half_the_noise_falls_whatever_delta_is():
    sampler = HalfNoise(4.0).release_many
    claim = ApproxDP(epsilon=1.0, delta=1e-5)
    certificates = audit(sampler, claim, (0.0, 1.0), density=Gaussian(scale=4.0), rng=2)
    assert certificates[0].falsifier == "noise law"
    assert certificates[0].samples <= 60


def test_a_wrong_theorem_falls_without_samples():
    for mechanism, at, claim in [
        (Laplace(scale=0.9), l1(1.0), PureDP(epsilon=1.0)),
        (Gaussian(scale=2.0), l2(1.0), ApproxDP(epsilon=1.0, delta=1e-5)),
        (RandomizedResponse(epsilon=1.01), records(1), PureDP(epsilon=1.0)),
        (DiscreteLaplace(scale=0.9), l1(1), PureDP(epsilon=1.0)),
    ]:
        real = [c for c in audit(mechanism, claim, at=at, samples=5_000, rng=1) if c.hypothesis == "real arithmetic"]
        assert [c.verdict for c in real] == ["refuted"], mechanism
        assert real[0].samples == 0
        assert real[0].log_e_value == math.inf


def test_numpy_laplace_falls_in_floating_point_and_only_there():
    def fn(value, n, rng):
        return value + rng.laplace(size=n)

    real, rounding = audit(fn, PureDP(epsilon=1.0), (0.0, 1.0), samples=20_000, floating_point=True, rng=1)
    assert (real.hypothesis, real.verdict) == ("real arithmetic", "not refuted")
    assert (rounding.hypothesis, rounding.verdict) == ("floating point", "refuted")


class Shifted:
    """Exponential noise on the right of the value: an impossible output shows at once."""

    def log_density(self, output, value):
        gap = np.asarray(output) - value
        return np.where(gap >= 0.0, -gap, -np.inf)


def test_an_impossible_output_is_proof():
    def fn(value, n, rng):
        return value + rng.exponential(size=n)

    certificate = audit(fn, PureDP(epsilon=1.0), (0.0, 1.0), density=Shifted(), falsifiers=["support"], rng=1)[0]
    assert certificate.falsifier == "support"
    assert certificate.log_e_value == math.inf
    assert 0.0 <= certificate.witness.output[0] < 1.0
