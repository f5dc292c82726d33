"""The Gaussian profile and its inverse against 60 digits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws.profile_laws import profile_falls_no_faster_than_the_odds, profile_is_convex_and_decreasing
from mpmath import mp, mpf

from dpkit.privacy.gaussian_dp import gaussian_delta, gaussian_epsilon, gaussian_profile
from dpkit.testing.strategies import examples, log_uniform

mp.dps = 60
MUS = [1e-8, 1e-4, 0.03, 0.5, 0.999, 1.0, 1.001, 3.0, 20.0, 150.0, 1e3]


def exact_delta(mu: float, epsilon: float) -> mpf:
    """Phi(-e/mu + mu/2) - e^e Phi(-e/mu - mu/2), with digits to spare for the cancellation."""
    with mp.workdps(80 + int(0.5 * mu * mu) if mu < 30 else 80):
        m, e = mpf(mu), mpf(epsilon)
        near, far = e / m - m / 2, e / m + m / 2
        return (mp.erfc(near / mp.sqrt(2)) - mp.exp(e) * mp.erfc(far / mp.sqrt(2))) / 2


@pytest.mark.parametrize("mu", MUS)
def test_delta_is_never_below_the_profile_and_hardly_above(mu: float) -> None:
    for spread in (-3.0, -0.5, 0.0, 1.0, 4.0, 10.0, 20.0, 36.0):
        epsilon = mu * (mu / 2.0 + spread)
        if epsilon < 0.0:
            continue
        exact, reported = exact_delta(mu, epsilon), mpf(gaussian_delta(mu, epsilon=epsilon))
        assert exact <= reported <= exact * (1 + mpf(1e-10)) + mpf(1e-320)


@pytest.mark.parametrize("mu", MUS)
def test_delta_at_zero_is_the_total_variation(mu: float) -> None:
    exact = mp.erf(mpf(mu) / 2 / mp.sqrt(2))
    assert exact <= mpf(gaussian_delta(mu, epsilon=0.0)) <= exact * (1 + mpf(1e-13))


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-15, 1e-6, 0.01, 0.5, 0.9])
def test_epsilon_inverts_the_profile_on_the_safe_side(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta=delta)
    assert exact_delta(mu, epsilon) <= mpf(delta)
    if epsilon > 0.0:
        assert exact_delta(mu, epsilon * (1 - 1e-11)) >= mpf(delta) * (1 - mpf(1e-10))


def test_a_profile_without_noise_or_without_loss() -> None:
    assert gaussian_delta(0.0, epsilon=0.0) == 0.0
    assert gaussian_epsilon(0.0, delta=0.0) == 0.0
    assert gaussian_epsilon(1e-8, delta=0.0) == math.inf
    assert gaussian_delta(1e200, epsilon=1.0) == 1.0


@pytest.mark.parametrize(("mu", "epsilon"), [(1e-200, 1e200), (1e-12, 1.0), (1e-300, 1e-290), (1.0, 1e300)])
def test_a_tail_below_the_smallest_float_is_the_smallest_float(mu: float, epsilon: float) -> None:
    assert 0.0 < gaussian_delta(mu, epsilon=epsilon) <= 1e-320


@pytest.mark.parametrize("mu", [1e-160, 1e-12, 1e6, 1e8, 1e100, 1e150])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.999])
def test_extreme_ratios_are_inverted_in_finitely_many_steps(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta=delta)
    assert 0.0 <= epsilon <= mu * (mu / 2.0 + 40.0) * (1.0 + 1e-8)
    assert gaussian_delta(mu, epsilon=epsilon) <= delta


def wide_exact_delta(mu: float, epsilon: float) -> mpf:
    """The profile of a large mu: e^epsilon Phi(-far) by the asymptotic tail where `far` is beyond erfc's working range."""
    with mp.workdps(400):
        m, e = mpf(mu), mpf(epsilon)
        near, far = e / m - m / 2, e / m + m / 2
        second = mp.exp(-near * near / 2) / (far * mp.sqrt(2 * mp.pi)) * (1 - 1 / far**2 + 3 / far**4)
        return mp.erfc(near / mp.sqrt(2)) / 2 - second


@pytest.mark.parametrize("mu", [300.0, 777.7, 1e3, 12_345.6, 1e6, 3e9, 1e15, 1e60, 1e150])
def test_nothing_is_lost_where_epsilon_and_half_the_square_of_mu_cancel(mu: float) -> None:
    for spread in (-2.0, -1e-3, -1e-9, 0.0, 1e-12, 1e-6, 0.1, 1.0, 6.0, 30.0):
        epsilon = mu * (mu / 2.0 + spread)
        exact = wide_exact_delta(mu, epsilon)
        if exact > 0:  # far beyond, one step of epsilon is many standard deviations
            reported = mpf(gaussian_delta(mu, epsilon=epsilon))
            assert exact <= reported <= exact * (1 + mpf(1e-11)) + mpf(1e-320)
            values, errors = gaussian_profile(mu, np.array([epsilon]))
            assert abs(mpf(float(values[0])) - exact) <= mpf(float(errors[0]))


@given(
    mu=st.floats(-8.0, 4.0).map(lambda power: 10.0**power),
    spread=st.one_of(st.floats(-8.0, 37.0), st.floats(-1e-6, 1e-6)),
)
@examples(200)
def test_the_stated_error_of_the_profile_holds_at_every_mu(mu: float, spread: float) -> None:
    epsilon = mu * (mu / 2.0 + spread)
    exact = exact_delta(mu, epsilon) if mu < 1e3 else wide_exact_delta(mu, epsilon)
    values, errors = gaussian_profile(mu, np.array([epsilon]))
    assert abs(mpf(float(values[0])) - exact) <= mpf(float(errors[0]))
    if epsilon >= 0.0:
        assert exact <= mpf(gaussian_delta(mu, epsilon=epsilon)) <= exact * (1 + mpf(1e-10)) + mpf(1e-320)


SETTINGS = examples(80)


@SETTINGS
@given(mu=log_uniform(1e-3, 4.0))
def test_gaussian_profile_is_convex_and_decreasing(mu):
    largest = mu * (mu / 2 + 8)
    profile_is_convex_and_decreasing(lambda epsilon: gaussian_delta(mu, epsilon=epsilon), largest=largest, tolerance=1e-10)
    profile_falls_no_faster_than_the_odds(lambda epsilon: gaussian_delta(mu, epsilon=epsilon), largest=largest)
