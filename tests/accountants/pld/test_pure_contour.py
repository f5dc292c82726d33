"""One pure loss, however often: against the binomial sum, incomplete beta functions at many digits, and the Gaussian limit."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import ndtri

from dpkit import LaplaceEvent, PureEvent, Repeat, account
from dpkit.accountants.pld.composition import tuned
from dpkit.accountants.pld.moments import alias_period
from dpkit.accountants.pld.pure_contour import pure_contour_reader
from dpkit.privacy.gaussian_dp import gaussian_epsilon
from dpkit.privacy.loss_pairs import PurePair


def binomial_delta(loss: float, count: int, epsilon: float) -> mpf:
    """P(Bin(k, p) >= j) - e^epsilon P(Bin(k, 1 - p) >= j), term by term at 50 digits."""
    with mp.workdps(50):
        up = 1 / (1 + mp.exp(-mpf(loss)))
        total = mpf(0)
        for wins in range(count, -1, -1):
            gain = 1 - mp.exp(mpf(epsilon) - (2 * wins - count) * mpf(loss))
            if gain <= 0:
                break
            total += mp.binomial(count, wins) * up**wins * (1 - up) ** (count - wins) * gain
        return total


@pytest.mark.parametrize(
    ("loss", "count", "delta"), [(0.1, 400, 1e-6), (0.01, 900, 1e-3), (0.02, 2000, 1e-20), (0.5, 300, 1e-9)]
)
def test_the_contour_brackets_the_binomial_sum(loss: float, count: int, delta: float) -> None:
    terms = ((PurePair(epsilon=loss).forward(), count),)
    moments, tilt, epsilon = tuned(terms, delta)
    period = alias_period(moments, tilt=tilt, epsilon=epsilon, delta=delta)
    reader = pure_contour_reader(terms, moments, tilt=tilt, period=period, epsilon=epsilon)
    assert reader is not None
    for at in (0.98 * epsilon, epsilon, epsilon + 0.3 * loss, epsilon + loss):
        truth = binomial_delta(loss, count, at)
        upper = reader.upper(at)[0]
        assert reader.lower(at) <= truth <= upper
        assert upper <= truth * (1 + mpf(1e-7))


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-30])
@pytest.mark.parametrize(
    ("loss", "count"),
    [
        (1e-12, 10**18),
        (1e-9, 10**18),
        (1e-6, 10**12),
        (1e-3, 10**7),
        (0.1, 2 * 10**6),
        (1.0, 10**9),
        (10.0, 10**6),
        (10.0, 10**9),
        (10.0, 10**18),
    ],
)
def test_equal_pure_losses_are_known_to_six_digits_whatever_their_number(loss: float, count: int, delta: float) -> None:
    low, high = account(Repeat(event=PureEvent(epsilon=loss), times=count), "pld").interval(delta=delta)
    assert 0.0 <= low <= high
    assert high - low <= max(1e-6 * high, 1e-9)
    # randomised response is dominated by Gaussian noise of the same second-order loss, up to its fourth order
    if loss <= 1e-6:
        limit = gaussian_epsilon(loss * math.sqrt(count), delta=delta)
        assert abs(high - limit) <= 1e-6 * limit + 1e-9


def test_a_trillion_millionths_cost_what_they_do() -> None:
    low, high = account(Repeat(event=PureEvent(epsilon=1e-6), times=10**12), "pld").interval(delta=1e-6)
    assert low <= 4.88655411 <= high + 1e-7
    assert high < 4.8865542


def test_equal_laplace_losses_are_known_to_six_digits_too() -> None:
    for ratio, count, delta in [(1e-6, 10**12, 1e-6), (0.1, 10**6, 1e-30), (1.0, 10**9, 1e-3), (10.0, 10**18, 1e-6)]:
        low, high = account(Repeat(event=LaplaceEvent(ratio=ratio), times=count), "pld").interval(delta=delta)
        assert high - low <= max(1e-6 * high, 1e-9)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-30])
@pytest.mark.parametrize(("ratio", "count"), [(1.0, 10**14), (3.0, 10**10), (4.0, 10**12), (10.0, 10**11)])
def test_many_large_laplace_losses_are_near_the_law_of_large_sums(ratio: float, count: int, delta: float) -> None:
    low, high = account(Repeat(event=LaplaceEvent(ratio=ratio), times=count), "pld").interval(delta=delta)
    assert high - low <= 1e-9 * high
    # deviations of a hundred thousand and more: e^(epsilon - L) is hardly ever between 0 and 1
    rest = math.exp(-ratio)
    mean, spread = count * (ratio + rest - 1.0), math.sqrt(count * ((1.0 - rest) * (3.0 + rest) - 4.0 * ratio * rest))
    assert abs((high - mean) / spread + ndtri(delta)) < 2e-3


@pytest.mark.parametrize("delta", [1e-6, 1e-12, 1e-22])
def test_a_million_large_losses_of_which_few_flip_are_bracketed(delta: float) -> None:
    low, high = account(Repeat(event=PureEvent(epsilon=10.0), times=10**6), "pld").interval(delta=delta)
    assert binomial_delta(10.0, 10**6, high) <= delta <= binomial_delta(10.0, 10**6, low)


def test_one_count_more_than_the_binomial_takes_costs_hardly_more() -> None:
    prices = [
        account(Repeat(event=PureEvent(epsilon=0.001), times=10**6 + more), "pld").epsilon(delta=1e-6) for more in (0, 1, 2)
    ]
    assert prices == sorted(prices)
    assert np.ptp(prices) < 1e-4
