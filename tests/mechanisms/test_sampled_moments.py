"""Moments of a sample's likelihood ratio at complex powers lie within their stated errors, and fall as they are said to."""

import math

import mpmath as mp
import numpy as np
import pytest

import dpkit
from dpkit import GaussianEvent, Repeat, Subsample, account
from dpkit.mechanisms.sampled_moments import quadrature_nodes, rough_log_moment, sampled_decay, sampled_log_moment
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianCurve


def exact_excess(rate, ratio, power):
    """E[r^s] - 1 in 30 digits, by a trapezoid rule several times as fine and as wide as ours."""
    with mp.workdps(30):
        q, m, s, step = mp.mpf(rate), mp.mpf(ratio), mp.mpc(power), mp.mpf(1) / 24

        def integrand(w):
            odds = mp.expm1(m * w - m * m / 2)
            return mp.npdf(w) * (mp.exp(s * mp.log(1 + q * odds)) - 1 - s * q * odds)

        low, high = -18, max(power.real, 1.0) * ratio + 15.0
        return step * mp.fsum(integrand(low + step * i) for i in range(int((high - low) * 24)))


CASES = [(0.01, 1.0, 8.0), (0.001, 1.6, 3.0), (0.3, 0.5, 2.5), (0.9, 0.7, -3.0), (0.02, 0.4, -30.0), (1e-4, 0.1, 1.2)]


@pytest.mark.parametrize(("rate", "ratio", "power"), CASES)
def test_moments_lie_within_their_stated_errors(rate, ratio, power):
    spread = rate * math.sqrt(math.expm1(ratio * ratio))
    heights = np.array([0.0, 0.5, 2.0]) * min(1.0 / spread, 30.0)
    values, errors = sampled_log_moment(rate, ratio, power, heights)
    for height, value, error in zip(heights, values, errors, strict=True):
        exact = exact_excess(rate, ratio, complex(power, height))
        assert abs(mp.expm1(mp.mpc(value)) - exact) <= mp.expm1(error) * abs(1 + exact)
        assert error < 1e-10 * abs(value)


def test_equally_spaced_heights_are_summed_faster_within_the_error_that_is_allowed():
    heights = 0.7 * np.arange(300)
    slow, blur = sampled_log_moment(0.01, 1.0, 6.0, heights)
    fast, error = sampled_log_moment(0.01, 1.0, 6.0, heights, error=1e-10)
    assert np.all(np.abs(np.expm1(fast - slow)) <= error + blur)
    assert np.all(error < 1e-10)
    assert np.any(fast != slow)


@pytest.mark.parametrize(("rate", "ratio", "power"), CASES)
def test_fewer_nodes_stay_within_the_error_that_is_allowed(rate, ratio, power):
    heights = np.array([0.0, 0.5, 2.0]) * min(1.0 / (rate * math.sqrt(math.expm1(ratio * ratio))), 30.0)
    values, errors = sampled_log_moment(rate, ratio, power, heights, error=1e-9)
    for height, value, error in zip(heights, values, errors, strict=True):
        exact = exact_excess(rate, ratio, complex(power, height))
        assert abs(mp.expm1(mp.mpc(value)) - exact) <= mp.expm1(error) * abs(1 + exact)
        assert error < 1e-9


@pytest.mark.parametrize(
    ("rate", "ratio"), [(0.001, 1.0), (0.3, 0.001), (0.9, 1.0), (1e-8, 3.0), (1e-3, 1.7), (5.43e-6, 1.0 / 12.4)]
)
def test_rough_moments_are_near_enough_to_search_by(rate, ratio):
    tilts = np.geomspace(1e-2, 4e3, 25)
    certified = tilts * SubsampledGaussianCurve(rate=rate, ratio=ratio).at(1.0 + tilts)
    assert rough_log_moment(rate, ratio, 1.0 + tilts) == pytest.approx(certified, rel=0.01)


