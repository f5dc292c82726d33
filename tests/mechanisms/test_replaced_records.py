"""The pair of a replaced record against arbitrary precision, brute force in the plane, and a peer."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from mpmath import mp, mpf

import dpkit
from dpkit import GaussianEvent, InvalidValueError, Neighbours, NoIntervalError, Repeat, Subsample, account
from dpkit.mechanisms.replaced_records import ReplacedGaussianCurve, ReplacedGaussianPair

mp.dps = 30
CASES = [(0.01, 1.0, 2.0), (0.5, 1.0, 2.0), (0.1, 11.0, 1.0), (0.9, 0.3, 0.3), (0.001, 5.0, 10.0), (0.1, 1.0, 0.01)]


def exact_profile(rate: float, absent: float, ratio: float, epsilon: float) -> mpf:
    """P(w > t) - e^epsilon Q(w > t) at the t where the densities meet; below 0 with the roles and sides exchanged."""
    q, x, y, odds = mpf(rate), mpf(absent), mpf(absent) - mpf(ratio), mp.exp(epsilon)

    def loss(w: mpf) -> mpf:
        one, other = (mp.log(1 - q + q * mp.exp(m * w - m * m / 2)) for m in (x, y))
        return one - other

    low, high = (x + y) / 2, x + 60
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) < abs(epsilon) else (low, middle)
    tails = [mp.ncdf(m - low) for m in (mpf(0), x, y)] if epsilon >= 0 else [mp.ncdf(low - m) for m in (mpf(0), y, x)]
    return (1 - q) * (1 - odds) * tails[0] + q * (tails[1] - odds * tails[2])


@pytest.mark.parametrize(("rate", "absent", "ratio"), CASES)
def test_the_profile_is_within_its_error_of_arbitrary_precision(rate: float, absent: float, ratio: float) -> None:
    epsilons = np.array([-5.0, -1.0, -0.1, 0.0, 0.01, 0.1, 0.5, 2.0, 5.0])
    values, errors = ReplacedGaussianPair(rate=rate, absent=absent, ratio=ratio).forward().profile(epsilons)
    for epsilon, value, error in zip(epsilons.tolist(), values.tolist(), errors.tolist(), strict=True):
        exact = exact_profile(rate, absent, ratio, epsilon)
        assert abs(exact - mpf(value)) <= error, epsilon
        assert error <= 1e-8 * value + 1e-290


def plane_profile(rate: float, one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """The same supremum for contributions anywhere in the plane, by a plain sum over a fine grid."""
    axis = np.linspace(-9.0, 9.0, 721)
    across, along = np.meshgrid(axis, axis)

    def density(mean: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * ((across - mean[0]) ** 2 + (along - mean[1]) ** 2)) / (2.0 * math.pi)

    nothing = (1.0 - rate) * density(np.zeros(2))
    excess = nothing + rate * density(one) - math.exp(epsilon) * (nothing + rate * density(other))
    return float(np.sum(np.maximum(excess, 0.0))) * (axis[1] - axis[0]) ** 2


def test_no_records_in_the_plane_are_told_apart_better_than_the_pair_says() -> None:
    generator = np.random.default_rng(22)
    for _ in range(40):
        rate, absent, epsilon = generator.uniform(0.05, 0.95), generator.uniform(0.3, 2.5), generator.uniform(0.0, 1.5)
        one, other = (
            size * np.array([math.cos(a), math.sin(a)]) for size, a in generator.uniform((0, 0), (absent, 6.3), (2, 2))
        )
        apart = float(np.linalg.norm(one - other))
        pair = ReplacedGaussianPair(rate=rate, absent=absent, ratio=min(apart, 2.0 * absent)).forward()
        bound = float(pair.profile(np.array([epsilon]))[0][0])
        assert plane_profile(rate, one, other, epsilon) <= bound * (1.0 + 1e-9) + 1e-9


def test_the_pair_is_the_profile_of_opposite_records_in_the_plane() -> None:
    for rate, absent, epsilon in [(0.2, 1.0, 0.3), (0.7, 2.0, 1.0)]:
        pair = ReplacedGaussianPair(rate=rate, absent=absent, ratio=2.0 * absent).forward()
        found = plane_profile(rate, np.array([absent, 0.0]), np.array([-absent, 0.0]), epsilon)
        assert math.isclose(found, float(pair.profile(np.array([epsilon]))[0][0]), rel_tol=1e-3)


def test_slopes_are_those_of_the_profile() -> None:
    pair = ReplacedGaussianPair(rate=0.3, absent=1.0, ratio=1.5).forward()
    epsilons = np.array([-1.0, -0.2, 0.2, 1.0])
    odds, width = np.exp(epsilons), 1e-5
    above, below = (pair.profile(np.log(odds + side * width))[0] for side in (1.0, -1.0))
    assert np.allclose(pair.slope(epsilons), (below - above) / (2.0 * width), rtol=1e-6)


def test_a_ball_around_zero_agrees_with_a_peer() -> None:
    event = Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=2.0, absent=1.0)), times=100)
    low, high = account(event, "pld", Neighbours.REPLACE_ONE).interval(delta=1e-6)
    assert high - low < 2e-6
    peer = PLDAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE, value_discretization_interval=1e-4)
    peer.compose(dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)), 100)
    assert low <= peer.get_epsilon(1e-6) <= high + 1e-3


def test_records_far_from_nothing_and_near_each_other_cost_more_than_their_distance_says() -> None:
    def epsilon(absent: float) -> float:
        event = Repeat(event=Subsample(rate=0.1, event=GaussianEvent(ratio=1.0, absent=absent)), times=10)
        return account(event, "pld", Neighbours.REPLACE_ONE).epsilon(delta=1e-6)

    near, far = epsilon(1.0), epsilon(11.0)
    # far from nothing everybody sees who is in the sample, and 10 records are as good as not sampled when they are in it
    assert far > near + 0.3
    assert epsilon(0.5) <= near


def test_only_the_ball_is_attained() -> None:
    event = Subsample(rate=0.1, event=GaussianEvent(ratio=1.0, absent=11.0))
    with pytest.raises(NoIntervalError):
        account(event, "pld", Neighbours.REPLACE_ONE).interval(delta=1e-6)


def test_two_records_are_at_most_twice_as_far_apart_as_each_from_nothing() -> None:
    with pytest.raises(InvalidValueError, match="twice"):
        ReplacedGaussianPair(rate=0.1, absent=1.0, ratio=2.1)
    loose = account(Subsample(rate=0.1, event=GaussianEvent(ratio=9.0, absent=1.0)), "pld", Neighbours.REPLACE_ONE)
    tight = account(Subsample(rate=0.1, event=GaussianEvent(ratio=2.0, absent=1.0)), "pld", Neighbours.REPLACE_ONE)
    assert loose.epsilon(delta=1e-6) == tight.epsilon(delta=1e-6)


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 50.0, 99.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-30])
def test_extreme_noise_is_priced_between_nothing_and_the_whole(ratio: float, delta: float) -> None:
    event = GaussianEvent(ratio=ratio, absent=ratio / 2.0)
    sampled = account(Subsample(rate=0.01, event=event), "pld", Neighbours.REPLACE_ONE).epsilon(delta=delta)
    whole = account(event, "pld", Neighbours.REPLACE_ONE).epsilon(delta=delta)
    assert 0.0 <= sampled <= whole * (1.0 + 1e-9) + 1e-9


@pytest.mark.parametrize(("rate", "absent", "ratio"), [(0.1, 1.0, 2.0), (0.3, 2.0, 1.0), (0.01, 0.5, 1.0), (0.9, 1.0, 2.0)])
def test_the_curve_is_above_the_divergences_of_every_pair_of_records(rate, absent, ratio):
    curve = ReplacedGaussianCurve(rate=rate, absent=absent, ratio=ratio)
    orders = np.array([1.05, 1.5, 2.0, 4.0, 16.0, 64.0])
    bounds = curve.at(orders)
    assert np.all(bounds <= 0.5 * orders * ratio**2 * (1 + 1e-9))
    line = np.linspace(-60.0, 200.0, 260_001)

    def log_density(mean):
        return np.logaddexp(np.log1p(-rate) - 0.5 * line**2, np.log(rate) - 0.5 * (line - mean) ** 2) - 0.5 * np.log(2 * np.pi)

    for one in (absent, 0.3 * absent):
        one_law, other_law = log_density(one), log_density(one - min(ratio, 2 * absent))
        if abs(one - min(ratio, 2 * absent)) > absent:
            continue
        for first, second in ((one_law, other_law), (other_law, one_law)):
            for order, bound in zip(orders, bounds, strict=True):
                exponents = order * first + (1 - order) * second
                top = exponents.max()
                found = (top + np.log(np.sum(np.exp(exponents - top)) * (line[1] - line[0]))) / (order - 1)
                assert found <= bound * (1 + 1e-9) + 1e-12


def test_rdp_prices_replaced_records_near_the_exact_price():
    event = dpkit.Repeat(event=dpkit.Subsample(rate=0.01, event=dpkit.GaussianEvent(ratio=2.0, absent=1.0)), times=1000)
    exact, found = (dpkit.account(event, name, dpkit.Neighbours.REPLACE_ONE).epsilon(delta=1e-6) for name in ("pld", "rdp"))
    assert exact <= found <= 1.8 * exact
