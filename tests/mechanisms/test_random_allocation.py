"""Random allocation against quadrature for few steps, simulation for many, Poisson samples, and limits that are known."""

import math

import numpy as np
import pytest

import dpkit
from dpkit import GaussianEvent, LaplaceEvent, Neighbours, NoIntervalError, RandomAllocation, Repeat, Subsample, account
from dpkit.mechanisms.random_allocation import AllocationPair

EPSILONS = np.array([-1.0, -0.2, 0.05, 0.3, 1.0, 2.0])


def allocated(ratio: float, steps: int, participations: int = 1) -> RandomAllocation:
    return RandomAllocation(event=GaussianEvent(ratio=ratio), steps=steps, participations=participations)


def by_quadrature(ratio: float, epsilon: float, *, leaving: bool) -> float:
    """Two steps: a sum over a fine grid of the plane, exact to rounding where it is smooth and to 1e-7 at the kink."""
    places = np.linspace(-11.0, 11.0 + ratio, 3001)
    weights = np.exp(-0.5 * places**2) * (places[1] - places[0]) / math.sqrt(2.0 * math.pi)
    ratios = np.exp(ratio * places - 0.5 * ratio**2)
    means = 0.5 * (ratios[:, None] + ratios[None, :])
    excess = 1.0 - math.exp(epsilon) * means if leaving else means - math.exp(epsilon)
    return float(weights @ np.maximum(excess, 0.0) @ weights)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 2.0])
def test_two_steps_are_as_quadrature_says(ratio: float) -> None:
    pair = AllocationPair(ratio=ratio, steps=2)
    for leaving, direction in ((False, pair.forward()), (True, pair.backward())):
        epsilons = EPSILONS * min(1.0, 2.0 * ratio)
        values, errors = direction.profile(epsilons)
        for epsilon, value, error in zip(epsilons.tolist(), values.tolist(), errors.tolist(), strict=True):
            assert abs(value - by_quadrature(ratio, epsilon, leaving=leaving)) <= error + 2e-7
            assert error <= 5e-5


def test_bounds_enclose_each_other_and_slopes_are_those_of_the_lower_one() -> None:
    pair = AllocationPair(ratio=1.0, steps=20)
    epsilons = np.linspace(-0.6, 0.9, 13)
    odds, width = np.exp(epsilons), 1e-4
    for direction in (pair.forward(), pair.backward()):
        above, below = direction.above(), direction.below()
        assert np.all(below.profile(epsilons)[0] <= above.profile(epsilons)[0])
        higher, lower = (below.profile(np.log(odds + side * width))[0] for side in (1.0, -1.0))
        assert np.allclose(below.slope(epsilons), (lower - higher) / (2.0 * width), atol=2e-3)


def test_many_steps_are_as_a_simulation_says() -> None:
    generator = np.random.default_rng(22)
    steps, ratio, count = 100, 1.25, 40_000
    means = np.exp(ratio * generator.standard_normal((count, steps)) - 0.5 * ratio**2).mean(axis=1)
    pair = AllocationPair(ratio=ratio, steps=steps)
    for epsilon in (-0.2, 0.0, 0.3):
        odds = math.exp(epsilon)
        for direction, gains in ((pair.forward(), means - odds), (pair.backward(), 1.0 - odds * means)):
            gains = np.maximum(gains, 0.0)
            off = 6.0 * float(np.std(gains)) / math.sqrt(count)
            value, error = direction.profile(np.array([epsilon]))
            assert abs(float(value[0]) - float(np.mean(gains))) <= off + float(error[0])


@pytest.mark.parametrize(("sigma", "truth"), [(0.6, 2.0683854), (0.8, 0.4500365), (1.0, 0.1717278)])
def test_an_epoch_of_a_thousand_steps_is_certified_and_cheaper_than_poisson(sigma: float, truth: float) -> None:
    low, high = account(allocated(1.0 / sigma, 1000), "pld").interval(delta=1e-6)
    assert low <= truth + 1e-6
    assert high >= truth - 1e-6
    assert 0.0 < high - low < 1e-5
    poisson = Repeat(event=Subsample(rate=1e-3, event=GaussianEvent(ratio=1.0 / sigma)), times=1000)
    assert high < account(poisson, "pld").epsilon(delta=1e-6)


def test_epochs_compose_from_both_sides_and_cost_more_than_one() -> None:
    one = account(allocated(1.0, 100), "pld").epsilon(delta=1e-6)
    low, high = account(Repeat(event=allocated(1.0, 100), times=2), "pld").interval(delta=1e-6)
    assert one < low < high < 2.0 * one
    assert high - low < 1e-4


def test_in_all_steps_is_every_step_and_in_one_of_one_is_the_event() -> None:
    for accountant in ("pld", "zcdp", "best"):
        every = account(Repeat(event=GaussianEvent(ratio=0.3), times=7), accountant).epsilon(delta=1e-6)
        assert account(allocated(0.3, 7, 7), accountant).epsilon(delta=1e-6) == every
        assert account(allocated(0.3, 7, 0), accountant).epsilon(delta=1e-6) == 0.0
        once = account(GaussianEvent(ratio=0.3), accountant).epsilon(delta=1e-6)
        assert account(allocated(0.3, 1), accountant).epsilon(delta=1e-6) == once


