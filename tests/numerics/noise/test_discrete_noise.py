"""Discrete noise is exact: its probabilities, its tails, its fallback, and its sums. False alarms: 1e-6 a test."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpkit.errors import InvalidValueError
from dpkit.numerics.noise import discrete_noise, exact_choice
from dpkit.numerics.noise.discrete_noise import LARGEST_SUM, LARGEST_VALUE, add_saturating, discrete_gaussian, discrete_laplace
from dpkit.numerics.noise.exact_choice import exponential_coins
from dpkit.numerics.noise.exact_rounding import LAPLACE

SAMPLERS = [discrete_laplace, discrete_gaussian]
each_sampler = pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.__name__)


def laplace_below(scale: float):
    """P(X < n), in closed form."""
    q = math.exp(-1 / scale)

    def below(n):
        n = np.asarray(n, dtype=float)
        return np.where(n <= 0, np.exp((np.minimum(n, 1) - 1) / scale), 1 + q - np.exp(-np.maximum(n, 0) / scale)) / (1 + q)

    return below


def gaussian_below(scale: float):
    """P(X < n), by summing the mass function outwards to where it vanishes in float64."""
    reach = math.ceil(40 * scale) + 2
    support = np.arange(-reach, reach + 1)
    mass = np.exp(-((support / scale) ** 2) / 2)
    cumulative = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    return lambda n: cumulative[np.clip(np.asarray(n) + reach, 0, cumulative.size - 1)]


def law_of(sampler, scale):
    return (laplace_below if sampler is discrete_laplace else gaussian_below)(scale)


def fits(judges, sampler, scale, draws, seed=1, span=60):
    reach = math.ceil(span * scale) + 1
    outcomes = sampler(scale=scale, size=draws, rng=np.random.default_rng(seed))
    judges.assert_counts_fit(outcomes, law_of(sampler, scale), -reach, reach + 1)


@each_sampler
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.2, 0.5, 1.0, 1.5, 10.0])
def test_every_integer_has_its_exact_probability(judges, sampler, scale):
    fits(judges, sampler, scale, 300_000)


@each_sampler
def test_a_thousand_is_no_different(judges, sampler):
    fits(judges, sampler, 1000.0, 400_000, span=10)


@each_sampler
@pytest.mark.parametrize("scale", [1e6, 2.0**20 + 0.5, 3e6, 1e9, 1e12])
def test_large_scales_fit_their_continuous_limit_and_their_low_bits_are_uniform(judges, sampler, scale):
    noise = sampler(scale=scale, size=100_000, rng=np.random.default_rng(2))
    limit = stats.laplace if sampler is discrete_laplace else stats.norm
    judges.assert_uniform(limit.cdf(noise / scale))
    for tail in (noise, -noise):
        far = tail[tail > limit.isf(0.02) * scale]
        judges.assert_uniform(limit.sf(far / scale) / 0.02)
    judges.assert_counts_fit(noise % 256, lambda n: np.asarray(n) / 256, 0, 256)


def test_refining_by_low_bits_leaves_the_law_as_it_is(judges, monkeypatch):
    """The path of large scales, run at a small one where every probability can be checked."""
    monkeypatch.setattr(discrete_noise, "_FINE_BITS", 1)
    fits(judges, discrete_laplace, 11.0, 300_000)
    fits(judges, discrete_gaussian, 11.0, 300_000)


@each_sampler
@pytest.mark.parametrize("scale", [1e-9, 0.3, 1.0, 1000.0, 1e9, 1e12])
def test_the_exact_fallback_agrees_with_the_fast_path_bit_for_bit(monkeypatch, sampler, scale):
    fast = sampler(scale=scale, size=60, rng=np.random.default_rng(3))
    monkeypatch.setattr(discrete_noise, "LAPLACE", replace(LAPLACE, upper=replace(LAPLACE.upper, error=1e9)))
    monkeypatch.setattr(exact_choice, "_SLACK", 2.0)
    assert np.array_equal(fast, sampler(scale=scale, size=60, rng=np.random.default_rng(3)))


@each_sampler
def test_entries_are_independent(judges, sampler):
    noise = sampler(scale=1e6, size=3 * discrete_noise._BATCH, rng=np.random.default_rng(4))
    judges.assert_uncorrelated(noise)


@each_sampler
@pytest.mark.parametrize("size", [(), 0, 1, 7, (3, 4), (0, 2)])
def test_shapes_and_determinism(sampler, size):
    one, other = (sampler(scale=2.5, size=size, rng=np.random.default_rng(5)) for _ in range(2))
    assert one.dtype == np.int64
    assert one.shape == np.empty(size).shape
    assert np.array_equal(one, other)


@each_sampler
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**-31, 2.0**41, "1", None])
def test_a_scale_that_is_out_of_range_is_refused(sampler, scale):
    with pytest.raises(InvalidValueError, match="scale"):
        sampler(scale=scale, size=1, rng=None)


def test_a_deep_tail_word_is_followed_to_its_depth(judges):
    """At scale 1/1000 one is as likely as exp(-1000): it takes a word of zeros, then over a thousand zero bits."""
    rounder = discrete_noise.StepRounder(law=LAPLACE, steps_per_scale=1e-3)
    for zero_words, answer in ((0, 0), (10, 0), (21, 0), (22, 1), (44, 1), (46, 2)):
        rng = judges.Scripted([0] * zero_words + [2**63] * 3)
        assert next(rounder.exact(np.zeros(1, np.uint64), [Fraction(-1, 2)], rng)) == answer


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7), Fraction(10**6)])
def test_coins_fall_with_probability_exp_of_minus_gamma(judges, gamma):
    coins = exponential_coins(np.full(200_000, float(gamma)), exact=lambda i: gamma, rng=np.random.default_rng(6))
    expected = math.exp(-gamma)
    if expected == 1:
        assert coins.all()
    else:
        assert stats.binomtest(int(coins.sum()), coins.size, expected).pvalue > 1e-6


@pytest.mark.parametrize("gamma", [Fraction(1, 7), Fraction(1), Fraction(20), Fraction(33)])
def test_coins_on_the_edge_are_decided_by_exact_comparison(judges, gamma):
    import mpmath

    context = mpmath.MPContext()
    context.prec = 200
    edge = int(context.floor(context.ldexp(context.exp(-context.mpf(gamma.numerator) / gamma.denominator), 64)))
    for words, heads in (([edge - 1], True), ([edge + 1], False), ([edge, 0], True), ([edge, 2**64 - 1], False)):
        coin = exponential_coins(np.array([float(gamma)]), exact=lambda i: gamma, rng=judges.Scripted(words))
        assert coin.tolist() == [heads]


def test_a_coin_without_its_fallback_is_caught(judges, monkeypatch):
    monkeypatch.setattr(exact_choice, "_SLACK", -1.0)
    with pytest.raises(AssertionError):
        test_coins_on_the_edge_are_decided_by_exact_comparison(judges, Fraction(1, 7))


def test_a_zero_that_is_counted_twice_is_caught(judges, monkeypatch):
    """The mutant keeps minus zero, so that zero has twice its mass."""

    def keeps_minus_zero(scale, count, rng):
        negative, magnitude = discrete_noise._signed_geometric(scale, count, rng)
        return np.where(negative, -magnitude, magnitude)

    monkeypatch.setattr(discrete_noise, "_propose_laplace", keeps_minus_zero)
    with pytest.raises(AssertionError):
        fits(judges, discrete_laplace, 1.0, 300_000)


@each_sampler
def test_a_million_draws_fit_in_the_body_and_in_the_tails(judges, sampler):
    noise = sampler(scale=3.0, size=1_000_000, rng=np.random.default_rng(7))
    judges.assert_counts_fit(noise, law_of(sampler, 3.0), -60, 61)
    below = law_of(sampler, 3.0)
    for tail in (noise, -noise):
        share = 1 - float(below(12))
        assert stats.binomtest(int((tail >= 12).sum()), tail.size, share).pvalue > 1e-6


@each_sampler
@pytest.mark.parametrize("scale", [1e-9, 2.0**-30, 2e-3, 1.0])
def test_the_slow_path_is_rare_at_small_scales_too(monkeypatch, sampler, scale):
    slow = []
    exact = discrete_noise.StepRounder.exact
    monkeypatch.setattr(
        discrete_noise.StepRounder, "exact", lambda self, words, *rest: slow.append(len(words)) or exact(self, words, *rest)
    )
    sampler(scale=scale, size=1_000_000, rng=np.random.default_rng(8))
    assert sum(slow) <= 30


def clamped_exactly(value: int, noise: int) -> int:
    total = max(-LARGEST_VALUE, min(LARGEST_VALUE, value)) + noise
    return max(-LARGEST_SUM, min(LARGEST_SUM, total))


def assert_sums_are_clamped_exactly(add):
    near = [limit + step for limit in (0, 2**60, LARGEST_VALUE, LARGEST_SUM) for step in (-1, 0, 1)]
    noises = [-(2**63), 2**63 - 1, *near, *(-noise for noise in near)]
    for dtype in (np.int8, np.uint8, np.int64, np.uint64):
        ends = [np.iinfo(dtype).min, np.iinfo(dtype).max, 5]
        values, drawn = np.meshgrid(np.array(ends, dtype=dtype), np.array(noises))
        expected = [clamped_exactly(int(v), int(n)) for v, n in zip(values.flat, drawn.flat, strict=True)]
        assert add(values, drawn).ravel().tolist() == expected


def test_the_exact_sum_is_clamped_and_nothing_wraps_around():
    assert_sums_are_clamped_exactly(add_saturating)


def test_noise_that_is_clamped_before_it_is_added_is_caught():
    """The mutant's largest answer tells the value."""

    def clamps_first(value, noise):
        return add_saturating(value, np.clip(noise, -LARGEST_VALUE, LARGEST_VALUE))

    with pytest.raises(AssertionError):
        assert_sums_are_clamped_exactly(clamps_first)


