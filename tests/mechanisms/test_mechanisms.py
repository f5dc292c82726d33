"""What holds of every built-in mechanism: events, claims, textbook prices, densities, accuracy, stamps, refusals."""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

import dpkit
from dpkit import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    InvalidValueError,
    Laplace,
    Neighbours,
    RandomizedResponse,
    SymmetricGaussian,
)
from dpkit.contracts.mechanism import Accurate, Mechanism, WhiteBox

SYMMETRIC = np.array([[1.0, 0.5], [0.5, -2.0]])
CASES = {
    "laplace": (Laplace(scale=2.0), np.array([1.0, -3.5, 0.1]), dpkit.l1),
    "gaussian": (Gaussian(scale=2.0), np.array([[1.0, -3.5], [0.1, 7.0]]), dpkit.l2),
    "symmetric": (SymmetricGaussian(scale=2.0), SYMMETRIC, dpkit.frobenius),
    "discrete laplace": (DiscreteLaplace(scale=2.0), np.array([1, -3, 0]), dpkit.l1),
    "discrete gaussian": (DiscreteGaussian(scale=2.0), np.array([1, -3, 0]), dpkit.l2),
    "exponential": (Exponential(scale=2.0), np.array([1.0, 2.0, -1.0, 2.0]), dpkit.linf),
    "permute and flip": (dpkit.NoisyMax(scale=2.0), np.array([1.0, 2.0, -1.0, 2.0]), dpkit.linf),
    "laplace max": (dpkit.NoisyMax(scale=2.0, noise="laplace"), np.array([1.0, 2.0, -1.0, 2.0]), dpkit.linf),
    "above threshold": (dpkit.AboveThreshold(scale=2.0), np.array([1.0, 2.0, -1.0, 2.0]), dpkit.linf),
    "randomized response": (RandomizedResponse(epsilon=1.5, categories=3), np.array([0, 2, 1, 1]), dpkit.records),
}
CHOICES = ("exponential", "permute and flip", "laplace max", "above threshold", "randomized response")
EVERY = pytest.mark.parametrize(("mechanism", "value", "metric"), CASES.values(), ids=CASES)
NOISES = ["laplace", "gaussian", "symmetric"]
REAL = pytest.mark.parametrize(("mechanism", "value", "metric"), [CASES[name] for name in NOISES], ids=NOISES)


@EVERY
def test_it_has_every_part_of_the_interface(mechanism, value, metric):
    assert isinstance(mechanism, Mechanism)
    assert isinstance(mechanism, WhiteBox)
    assert isinstance(mechanism, Accurate)
    assert dataclasses.is_dataclass(mechanism)
    assert not hasattr(mechanism, "__dict__")


@EVERY
def test_a_larger_distance_never_costs_less(mechanism, value, metric):
    prices = []
    for distance in (0, 1, 2, 5):
        guarantee = dpkit.account(mechanism.event(at=metric(distance)), "best")
        prices.append(guarantee.epsilon(delta=1e-6))
    assert prices == sorted(prices)
    assert prices[0] == 0.0
    assert prices[-1] > prices[1]


@EVERY
@pytest.mark.parametrize("neighbours", Neighbours)
def test_claims_are_what_the_loss_rules_give(mechanism, value, metric, neighbours):
    event = mechanism.event(at=metric(1))
    claims = mechanism.claims(at=metric(1), neighbours=neighbours)
    assert claims
    rules = {rule.because: rule for rule in dpkit.default_registry().rules_for(type(event))}
    for claim in claims:
        assert claim.status == "proved"
        assert claim.neighbours is neighbours
        assert claim.loss == rules[claim.because].bound(event)
        assert "the random bits are uniform" in claim.assuming
        assert not isinstance(claim.loss, dpkit.MeanCDP), "mean-concentrated DP does not survive rounding"
        assert dpkit.from_json(dpkit.to_json(claim)) == claim


