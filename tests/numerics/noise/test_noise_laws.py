"""Exactly rounded noise has the law that the mathematics says, tails and all; broken samplers are told apart.

Every test has a fixed seed and a false-alarm rate of 1e-6.
"""

import numpy as np
import pytest
from scipy import stats

from dpkit.numerics.noise import exact_rounding
from dpkit.numerics.noise.exact_rounding import GAUSSIAN, HALF_VARIANCE_GAUSSIAN, LAPLACE, exactly_rounded, grid_for

LAWS = {
    "laplace": (LAPLACE, stats.laplace()),
    "gaussian": (GAUSSIAN, stats.norm()),
    "half-variance": (HALF_VARIANCE_GAUSSIAN, stats.norm(scale=np.sqrt(0.5))),
}
each_law = pytest.mark.parametrize(("law", "truth"), LAWS.values(), ids=LAWS.keys())


def fits_on_a_coarse_grid(judges, sampler, law, truth, *, offset: float, seed: int, draws: int = 200_000) -> None:
    """Chi-square over single grid points: the law of the rounded sum, not only of the noise."""
    scale, grid = 3.0, 1.0
    rng = np.random.default_rng(seed)
    outcomes = sampler(np.full(draws, offset), scale=scale, law=law, rng=rng, grid=grid) / grid
    judges.assert_counts_fit(outcomes, lambda n: truth.cdf((n - 0.5 - offset / grid) / (scale / grid)), -40, 41)


@each_law
@pytest.mark.parametrize("offset", [0.0, 0.4375, -0.5, 7.25])
def test_every_grid_point_has_its_exact_probability(judges, law, truth, offset):
    fits_on_a_coarse_grid(judges, exactly_rounded, law, truth, offset=offset, seed=11)


@each_law
@pytest.mark.parametrize("scale", [1e-9, 0.3, 1.0, 777.0, 1e12])
def test_the_law_holds_at_every_scale(judges, law, truth, scale):
    noise = exactly_rounded(np.zeros(100_000), scale=scale, law=law, rng=np.random.default_rng(5)) / scale
    judges.assert_uniform(truth.cdf(noise))


@each_law
def test_a_million_draws_fit_in_the_body_and_in_the_tails(judges, law, truth):
    noise = exactly_rounded(np.zeros(1_000_000), scale=1.0, law=law, rng=np.random.default_rng(6))
    judges.assert_uniform(truth.cdf(noise))
    for tail in (noise, -noise):
        far = tail[tail > truth.isf(2e-3)]
        assert 1_700 < far.size < 2_300
        judges.assert_uniform(truth.sf(far) / 2e-3)


@each_law
@pytest.mark.parametrize("leading_zeros", [20, 40, 63, 64])
def test_the_tail_is_exact_at_any_depth(judges, law, truth, leading_zeros):
    """Words that start with zeros condition on a tail probability below 2**-leading_zeros."""
    draws = 100
    words = np.random.default_rng(8).integers(0, 2 ** max(64 - leading_zeros, 0), draws, dtype=np.uint64)
    rng = judges.Scripted(words, seed=9)
    noise = exactly_rounded(np.zeros(draws), scale=1.0, law=law, rng=rng)
    log_tail = truth.logsf(noise)
    judges.assert_uniform(np.exp(log_tail + leading_zeros * np.log(2)))


@each_law
def test_entries_are_independent_across_blocks(judges, law, truth):
    draws = 3 * exact_rounding._BLOCK
    judges.assert_uncorrelated(exactly_rounded(np.zeros(draws), scale=1.0, law=law, rng=np.random.default_rng(3)))


@each_law
def test_noise_is_symmetric(judges, law, truth):
    noise = exactly_rounded(np.zeros(200_000), scale=1.0, law=law, rng=np.random.default_rng(4))
    assert stats.binomtest(int((noise > 0).sum()), int((noise != 0).sum())).pvalue > 1e-6
    judges.assert_counts_fit((noise > 0) * 4 + np.digitize(np.abs(noise), truth.isf([0.375, 0.25, 0.125])),
                             lambda n: n / 8, 0, 8)  # fmt: skip


# Mutants: each is a mistake that a sampler of this kind can make, and a judge above must see it.


def rounds_before_adding(value, *, scale, law, rng, grid):
    return np.rint(value / grid) * grid + exactly_rounded(np.zeros_like(value), scale=scale, law=law, rng=rng, grid=grid)


def sign_follows_magnitude(value, *, scale, law, rng, grid):
    noise = exactly_rounded(np.zeros_like(value), scale=scale, law=law, rng=rng, grid=grid)
    return value + np.where(np.abs(noise) % (2 * grid) == 0, np.abs(noise), noise)


def reuses_a_block_of_bits(value, *, scale, law, rng):
    block = exactly_rounded(np.zeros(exact_rounding._BLOCK), scale=scale, law=law, rng=rng)
    return value + np.resize(block, value.shape)


def test_a_sampler_that_rounds_before_adding_is_caught(judges):
    fits_on_a_coarse_grid(judges, rounds_before_adding, *LAWS["laplace"], offset=0.0, seed=11)
    with pytest.raises(AssertionError):
        fits_on_a_coarse_grid(judges, rounds_before_adding, *LAWS["laplace"], offset=0.4375, seed=11)


def test_a_sign_that_is_correlated_with_the_magnitude_is_caught(judges):
    with pytest.raises(AssertionError):
        fits_on_a_coarse_grid(judges, sign_follows_magnitude, *LAWS["gaussian"], offset=0.0, seed=11)


def test_a_reused_block_of_bits_is_caught(judges):
    noise = reuses_a_block_of_bits(np.zeros(3 * exact_rounding._BLOCK), scale=1.0, law=LAPLACE,
                                   rng=np.random.default_rng(3))  # fmt: skip
    judges.assert_uniform(stats.laplace.cdf(noise[: exact_rounding._BLOCK]))  # each entry alone looks right
    with pytest.raises(AssertionError):
        judges.assert_uncorrelated(noise)


def test_the_float_attack_finds_numpy_at_once_and_nothing_here():
    """fl(|y - 1| - |y|) > 1 is impossible in real arithmetic: where it happens, rounding has told the value."""

    def hits(y):
        return int((np.abs(y - 1.0) - np.abs(y) > 1.0).sum())

    seeded = np.random.default_rng(2)
    assert hits(0.0 + seeded.laplace(size=20_000)) > 0
    assert hits(0.0 + seeded.normal(size=20_000)) > 0
    for law, _ in LAWS.values():
        for value in (0.0, 1.0):
            assert hits(exactly_rounded(np.full(500_000, value), scale=1.0, law=law, rng=seeded)) == 0


def test_neighbouring_values_reach_the_same_outputs():
    """Mironov's attack looks for outputs that only one of two values can produce; here both fill one lattice."""
    rng = np.random.default_rng(12)
    grid = grid_for(1.0)
    for value in (0.0, 1.0, 0.1, np.pi):
        noisy = exactly_rounded(np.full(50_000, value), scale=1.0, law=LAPLACE, rng=rng)
        low_bits = (noisy / grid) % 16
        assert set(np.unique(low_bits)) == set(range(16))
        assert stats.chisquare(np.bincount(low_bits.astype(int))).pvalue > 1e-6