@pytest.mark.parametrize(("rate", "ratio", "power"), CASES)
def test_moduli_fall_at_least_as_far_as_is_said(rate, ratio, power):
    spread = rate * math.sqrt(math.expm1(ratio * ratio))
    heights = np.linspace(0.01, 1.0, 200) * min(60.0 / spread, 300.0)
    known = sampled_log_moment(rate, ratio, power, np.concatenate(([0.0], heights)))
    falls = known[0].real[1:] - known[0].real[0]
    said = [sampled_decay(rate, ratio, power, float(height)) for height in heights]
    seen = np.maximum.accumulate(falls[::-1])[::-1]  # what is said holds for all that is higher
    assert np.all(seen <= np.array(said) + 1e-12)
    assert said[-1] < said[0] < 0.0


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.1])
@pytest.mark.parametrize(("ratio", "times"), [(1.0, 100), (1.6, 1000), (0.5, 10_000)])
def test_training_runs_are_known_to_a_ten_thousandth(rate, ratio, times):
    guarantee = account(Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=ratio)), times=times), "pld")
    lower, upper = guarantee.interval(delta=1e-6)
    assert upper - lower <= 1e-4


def test_a_moment_that_rounding_hides_is_known_to_be_small():
    """Nothing was known of it but that it is at most that on the axis: 20 steps read 0.02330, and are 0.02321869."""
    heights = 85.5 * np.arange(64)
    values, errors = sampled_log_moment(0.020413667315695914, 0.07871636163467517, 475.16, heights)
    assert np.all(np.isfinite(errors))
    assert float(values[-1].real) < -24.0
    sampled = dpkit.Subsample(rate=0.020413667315695914, event=dpkit.GaussianEvent(ratio=0.07871636163467517))
    low, high = dpkit.account(dpkit.Repeat(event=sampled, times=20), "pld").interval(delta=1.7299383784499998e-06)
    assert low <= 0.02321869359
    assert high >= 0.02321869350
    assert high - low < 1e-8


@pytest.mark.parametrize(("power", "height"), [(13.37, 2315.0), (-16.3, 4074.0)])
def test_a_bent_path_needs_few_nodes_and_keeps_its_error(power, height):
    rate, ratio, error = 1e-5, 1.0, 1e-14
    known = quadrature_nodes(rate, ratio, power, height, error)
    assert known is not None
    assert known.logs.size < 2000
    values, errors = sampled_log_moment(rate, ratio, power, np.array([0.0, height]), error=error)
    with mp.workdps(25):
        step, s, q = mp.mpf(1) / 96, mp.mpc(power, height), mp.mpf(rate)
        places = [-12 + step * i for i in range(int(96 * (max(power, 1.0) + 22)))]
        odds = [q * mp.expm1(w - mp.mpf(1) / 2) for w in places]
        exact = step * mp.fsum(mp.npdf(w) * (mp.exp(s * mp.log1p(o)) - 1 - s * o) for w, o in zip(places, odds, strict=True))
        assert abs(mp.expm1(mp.mpc(complex(values[1]))) - exact) <= errors[1]
    assert errors[1] < 1e-14


def test_large_losses_that_are_rare_make_moduli_fall():
    """At a thousandth of its peak a density holds next to nothing of them: cut there, no such contour ended."""
    rate, ratio, power, times = 6.3e-5, 1.0 / 0.403, 1.52, 75_901_339
    for height in (0.5, 2.0, 20.0):
        found = sampled_log_moment(rate, ratio, power, np.array([0.0, height]))
        exact = float(found[0].real[1] - found[0].real[0])
        said = sampled_decay(rate, ratio, power, height)
        assert exact <= said * (1.0 - 1e-9)
    assert times * said < -1000.0


def test_a_steep_power_of_a_rare_sample_is_summed_where_it_counts():
    """Far out the power would overflow, and there is nothing of it."""
    value, error = sampled_log_moment(1.36e-5, 1.0 / 3.26, 171.4, np.zeros(1))
    with mp.workdps(40):
        q, m, p = mp.mpf(1.36e-5), mp.mpf(1.0 / 3.26), mp.mpf(171.4)
        exact = mp.quad(lambda w: mp.npdf(w) * (1 - q + q * mp.exp(m * w - m * m / 2)) ** p, [-20, -5, 0, 5, 10, 20, 40, 80])
        assert abs(value[0].real - float(mp.log(exact))) <= error[0] < 1e-12
