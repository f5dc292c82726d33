"""A pair (epsilon, delta) by Gaussian noise says a whole curve: true noise keeps it, too little breaks it soon."""

import numpy as np
import pytest

from dpkit import GDP, InvalidValueError, audit, gaussian_claim
from dpkit.auditing.betting.profile import implied_delta, points_of
from dpkit.privacy.gaussian_dp import gaussian_delta_below, gaussian_epsilon

EPSILON = gaussian_epsilon(1.0, delta=1e-6)


def test_the_pair_is_a_point_of_the_curve():
    claim = gaussian_claim(epsilon=EPSILON, delta=1e-6)
    assert isinstance(claim, GDP)
    assert 1.0 <= claim.mu < 1.0 + 1e-6


@pytest.fixture(scope="module")
def sampled():
    return gaussian_claim(epsilon=2.0, delta=1e-6, rate=0.3)


def test_samples_say_less_than_their_noise_alone(sampled):
    whole = gaussian_claim(epsilon=2.0, delta=1e-6)
    assert 1e-6 <= implied_delta(sampled, 2.0) < 4e-6
    for point in points_of(sampled):
        assert point.delta >= 0.0
    # at the same pair, a sample reveals less in likely events: its curve is below there
    assert implied_delta(sampled, 0.0) < gaussian_delta_below(whole.mu, epsilon=0.0)


def noisy(scale, rate=1.0):
    return lambda value, n, rng: (rng.random(n) < rate) * value + scale * rng.normal(size=n)


def test_too_little_noise_falls_in_hundreds_of_samples(sampled):
    (found,) = audit(noisy(0.5), gaussian_claim(epsilon=EPSILON, delta=1e-6), (0.0, 1.0), rng=1)
    assert found.refuted
    assert found.samples < 2_000
    (found,) = audit(noisy(0.5, 0.3), sampled, (0.0, 1.0), samples=20_000, rng=1)
    assert found.refuted
    assert found.samples < 4_000


def test_noise_that_is_as_claimed_stands(sampled):
    assert not audit(noisy(1.0), gaussian_claim(epsilon=EPSILON, delta=1e-6), (0.0, 1.0), samples=4_000, rng=2)[0].refuted
    # (2, 1e-6) at rate 0.3 takes a scale of about 1.4
    assert not audit(noisy(1.5, 0.3), sampled, (0.0, 1.0), samples=4_000, rng=2)[0].refuted


@pytest.mark.parametrize(
    "given", [{"epsilon": -1.0}, {"delta": 1.0}, {"rate": 0.0}, {"rate": 1.5}, {"steps": 0}, {"steps": 1.5}], ids=str
)
def test_wrong_numbers_are_named(given):
    with pytest.raises(InvalidValueError, match=next(iter(given))):
        gaussian_claim(**{"epsilon": 1.0, "delta": 1e-6, **given})


def test_the_curve_is_above_the_true_one(sampled):
    """By an independent route: the hockey stick of the mixture by quadrature, at the scale that just meets the pair."""
    x = np.linspace(-12.0, 14.0, 400_001)

    def delta_of(scale, epsilon):
        density = np.exp(-0.5 * (x / scale) ** 2) / (scale * np.sqrt(2.0 * np.pi))
        moved = np.exp(-0.5 * ((x - 1.0) / scale) ** 2) / (scale * np.sqrt(2.0 * np.pi))
        mixture = 0.7 * density + 0.3 * moved
        step = x[1] - x[0]
        ratio = np.exp(epsilon)
        return max(np.maximum(mixture - ratio * density, 0.0).sum(), np.maximum(density - ratio * mixture, 0.0).sum()) * step

    low, high = 0.5, 4.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if delta_of(middle, 2.0) > 1e-6 else (low, middle)
    for epsilon in (0.0, 0.1, 0.3, 0.7, 1.5):
        assert implied_delta(sampled, epsilon) >= delta_of(high, epsilon)
        if epsilon < 1.0:  # further out the points are sparse, and the chord between two is above the curve
            assert implied_delta(sampled, epsilon) <= 1.2 * delta_of(high, epsilon)
