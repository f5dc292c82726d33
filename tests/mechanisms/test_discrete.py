"""Integer noise: what is not whole is impossible, integers stay in their range, and the price covers the exact profile."""

import math

import numpy as np
import pytest
from mechanisms.profiles import exact_delta

import dpkit
from dpkit import DiscreteGaussian, DiscreteLaplace, InvalidValueError

NEVER = -math.inf
DISCRETE = pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=2.0), DiscreteGaussian(scale=2.0)])


@DISCRETE
def test_what_is_not_whole_is_impossible(mechanism):
    found = mechanism.log_density([0.5, 1.0, math.nan, math.inf, -math.inf, -2.5], 1)
    assert np.isneginf(found).tolist() == [True, False, True, True, True, True]
    assert float(mechanism.log_density([1.0, 0.5], [1, 2])) == NEVER
    assert float(mechanism.log_density([1.0, 3.0], [1.0, 2.0])) == float(mechanism.log_density([1, 3], [1, 2]))
    with pytest.raises(InvalidValueError, match="integers"):
        mechanism.log_density(1, 0.5)


@DISCRETE
def test_large_integers_keep_their_distance(mechanism):
    """float64 would see no difference between them."""
    for large in (2**60, -(2**60)):
        assert float(mechanism.log_density(large + 3, large)) == float(mechanism.log_density(3, 0))
    assert float(mechanism.log_density(np.uint64(2**60 + 3), np.uint64(2**60))) == float(mechanism.log_density(3, 0))


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e12])
@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_integer_mechanisms_work_from_tiny_to_huge_scales(kind, scale):
    mechanism = kind(scale=scale)
    value = np.array([0, 2**61, -(2**61)])
    gap = np.asarray(mechanism.release_many(value, 1000, np.random.default_rng(3))) - value
    assert np.count_nonzero(np.abs(gap).max(axis=1) > mechanism.accuracy(3, 1 - 1e-9)) == 0
    assert float(mechanism.log_density(0, 0)) <= 0.0
    assert mechanism.event(at=dpkit.l1(1)).ratio >= 1 / scale


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_no_integer_release_leaves_its_range(kind):
    edge = kind(scale=2.0**40)
    released = edge.release(np.full(1000, 2**61), np.random.default_rng(4))
    assert np.abs(released).max() <= 2**62
    with pytest.raises(InvalidValueError, match="larger magnitude"):
        edge.release([2**61 + 1])


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=1.5), DiscreteGaussian(scale=1.5), DiscreteGaussian(scale=0.6)])
@pytest.mark.parametrize("accountant", ["zcdp", "rdp", "best"])
def test_integer_noise_never_costs_more_than_it_is_priced_at(mechanism, shift, accountant):
    outputs = np.arange(-200, 201)
    log_p, log_q = mechanism.log_density(outputs, 0), mechanism.log_density(outputs, shift)
    guarantee = dpkit.account(mechanism.event(at=dpkit.l1(shift)), accountant)
    for delta in (1e-2, 1e-4, 1e-8):
        epsilon = guarantee.epsilon(delta=delta)
        assert exact_delta(log_p, log_q, epsilon) <= delta
        assert exact_delta(log_q, log_p, epsilon) <= delta


def test_discrete_laplace_is_as_bad_as_any_pure_release_and_is_priced_so():
    mechanism, outputs = DiscreteLaplace(scale=2.0), np.arange(-300, 301)
    log_p, log_q = mechanism.log_density(outputs, 0), mechanism.log_density(outputs, 1)
    worst = dpkit.account(mechanism.event(at=dpkit.l1(1)), "advanced")
    for epsilon in (0.1, 0.3, 0.45):
        assert worst.delta(epsilon=epsilon) == pytest.approx(exact_delta(log_p, log_q, epsilon), rel=1e-6)
    continuous = dpkit.account(dpkit.Repeat(event=dpkit.LaplaceEvent(ratio=0.5), times=40), "rdp").epsilon(delta=1e-6)
    discrete = dpkit.account(dpkit.Repeat(event=mechanism.event(at=dpkit.l1(1)), times=40), "rdp").epsilon(delta=1e-6)
    assert discrete > continuous


def test_scalar_counts_are_stamped_and_unsigned_ones_do_not_wrap():
    for mechanism in (DiscreteLaplace(scale=1.0), DiscreteGaussian(scale=1.0)):
        assert getattr(mechanism.release(3, np.random.default_rng(0)), "simulation", False)
        small = mechanism.log_density(np.array([3], np.uint8), np.array([5], np.uint8))
        assert small == pytest.approx(mechanism.log_density(np.array([3]), np.array([5])))
