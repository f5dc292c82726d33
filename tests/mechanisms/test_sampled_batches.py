"""Fixed and cut batches: against brute force over worlds, limits that are known, and a peer."""

import itertools
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant

from dpkit import (
    FixedBatch,
    GaussianEvent,
    Neighbours,
    NoIntervalError,
    PureEvent,
    Repeat,
    Subsample,
    UnpricedEventError,
    account,
)
from dpkit.mechanisms.sampled_batches import EitherPair, EnvelopeCurve, cut_share
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianCurve, SubsampledGaussianPair

REPLACE = Neighbours.REPLACE_ONE


def batch(size: int, population: int, ratio: float = 1.0, times: int = 1) -> Repeat:
    return Repeat(event=FixedBatch(size=size, population=population, event=GaussianEvent(ratio=ratio)), times=times)


def test_one_batch_has_the_profile_of_its_theorem() -> None:
    """Records 0 and `ratio` on a line: a mixture against noise alone, whose best set is a half-line."""
    from scipy.special import ndtr

    share, ratio, epsilon = 0.2, 1.5, 0.4
    place = (math.log1p(math.expm1(epsilon) / share) + ratio**2 / 2.0) / ratio
    mixture = (1.0 - share) * ndtr(-place) + share * ndtr(ratio - place)
    found = account(batch(2, 10, ratio), "pld", REPLACE).delta(epsilon=epsilon)
    assert math.isclose(found, mixture - math.exp(epsilon) * ndtr(-place), rel_tol=1e-9)


def test_rounds_of_one_hot_records_are_not_told_apart_better_than_is_priced() -> None:
    """The trap of the one-round pair: a record, the one that replaces it and all others in the corners of a triangle."""
    generator = np.random.default_rng(5)
    share, ratio, rounds, count, epsilon = 0.2, 1.5, 20, 60_000, 1.0
    one, other = ratio * np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)]])
    losses = np.zeros(count)
    for _ in range(rounds):
        seen = generator.standard_normal((count, 2)) + one * (generator.random(count) < share)[:, None]
        weights = [np.log1p(share * np.expm1(seen @ place - ratio**2 / 2.0)) for place in (one, other)]
        losses += weights[0] - weights[1]
    shown = float(np.mean(np.maximum(-np.expm1(epsilon - losses), 0.0)))
    priced = account(batch(2, 10, ratio, rounds), "pld", REPLACE).delta(epsilon=epsilon)
    unsound = account(
        Repeat(event=Subsample(rate=share, event=GaussianEvent(ratio=ratio)), times=rounds), "pld", Neighbours.ADD_REMOVE
    ).delta(epsilon=epsilon)
    assert 0.40 < shown < 0.43
    assert unsound < shown - 0.01
    assert priced > shown


@pytest.mark.parametrize("accountant", ["pld", "rdp", "best"])
def test_the_sizes_at_the_ends_are_nothing_and_the_event(accountant: str) -> None:
    whole = account(GaussianEvent(ratio=1.0), accountant, REPLACE).epsilon(delta=1e-6)
    assert account(batch(0, 10), accountant, REPLACE).epsilon(delta=1e-6) == 0.0
    assert account(batch(10, 10), accountant, REPLACE).epsilon(delta=1e-6) == whole
    prices = [account(batch(size, 10), accountant, REPLACE).epsilon(delta=1e-6) for size in (1, 3, 9)]
    assert prices == sorted(prices)
    assert prices[-1] <= whole * (1.0 + 1e-9) + (0.2 if accountant == "rdp" else 0.0)


def test_the_renyi_bound_is_never_below_the_loss_distribution() -> None:
    for size, ratio, times, delta in itertools.product((1, 30), (0.5, 2.0), (50,), (1e-3, 1e-12)):
        event = batch(size, 100, ratio, times)
        tight = account(event, "pld", REPLACE).epsilon(delta=delta)
        assert tight <= account(event, "rdp", REPLACE).epsilon(delta=delta) * (1.0 + 1e-9)


def test_the_envelope_of_a_curve_is_that_of_its_moments() -> None:
    curve = SubsampledGaussianCurve(rate=0.1, ratio=1.0)
    orders = np.array([1.5, 4.0, 30.0])
    moments = np.exp((orders - 1.0) * curve.at(orders))
    assert np.allclose(EnvelopeCurve(curve=curve).at(orders), np.log(2.0 * moments - 1.0) / (orders - 1.0), rtol=1e-12)


def test_batches_of_pure_losses_are_amplified() -> None:
    event = FixedBatch(size=1, population=10, event=PureEvent(epsilon=1.0))
    assert account(event, "pure", REPLACE).epsilon(delta=0.0) >= math.log1p(0.1 * math.expm1(1.0))
    assert account(event, "pure", REPLACE).epsilon(delta=0.0) <= math.log1p(0.1 * math.expm1(1.0)) * (1.0 + 1e-12)


