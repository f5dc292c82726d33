"""Exact rounding: both paths agree bit for bit, with an independent oracle too, and nothing leaks on the way out."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpkit
from dpkit.errors import InvalidValueError
from dpkit.numerics.noise import exact_rounding
from dpkit.numerics.noise.exact_rounding import (
    GAUSSIAN,
    HALF_VARIANCE_GAUSSIAN,
    LAPLACE,
    NoiseLaw,
    Tail,
    exactly_rounded,
    grid_for,
)
from dpkit.numerics.noise.noise_inputs import LARGEST_MAGNITUDE
from dpkit.testing.strategies import examples

LAWS = [LAPLACE, GAUSSIAN, HALF_VARIANCE_GAUSSIAN]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
oracle = mpmath.MPContext()
oracle.prec = 300


def always_slow(law: NoiseLaw) -> NoiseLaw:
    """A margin of one whole scale leaves nothing for the fast path to decide."""
    return replace(law, upper=replace(law.upper, error=1.0))


def inverse(law: NoiseLaw, tail: mpmath.mpf) -> mpmath.mpf:
    """The inverse distribution function by root finding on textbook formulas, independent of the code under test."""
    if law is LAPLACE:
        return -oracle.log(2 * tail)
    start = stats.norm.isf(float(tail))
    z = oracle.findroot(lambda x: oracle.log(oracle.erfc(x / oracle.sqrt(2)) / 2) - oracle.log(tail), start)
    return z if law is GAUSSIAN else z / oracle.sqrt(2)


def boundary_word(law: NoiseLaw, boundary: mpmath.mpf) -> int:
    """The 64-bit word of the upper side whose interval of tail probabilities holds the given point of the law."""
    probability = (
        oracle.exp(-boundary) / 2 if law is LAPLACE else oracle.erfc(boundary / oracle.sqrt(2 if law is GAUSSIAN else 1)) / 2
    )
    return int(oracle.floor(oracle.ldexp(probability, 64)))


@each_law
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1.9999, 1e12])
def test_the_slow_path_agrees_with_the_fast_path_bit_for_bit(law, scale):
    value = np.random.default_rng(1).normal(size=150) * 100 * scale
    fast = exactly_rounded(value, scale=scale, law=law, rng=np.random.default_rng(2))
    slow = exactly_rounded(value, scale=scale, law=always_slow(law), rng=np.random.default_rng(2))
    assert np.array_equal(fast, slow)


@each_law
@pytest.mark.parametrize("path", [lambda law: law, always_slow], ids=["fast", "slow"])
def test_both_paths_agree_with_an_independent_oracle(judges, law, path):
    words = np.random.default_rng(3).integers(0, 2**64, 60, dtype=np.uint64)
    value, scale, grid = 0.7, 3.3, 2.0**-18
    answers = exactly_rounded(np.full(60, value), scale=scale, law=path(law), rng=judges.Scripted(words), grid=grid)
    for word, answer in zip(words.view(np.int64).tolist(), answers.tolist(), strict=True):
        tail = oracle.ldexp(oracle.mpf(max(word, ~word)) + 0.5, -64)
        exact = oracle.mpf(value) + scale * inverse(law, tail) * (1 if word >= 0 else -1)
        assert answer == float(oracle.nint(exact / grid) * grid)


def assert_decides_every_boundary(judges, law: NoiseLaw) -> None:
    """Words beside, and on, a rounding boundary: the hardest there are, on which a margin that lies must fail."""
    rng = np.random.default_rng(7)
    scale, grid = 1.5, grid_for(1.5)
    steps = rng.integers(1, 3 * 2**20, 60)
    for step in steps.tolist():
        boundary = (oracle.mpf(step) - 0.5) * grid / scale
        word = boundary_word(law, boundary)
        rest = oracle.ldexp(1, 64)
        for words, expected in (
            ([word - 1], step),
            ([word, 0], step),
            ([word, int(rest) - 1], step - 1),
            ([word + 1], step - 1),
            ([~(word - 1)], -step),
            ([~word, int(rest) - 1], 1 - step),
            ([~(word + 1)], 1 - step),
        ):
            answer = exactly_rounded(0.0, scale=scale, law=law, rng=judges.Scripted(words), grid=grid)
            assert answer / grid == expected


@each_law
def test_the_hardest_words_are_decided_right(judges, law):
    assert_decides_every_boundary(judges, law)


def test_a_margin_that_is_too_small_is_caught(judges, monkeypatch):
    monkeypatch.setattr(exact_rounding, "_margin", lambda tail, steps: 0.0)
    with pytest.raises(AssertionError):
        assert_decides_every_boundary(judges, GAUSSIAN)


def test_a_law_that_understates_its_error_is_caught():
    def in_single_precision(tail):
        return LAPLACE.upper.quantile(tail.astype(np.float32)).astype(np.float64)

    liar = replace(LAPLACE, upper=replace(LAPLACE.upper, quantile=in_single_precision))
    honest = replace(liar, upper=replace(liar.upper, error=1e-5))
    value = np.zeros(400)
    fast = exactly_rounded(value, scale=1.0, law=liar, rng=np.random.default_rng(1))
    true = exactly_rounded(value, scale=1.0, law=LAPLACE, rng=np.random.default_rng(1))
    assert not np.array_equal(fast, true)
    assert np.array_equal(exactly_rounded(value, scale=1.0, law=honest, rng=np.random.default_rng(1)), true)


def test_an_undecided_word_draws_more_bits_and_only_then(judges):
    boundary = (oracle.mpf(1000) - 0.5) * grid_for(1.0)
    plain, hard = judges.Scripted([2**62]), judges.Scripted([boundary_word(LAPLACE, boundary)])
    exactly_rounded(0.0, scale=1.0, law=LAPLACE, rng=plain)
    exactly_rounded(0.0, scale=1.0, law=LAPLACE, rng=hard)
    assert plain.drawn == 1
    assert hard.drawn > 1


@each_law
def test_the_slow_path_is_rare(law, monkeypatch):
    slow = []
    exact = exact_rounding._exact_totals
    monkeypatch.setattr(exact_rounding, "_exact_totals", lambda words, *rest: slow.append(len(words)) or exact(words, *rest))
    exactly_rounded(np.full(1_000_000, 0.3), scale=1.9999, law=law, rng=np.random.default_rng(4))
    assert sum(slow) <= 20


@examples(60)
@given(
    law=st.sampled_from(LAWS),
    value=st.floats(-1e6, 1e6),
    shift=st.integers(-(2**30), 2**30),
    power=st.integers(-40, 40),
    seed=st.integers(0, 2**32),
    scale=st.floats(1e-3, 1e3),
)
def test_shift_and_scale_equivariance_and_determinism(law, value, shift, power, seed, scale):
    grid = grid_for(scale)
    on_grid = round(value / grid) * grid  # sums below are then exact in float64
    vector = np.full(5, on_grid)

    def release(given, scale):
        return exactly_rounded(given, scale=scale, law=law, rng=np.random.default_rng(seed))

    plain = release(vector, scale)
    assert np.array_equal(plain, release(vector, scale))
    assert np.array_equal(plain + shift * grid, release(vector + shift * grid, scale))
    assert np.array_equal(np.ldexp(plain, power), release(np.ldexp(vector, power), math.ldexp(scale, power)))


@examples(40)
@given(law=st.sampled_from(LAWS), value=st.floats(-1e12, 1e12), seed=st.integers(0, 2**32))
def test_mirrored_words_and_values_give_mirrored_answers(judges, law, value, seed):
    words = np.random.default_rng(seed).integers(0, 2**64, 5, dtype=np.uint64)
    plain = exactly_rounded(np.full(5, value), scale=1.0, law=law, rng=judges.Scripted(words))
    mirror = exactly_rounded(np.full(5, -value), scale=1.0, law=law, rng=judges.Scripted(~words))
    assert np.array_equal(plain, -mirror)


@each_law
@pytest.mark.parametrize("scale", [1e-9, 0.1, 1.0, 1e12])
@pytest.mark.parametrize("magnitude", [0.0, 1.0, 1e25, 1e100])
def test_every_output_lies_on_the_grid(law, scale, magnitude):
    value = np.random.default_rng(1).normal(size=200) * magnitude
    grid = Fraction(grid_for(scale))
    for answer in exactly_rounded(value, scale=scale, law=law, rng=np.random.default_rng(2)).tolist():
        assert (Fraction(answer) / grid).denominator == 1


@pytest.mark.parametrize("path", [lambda law: law, always_slow], ids=["fast", "slow"])
@pytest.mark.parametrize("value", [2.0**53, 2.0**60 + 2.0**9, 3.0**40, -(2.0**53) - 2, 2.0**53 - 1])
def test_beyond_53_bits_the_answer_is_the_float_nearest_to_the_exact_multiple(path, value):
    """The whole part of the sum is an exact integer; what is returned is a function of that integer alone."""
    draws = 40
    grid = 2.0**-3
    noisy = exactly_rounded(np.full(draws, value), scale=1.0, law=path(GAUSSIAN), rng=np.random.default_rng(1), grid=grid)
    noise = exactly_rounded(np.zeros(draws), scale=1.0, law=GAUSSIAN, rng=np.random.default_rng(1), grid=grid)
    for one, part in zip(noisy.tolist(), noise.tolist(), strict=True):
        assert one == float(Fraction(value) + Fraction(part))


def test_the_grid_depends_on_the_scale_alone():
    assert grid_for(1.0) == grid_for(1.999) == 2.0**-20
    assert grid_for(2.0) == 2.0**-19
    assert grid_for(1e-9) == 2.0**-50


@pytest.mark.parametrize("value", [-0.0, -1e-9, 1e-9, -(2.0**-22), 5e-324])
def test_no_answer_is_minus_zero(value):
    coarse = exactly_rounded(np.full(2_000, value), scale=1.0, law=LAPLACE, rng=np.random.default_rng(1), grid=8.0)
    zeros = coarse[coarse == 0]
    assert zeros.size > 1_000
    assert not np.signbit(zeros).any()


def test_a_value_that_vanishes_beside_the_grid_is_still_rounded_exactly():
    value = np.array([5e-324, -5e-324, 1e-300])
    for law in (LAPLACE, always_slow(LAPLACE)):
        noisy = exactly_rounded(value, scale=1e12, law=law, rng=np.random.default_rng(1))
        assert np.array_equal(noisy, exactly_rounded(np.zeros(3), scale=1e12, law=law, rng=np.random.default_rng(1)))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 1, 5), (0, 3)])
def test_arrays_of_any_shape_keep_it(shape):
    assert exactly_rounded(np.zeros(shape), scale=1.0, law=GAUSSIAN, rng=np.random.default_rng(1)).shape == shape


def test_layout_and_lossless_types_do_not_matter():
    matrix = np.arange(12.0).reshape(3, 4)
    variants = [matrix, np.asfortranarray(matrix), matrix.astype(np.float32), matrix.astype(np.int8), matrix.tolist()]
    answers = [exactly_rounded(each, scale=1.0, law=LAPLACE, rng=np.random.default_rng(1)) for each in variants]
    assert all(np.array_equal(answers[0], other) for other in answers)


class Untouchable:
    """A generator that must not be asked."""

    @property
    def bit_generator(self):
        raise AssertionError("randomness was drawn")


CANARY = 123456789.25


@pytest.mark.parametrize(
    "value",
    [
        [CANARY, math.nan],
        [CANARY, math.inf],
        [CANARY, -math.inf],
        [CANARY, 2 * LARGEST_MAGNITUDE],
        [[CANARY, 1.0], [CANARY]],
        [CANARY, "text"],
        [CANARY, None],
        [CANARY, 1j],
        np.array([2**53 + 1]),
        [2**70],
    ],
)
def test_a_bad_value_is_refused_before_any_draw_and_never_shown(value):
    with pytest.raises(InvalidValueError) as caught:
        exactly_rounded(value, scale=1.0, law=LAPLACE, rng=Untouchable())
    for secret in (str(CANARY), "text", str(2**53 + 1), str(2**70)):
        assert secret not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 1e-200, 1e200, "1", None, True, 10**400])
def test_a_bad_scale_is_refused(scale):
    with pytest.raises(InvalidValueError, match="scale"):
        exactly_rounded(0.0, scale=scale, law=LAPLACE, rng=Untouchable())


@pytest.mark.parametrize("rng", [0, "seed", np.random, np.random.RandomState(1)], ids=["int", "str", "module", "legacy"])
def test_what_is_not_a_generator_is_refused(rng):
    with pytest.raises(InvalidValueError, match="rng"):
        exactly_rounded(0.0, scale=1.0, law=LAPLACE, rng=rng)


@pytest.mark.parametrize("grid", [0.0, -1.0, 0.3, 3.0, math.nan, math.inf, 5e-324, 2.0**-41, 2.0**41])
def test_a_bad_grid_is_refused(grid):
    with pytest.raises(InvalidValueError, match="grid"):
        exactly_rounded(0.0, scale=1.0, law=LAPLACE, rng=Untouchable(), grid=grid)


@pytest.mark.parametrize("saturate", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_limit_is_refused(saturate):
    with pytest.raises(InvalidValueError, match="saturate"):
        exactly_rounded(0.0, scale=1.0, law=LAPLACE, rng=Untouchable(), saturate=saturate)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_saturation_clamps_and_never_raises(dtype):
    wild = np.array([math.nan, math.inf, -math.inf, 1e30, -1e30, 2.0, 0.0], dtype=dtype)
    tame = np.array([0.0, 100.0, -100.0, 100.0, -100.0, 2.0, 0.0])
    with np.errstate(all="raise"):
        noisy = exactly_rounded(wild, scale=1.0, law=LAPLACE, rng=np.random.default_rng(1), saturate=100.0)
    assert np.array_equal(noisy, exactly_rounded(tame, scale=1.0, law=LAPLACE, rng=np.random.default_rng(1)))
    assert exactly_rounded(math.nan, scale=1.0, law=LAPLACE, rng=np.random.default_rng(1), saturate=1.0).shape == ()


def test_integers_saturate_where_float64_would_merge_them():
    wild = np.array([2**63 - 1, -(2**63), 5])
    noisy = exactly_rounded(wild, scale=1.0, law=LAPLACE, rng=np.random.default_rng(1), saturate=LARGEST_MAGNITUDE)
    tame = np.array([2.0**53, -(2.0**53), 5.0])
    assert np.array_equal(noisy, exactly_rounded(tame, scale=1.0, law=LAPLACE, rng=np.random.default_rng(1)))


def test_the_largest_values_and_scales_stay_finite():
    for scale in (1 / LARGEST_MAGNITUDE, LARGEST_MAGNITUDE):
        for ratio in (2.0**-40, 1.0, 2.0**40):
            noisy = exactly_rounded(
                np.array([LARGEST_MAGNITUDE, -LARGEST_MAGNITUDE]), scale=scale, law=always_slow(GAUSSIAN),
                rng=np.random.default_rng(1), grid=ratio * scale,
            )  # fmt: skip
            assert np.isfinite(noisy).all()


def gumbel() -> NoiseLaw:
    """A third party's law, with two different tails: P(Z <= z) = exp(-exp(-z))."""
    upper = Tail(
        quantile=lambda p: -np.log(-np.log1p(-p)),
        error=1e-12,
        slope=1.5,
        survival=lambda context, z: -context.expm1(-context.exp(-z)),
    )
    lower = Tail(
        quantile=lambda p: np.log(-np.log(p)), error=1e-12, slope=1.5,
        survival=lambda context, z: context.exp(-context.exp(z)),
    )  # fmt: skip
    return NoiseLaw(name="gumbel", upper=upper, lower=lower)