def test_noise_beyond_a_machine_word_is_carried_exactly_until_it_is_accepted(monkeypatch):
    """Nobody can wait for such a draw, so the exact path is made to answer with it."""
    huge = [2**41, 2**41 + 1, 2**62, 2**70, -(2**70)]
    monkeypatch.setattr(
        discrete_noise.StepRounder, "fast", lambda self, words, offset: (np.zeros(words.size), np.zeros(words.size, bool))
    )
    monkeypatch.setattr(
        discrete_noise.StepRounder, "exact", lambda self, words, *rest: [huge[i % len(huge)] for i in range(words.size)]
    )
    for scale, bits in ((1.0, 0), (2.0**40, 21)):
        proposed = discrete_noise._propose_laplace(scale, 10, np.random.default_rng(1))
        assert {abs(int(number)) >> bits for number in proposed} == {abs(number) for number in huge}
        noise = discrete_laplace(scale=scale, size=10, rng=np.random.default_rng(1))
        assert np.abs(noise).max() == 2**63 - 1
        assert add_saturating(np.full(10, 2**60), noise).max() == LARGEST_SUM
    assert not discrete_noise._propose_gaussian(1e9, 10, np.random.default_rng(1)).size


def test_only_integers_take_integer_noise():
    with pytest.raises(InvalidValueError, match="integers"):
        add_saturating([1.5], np.array([1]))