def test_batches_of_a_fixed_size_have_no_price_under_add_remove_and_no_lower_end() -> None:
    with pytest.raises(UnpricedEventError, match="no fixed size"):
        account(batch(1, 10), "best", Neighbours.ADD_REMOVE)
    with pytest.raises(NoIntervalError):
        account(batch(1, 10), "pld", REPLACE).interval(delta=1e-6)


def cut(at_most: int, population: int, times: int = 1) -> Repeat:
    sample = Subsample(rate=0.01, event=GaussianEvent(ratio=1.0), at_most=at_most, population=population)
    return Repeat(event=sample, times=times)


def test_how_often_a_sample_is_cut_is_a_binomial_tail() -> None:
    for at_most, population in [(1, 2), (3, 9), (9, 9), (5, 40)]:
        sample = Subsample(rate=0.3, event=GaussianEvent(ratio=1.0), at_most=at_most, population=population)
        others = population - 1
        exact = sum(math.comb(others, k) * 0.3**k * 0.7 ** (others - k) for k in range(at_most, others + 1))
        assert exact <= cut_share(sample) <= exact * (1.0 + 1e-8) + 1e-299


def test_a_sample_that_is_never_cut_is_a_poisson_sample_and_cutting_costs() -> None:
    plain = account(Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=1.0)), times=100), "pld").epsilon(delta=1e-6)
    prices = [account(cut(at_most, 1000, 100), "pld").epsilon(delta=1e-6) for at_most in (1000, 60, 10)]
    assert prices[0] == plain
    assert math.isclose(prices[1], plain, rel_tol=1e-4)
    assert prices == sorted(prices)
    twice = account(Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=2.0)), times=100), "pld").epsilon(delta=1e-6)
    assert prices[-1] <= twice * (1.0 + 1e-9)


def test_cut_samples_are_priced_near_a_peer() -> None:
    peer = PLDAccountant(value_discretization_interval=1e-3)
    peer.compose(dp_accounting.TruncatedSubsampledGaussianDpEvent(10_000, 0.01, 150, 1.0), 200)
    assert math.isclose(account(cut(150, 10_000, 200), "pld").epsilon(delta=1e-6), peer.get_epsilon(1e-6), rel_tol=5e-3)


def test_cut_samples_under_replace_one_and_by_renyi() -> None:
    assert account(cut(150, 10_000, 50), "rdp").epsilon(delta=1e-6) > account(cut(150, 10_000, 50), "pld").epsilon(delta=1e-6)
    ball = GaussianEvent(ratio=2.0, absent=1.0)
    plain = account(Repeat(event=Subsample(rate=0.01, event=ball), times=50), "pld", REPLACE).epsilon(delta=1e-6)
    held = Repeat(event=Subsample(rate=0.01, event=ball, at_most=110, population=10_000), times=50)
    assert account(held, "pld", REPLACE).epsilon(delta=1e-6) > plain


def test_either_pair_has_the_weighted_profile_in_both_directions() -> None:
    one, other = (SubsampledGaussianPair(rate=0.1, ratio=ratio) for ratio in (1.0, 2.0))
    either = EitherPair(weight=0.25, usual=one, seldom=other)
    epsilons = np.array([-1.0, 0.1, 2.0])
    for of in (lambda pair: pair.forward(), lambda pair: pair.backward()):
        expected = 0.75 * of(one).profile(epsilons)[0] + 0.25 * of(other).profile(epsilons)[0]
        assert np.allclose(of(either).profile(epsilons)[0], expected, rtol=1e-13)


def test_what_cannot_move_costs_nothing_in_any_sample() -> None:
    still, at_zero = GaussianEvent(ratio=0.0, absent=1.0), GaussianEvent(ratio=1.0, absent=0.0)
    for event in (
        Subsample(rate=0.1, event=still),
        Subsample(rate=0.1, event=at_zero),
        Subsample(rate=0.1, event=still, at_most=2, population=9),
        FixedBatch(size=1, population=3, event=still),
    ):
        assert account(event, "pld", REPLACE).epsilon(delta=1e-9) == 0.0


def test_populations_beyond_floats_are_taken_to_be_cut_always() -> None:
    event = Subsample(rate=0.1, event=GaussianEvent(ratio=1.0), at_most=5, population=10**400)
    assert cut_share(event) == 1.0
    whole = account(Subsample(rate=0.1, event=GaussianEvent(ratio=2.0)), "pld").epsilon(delta=1e-6)
    assert math.isclose(account(event, "pld").epsilon(delta=1e-6), whole, rel_tol=1e-9)
