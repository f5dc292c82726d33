"""The Gaussian profile and its inverse against 60 digits."""

import math

import pytest
from mpmath import mp, mpf

from dpkit.core.conversions import gaussian_delta, gaussian_epsilon

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