@EVERY
def test_it_takes_a_list_of_distances_and_refuses_a_strange_one(mechanism, value, metric):
    strange = dpkit.Distance(metric="hamming", value=1.0)
    assert mechanism.event(at=[strange, metric(1)]) == mechanism.event(at=metric(1))
    for wrong in (strange, [], "l1"):
        with pytest.raises(InvalidValueError, match="a distance in"):
            mechanism.event(at=wrong)


@EVERY
def test_a_release_has_the_shape_of_its_law_is_repeatable_and_leaves_its_input_alone(mechanism, value, metric):
    before = value.copy()
    one = mechanism.release(value, np.random.default_rng(5))
    two = mechanism.release(value, np.random.default_rng(5))
    many = mechanism.release_many(value, 7, np.random.default_rng(5))
    assert np.array_equal(one, two)
    assert many.shape == (7, *one.shape)
    assert np.array_equal(value, before)
    if not isinstance(mechanism, Exponential | dpkit.NoisyMax | dpkit.AboveThreshold):
        assert one.shape == value.shape
    assert mechanism.release_many(value, 0, np.random.default_rng(5)).shape == (0, *one.shape)


@EVERY
def test_a_generator_from_outside_stamps_the_output_and_what_comes_of_it(mechanism, value, metric):
    simulated = mechanism.release(value, np.random.default_rng(5))
    assert getattr(simulated, "simulation", False)
    assert getattr(2.0 * simulated + 1.0, "simulation", False)
    secure = mechanism.release(value)
    assert not hasattr(secure, "simulation")
    assert not hasattr(mechanism.release(value, dpkit.secure_generator()), "simulation")
    assert not hasattr(mechanism.release_many(value, 2), "simulation")


@EVERY
def test_two_secure_releases_share_no_bits(mechanism, value, metric):
    assert not np.array_equal(mechanism.release_many(value, 40), mechanism.release_many(value, 40))


@EVERY
@pytest.mark.parametrize("rng", [0, "seed", np.random])
def test_what_is_not_a_generator_is_refused(mechanism, value, metric, rng):
    with pytest.raises(InvalidValueError, match="rng"):
        mechanism.release(value, rng)


@EVERY
@pytest.mark.parametrize("n", [-1, 1.5, True, None])
def test_a_number_of_releases_is_a_whole_number(mechanism, value, metric, n):
    with pytest.raises(InvalidValueError, match="whole number"):
        mechanism.release_many(value, n)


@pytest.mark.parametrize("kind", [Laplace, Gaussian, SymmetricGaussian, DiscreteLaplace, DiscreteGaussian, Exponential])
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, "1", None, True])
def test_a_scale_is_a_positive_number(kind, scale):
    with pytest.raises(InvalidValueError, match="scale"):
        kind(scale=scale)


@REAL
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_a_direct_call_refuses_what_is_no_number_before_anything_is_drawn(mechanism, value, metric, bad):
    rng = np.random.default_rng(5)
    state = rng.bit_generator.state
    broken = value.copy()
    broken[(0,) * broken.ndim] = bad
    with pytest.raises(InvalidValueError) as caught:
        mechanism.release(broken, rng)
    assert rng.bit_generator.state == state
    assert "1e+300" not in str(caught.value)


@REAL
def test_on_the_curator_s_path_nothing_raises_on_a_value(mechanism, value, metric):
    broken = np.full(value.shape, math.nan)
    broken.flat[:3] = [math.inf, -math.inf, 1e300]
    released = mechanism.release(broken, np.random.default_rng(5), saturate=1000.0)
    assert np.all(np.abs(released) < 1100.0)