def test_a_third_party_gets_exact_rounding_for_an_asymmetric_law(judges):
    law = gumbel()
    slow = replace(law, upper=replace(law.upper, error=1.0))
    few = np.linspace(-3, 3, 100)
    fast = exactly_rounded(few, scale=2.0, law=law, rng=np.random.default_rng(5))
    assert np.array_equal(fast, exactly_rounded(few, scale=2.0, law=slow, rng=np.random.default_rng(5)))
    many = exactly_rounded(np.full(200_000, 0.3), scale=2.0, law=law, rng=np.random.default_rng(5), grid=0.5)
    judges.assert_counts_fit(many / 0.5, lambda n: stats.gumbel_r.cdf(((n - 0.5) * 0.5 - 0.3) / 2.0), -12, 60)


@pytest.mark.parametrize("change", [{"error": -1.0}, {"error": math.nan}, {"slope": math.inf}, {"smallest": 0.0}])
def test_a_tail_states_its_margin_properly(change):
    with pytest.raises(InvalidValueError):
        replace(LAPLACE.upper, **change)


def test_a_quantile_that_is_not_elementwise_is_refused_before_any_draw():
    law = replace(LAPLACE, upper=replace(LAPLACE.upper, quantile=lambda p: p.sum()))
    with pytest.raises(InvalidValueError, match="elementwise"):
        exactly_rounded(0.0, scale=1.0, law=law, rng=Untouchable())


def test_values_between_floats_are_rounded_exactly():
    grid, rng = 2.0**-20, np.random.default_rng
    plain = dpkit.exactly_rounded([0.25, 7.0], scale=1.0, law=LAPLACE, rng=rng(3))
    same = dpkit.exactly_rounded([0.0, 7.0], scale=1.0, law=LAPLACE, rng=rng(3), between={0: Fraction(1, 4)})
    assert np.array_equal(np.asarray(plain), np.asarray(same))
    third = dpkit.exactly_rounded([0.0, 7.0], scale=1.0, law=LAPLACE, rng=rng(3), between={0: Fraction(1, 3)})
    assert abs(float(third[0]) - float(plain[0]) - (1 / 3 - 1 / 4)) <= grid