def test_several_participations_cost_as_blocks_and_have_no_lower_end() -> None:
    several = account(allocated(1.0, 100, 3), "pld")
    blocks = account(Repeat(event=allocated(1.0, 33), times=3), "pld").epsilon(delta=1e-6)
    assert several.epsilon(delta=1e-6) == blocks
    assert blocks < account(Repeat(event=GaussianEvent(ratio=1.0), times=3), "pld").epsilon(delta=1e-6)
    with pytest.raises(NoIntervalError):
        several.interval(delta=1e-6)


def test_more_steps_cost_less_and_more_noise_too() -> None:
    by_steps = [account(allocated(1.0, steps), "pld").epsilon(delta=1e-5) for steps in (2, 10, 300)]
    assert by_steps == sorted(by_steps, reverse=True)
    by_noise = [account(allocated(ratio, 50), "pld").epsilon(delta=1e-5) for ratio in (0.2, 1.0, 3.0)]
    assert by_noise == sorted(by_noise)


@pytest.mark.parametrize(
    ("ratio", "steps"), [(1e-9, 10), (1e-3, 10), (0.01, 10**6), (5.0, 1000), (50.0, 10), (1e4, 10), (1.0, 10**30)]
)
@pytest.mark.parametrize("delta", [1e-2, 1e-30])
def test_extreme_allocations_are_never_dearer_than_one_step_that_is_told(ratio: float, steps: int, delta: float) -> None:
    told = account(GaussianEvent(ratio=ratio), "pld").epsilon(delta=delta)
    assert 0.0 <= account(allocated(ratio, steps), "pld").epsilon(delta=delta) <= told * (1.0 + 1e-9)


def test_other_noises_and_replaced_records_are_priced_as_if_told() -> None:
    laplace = RandomAllocation(event=LaplaceEvent(ratio=1.0), steps=10, participations=2)
    twice = account(Repeat(event=LaplaceEvent(ratio=1.0), times=2), "pure").epsilon(delta=0.0)
    assert account(laplace, "pure").epsilon(delta=0.0) == twice
    ball = GaussianEvent(ratio=2.0, absent=1.0)
    told = account(ball, "pld", Neighbours.REPLACE_ONE).epsilon(delta=1e-6)
    assert account(RandomAllocation(event=ball, steps=9), "pld", Neighbours.REPLACE_ONE).epsilon(delta=1e-6) <= told


def replaced_delta(one, other, odds):
    """H(P||Q) of two steps by quadrature: P is the mean of N((x, 0), I) and N((0, x), I), Q that of y."""
    line = np.linspace(-8.0, 11.0, 950)
    step = line[1] - line[0]

    def density(mean):
        at, none = np.exp(-0.5 * (line - mean) ** 2), np.exp(-0.5 * line**2)
        return 0.5 * (np.outer(at, none) + np.outer(none, at)) / (2 * math.pi)

    return float(np.sum(np.maximum(density(one) - odds * density(other), 0.0))) * step * step


@pytest.mark.parametrize(("absent", "ratio"), [(1.0, 2.0), (1.0, 0.5), (2.0, 4.0)])
def test_a_replaced_record_is_never_priced_below_the_truth(absent, ratio):
    event = dpkit.RandomAllocation(event=dpkit.GaussianEvent(ratio=ratio, absent=absent), steps=2)
    guarantee = dpkit.account(event, "pld", dpkit.Neighbours.REPLACE_ONE)
    for epsilon in (0.0, 0.5, 1.5, 3.0):
        worst = max(replaced_delta(one, one - ratio, math.exp(epsilon)) for one in (absent, absent - 0.25 * ratio, 0.5 * ratio))
        assert worst <= guarantee.delta(epsilon=epsilon) + 1e-6


def test_allocation_amplifies_under_replace_one_and_needs_the_distance_to_an_absent_record():
    def priced(steps, **noise):
        event = dpkit.RandomAllocation(event=dpkit.GaussianEvent(ratio=1.0, **noise), steps=steps)
        return dpkit.account(event, "pld", dpkit.Neighbours.REPLACE_ONE)

    told = dpkit.account(dpkit.GaussianEvent(ratio=1.0), "pld").epsilon(delta=1e-6)
    assert priced(10, absent=0.5).epsilon(delta=1e-6) < 0.5 * told
    assert priced(10, absent=0.5).epsilon(delta=1e-30) < math.inf
    assert priced(10, absent=6.0).epsilon(delta=1e-6) <= told * (1 + 1e-9)  # far from nothing, a step that is told costs less
    with pytest.raises(dpkit.NoIntervalError):
        priced(10, absent=0.5).interval(delta=1e-6)
    with pytest.raises(dpkit.UnpricedEventError, match="absent"):
        priced(10)