def test_on_the_curator_s_path_integers_and_categories_saturate_too():
    wild = np.array([2**62, -(2**62), 2**63 - 1, -(2**63), 0])
    for mechanism in (DiscreteLaplace(scale=1.0), DiscreteGaussian(scale=1.0)):
        assert np.all(np.abs(mechanism.release(wild, np.random.default_rng(5), saturate=1000.0)) < 1100)
        assert np.all(np.abs(mechanism.release(np.array([200], dtype=np.uint8), saturate=10.0)) < 100)
        with pytest.raises(InvalidValueError, match="larger magnitude"):
            mechanism.release(wild, np.random.default_rng(5))
        with pytest.raises(InvalidValueError, match="integers"):
            mechanism.release([1.5])
    answers = RandomizedResponse(epsilon=1.0, categories=3).release(wild, np.random.default_rng(5), saturate=1.0)
    assert set(answers.tolist()) <= {0, 1, 2}
    scores = np.array([math.nan, math.inf, -math.inf])
    assert int(Exponential(scale=1.0).release(scores, np.random.default_rng(5), saturate=10.0)) in (0, 1, 2)


@pytest.mark.parametrize(
    ("mechanism", "value"),
    [
        (SymmetricGaussian(scale=1.0), [1.0, 2.0]),
        (SymmetricGaussian(scale=1.0), np.ones((2, 3))),
        (SymmetricGaussian(scale=1.0), np.array([[1.0, 2.0], [3.0, 1.0]])),
        (Exponential(scale=1.0), 1.0),
        (Exponential(scale=1.0), []),
        (Exponential(scale=1.0), np.ones((2, 2))),
        (RandomizedResponse(epsilon=1.0), [0.0, 1.0]),
        (RandomizedResponse(epsilon=1.0), [0, 2]),
        (RandomizedResponse(epsilon=1.0), [-1]),
        (Laplace(scale=1.0), "text"),
        (Gaussian(scale=1.0), [[1.0], [1.0, 2.0]]),
    ],
)
def test_wrong_shapes_and_categories_are_refused_without_showing_a_value(mechanism, value):
    rng = np.random.default_rng(5)
    state = rng.bit_generator.state
    with pytest.raises(InvalidValueError) as caught:
        mechanism.release(value, rng)
    assert rng.bit_generator.state == state
    assert "3.0" not in str(caught.value)


@REAL
@pytest.mark.parametrize("power", [-30, 0, 40])
def test_outputs_lie_on_the_declared_grid_and_scale_with_it(mechanism, value, metric, power):
    factor = 2.0**power
    scaled = dataclasses.replace(mechanism, scale=mechanism.scale * factor)
    plain = mechanism.release(value, np.random.default_rng(5))
    assert np.array_equal(plain * factor, scaled.release(value * factor, np.random.default_rng(5)))
    assert np.array_equal(np.rint(plain / mechanism.grid), plain / mechanism.grid)
    shift = 1024.0 * mechanism.grid
    assert np.array_equal(plain + shift, mechanism.release(value + shift, np.random.default_rng(5)))


@pytest.mark.parametrize("mechanism", [Laplace(scale=0.7), Gaussian(scale=0.7)], ids=repr)
def test_the_density_integrates_to_one_and_is_the_sampler_s(mechanism):
    total, _ = integrate.quad(lambda y: math.exp(mechanism.log_density(y, 0.3)), -40.0, 40.0, points=[0.3], limit=200)
    assert total == pytest.approx(1.0, abs=1e-9)
    draws = mechanism.release_many(0.3, 40_000, np.random.default_rng(11))
    edges = np.linspace(-60.0, 60.0, 4001)
    mass = [integrate.quad(lambda y: math.exp(mechanism.log_density(y, 0.3)), a, b)[0] for a, b in pairwise(edges[1950:2051])]
    inside = np.histogram(draws, bins=edges[1950:2051])[0]
    expected = np.array(mass) * draws.size
    keep = expected > 8
    statistic = np.sum((inside[keep] - expected[keep]) ** 2 / expected[keep])
    assert stats.chi2.sf(statistic, int(keep.sum())) > 1e-6


@pytest.mark.parametrize(
    ("mechanism", "value", "outcomes"),
    [
        (DiscreteLaplace(scale=1.5), 3, np.arange(-20, 27)),
        (DiscreteLaplace(scale=0.2), 0, np.arange(-6, 7)),
        (DiscreteGaussian(scale=1.5), -2, np.arange(-14, 11)),
        (DiscreteGaussian(scale=0.4), 0, np.arange(-5, 6)),
        (RandomizedResponse(epsilon=0.8, categories=5), 3, np.arange(5)),
        (RandomizedResponse(epsilon=3.0), 0, np.arange(2)),
        (Exponential(scale=0.5), np.array([0.3, -1.0, 0.9, 0.9, 2.0]), np.arange(5)),
    ],
    ids=lambda item: repr(item)[:40],
)
def test_each_outcome_has_its_stated_probability(mechanism, value, outcomes):
    stated = np.exp(mechanism.log_density(outcomes, value))
    assert stated.sum() == pytest.approx(1.0, abs=1e-5)
    draws = np.asarray(mechanism.release_many(value, 200_000, np.random.default_rng(17)))
    observed = np.array([np.count_nonzero(draws == outcome) for outcome in outcomes])
    expected = stated * draws.size
    keep = expected >= 8
    statistic = np.sum((observed[keep] - expected[keep]) ** 2 / expected[keep])
    assert stats.chi2.sf(statistic, int(keep.sum())) > 1e-6
    assert draws.size - observed[keep].sum() <= stats.poisson.isf(1e-6, max(draws.size - expected[keep].sum(), 1e-3)) + 1


@pytest.mark.parametrize("name", [name for name in CASES if name not in CHOICES])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_accuracy_holds_at_its_confidence_and_is_not_wasteful(name, confidence):
    mechanism, value, _ = CASES[name]
    bound = mechanism.accuracy(value.shape, confidence)
    draws = np.abs(np.asarray(mechanism.release_many(value, 20_000, np.random.default_rng(23))) - value)
    worst = draws.reshape(20_000, -1).max(axis=1)
    within = int(np.count_nonzero(worst <= bound))
    assert stats.binom.cdf(within, 20_000, confidence) > 1e-6, "the bound fails too often"
    tighter = {"laplace": 0.97, "gaussian": 0.97, "symmetric": 0.6, "discrete laplace": 0.6, "discrete gaussian": 0.4}[name]
    assert np.quantile(worst, confidence) >= tighter * bound - 1.0


def test_the_accuracy_of_a_choice_and_of_answers_holds():
    scores = np.array([0.0, 3.0, 2.9, 1.0, -5.0])
    choice = Exponential(scale=0.5)
    drawn = scores[np.asarray(choice.release_many(scores, 20_000, np.random.default_rng(29)))]
    failures = np.count_nonzero(3.0 - drawn > choice.accuracy(5, 0.9))
    assert stats.binom.sf(failures, 20_000, 0.1) > 1e-6
    answers = RandomizedResponse(epsilon=1.0)
    lies = np.count_nonzero(np.asarray(answers.release_many(np.zeros(50, dtype=int), 5000, np.random.default_rng(31))), axis=1)
    within = np.count_nonzero(lies <= answers.accuracy(50, 0.9))
    assert stats.binom.cdf(within, 5000, 0.9) > 1e-6


@EVERY
@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 2.0, math.nan, "0.9", True])
def test_a_confidence_lies_strictly_between_zero_and_one(mechanism, value, metric, confidence):
    with pytest.raises(InvalidValueError, match="confidence"):
        mechanism.accuracy(value.shape, confidence)


def test_the_textbook_prices():
    assert dpkit.account(Laplace(scale=2.0).event(at=dpkit.l1(1.0)), "pure").epsilon(delta=0.0) == 0.5
    assert dpkit.account(Exponential(scale=4.0).event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0) == 0.5
    assert dpkit.account(Exponential(scale=4.0, monotone=True).event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0) == 0.25
    assert dpkit.account(RandomizedResponse(epsilon=1.0).event(at=dpkit.records(1)), "pure").epsilon(delta=0.0) == 1.0
    assert dpkit.account(Gaussian(scale=2.0).event(at=dpkit.l2(1.0)), "zcdp").within(dpkit.ZCDP(rho=0.125))
    assert SymmetricGaussian(scale=2.0).event(at=dpkit.rank_one(1.0)) == Gaussian(scale=2.0).event(at=dpkit.l2(1.0))
