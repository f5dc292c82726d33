"""A lazy uniform answers as a real number would: consistently, and with no more bits than it needs."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpkit.numerics.noise.lazy_uniform import LazyUniform, enclose_decreasing, last_true, new_context


def reciprocal(context, x):
    return context.mpf(1) / x


def threshold(real: Fraction):
    """The number `real`, as the reciprocal of its reciprocal."""
    return enclose_decreasing(reciprocal, 1 / real)


def uniform(judges, words, leading=0, bits=0):
    rng = judges.Scripted(words)
    return LazyUniform(leading=leading, bits=bits, rng=rng, context=new_context()), rng


@settings(deadline=None)  # a busy machine is no counterexample
@given(word=st.integers(0, 2**64 - 1), numerator=st.integers(1, 2**40), denominator=st.integers(2**40, 2**60))
def test_it_compares_as_the_number_its_bits_spell(judges, word, numerator, denominator):
    real = Fraction(numerator, denominator)
    number, _ = uniform(judges, [], leading=word, bits=64)
    if Fraction(word + 1, 2**64) < real:
        assert number.is_below(threshold(real))
    if Fraction(word, 2**64) > real:
        assert not number.is_below(threshold(real))


def test_it_draws_bits_only_until_the_question_is_settled(judges):
    number, rng = uniform(judges, [2**63, 5], bits=0)
    assert number.is_below(threshold(Fraction(9, 10)))
    assert rng.drawn == 1
    assert not number.is_below(threshold(Fraction(1, 10)))
    assert rng.drawn == 1
    assert not number.is_below(threshold(Fraction(1, 2)))
    assert rng.drawn == 2


def test_answers_never_contradict_each_other(judges):
    for seed in range(20):
        number = LazyUniform(leading=0, bits=0, rng=np.random.default_rng(seed), context=new_context())
        low, high = Fraction(0), Fraction(1)
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (low, middle) if number.is_below(threshold(middle)) else (middle, high)
        assert not number.is_below(threshold(low)) or low == 0
        assert number.is_below(threshold(high)) or high == 1


@pytest.mark.parametrize("seed", range(3))
def test_bisection_on_it_is_uniform(judges, seed):
    rng, context = np.random.default_rng(seed), new_context()
    numbers = [LazyUniform(leading=0, bits=0, rng=rng, context=context) for _ in range(400)]
    thresholds = [threshold(Fraction(k, 16)) for k in range(1, 16)]
    cells = np.array([sum(not number.is_below(each) for each in thresholds) for number in numbers])
    judges.assert_counts_fit(cells, lambda n: n / 16, 0, 16)


@settings(deadline=None)  # a busy machine is no counterexample
@given(answer=st.integers(-(10**9), 10**9), near=st.integers(-(10**9), 10**9))
def test_the_search_finds_the_last_integer_that_passes(answer, near):
    asked = []

    def test(n: int) -> bool:
        asked.append(n)
        return n <= answer

    assert last_true(test, near) == answer
    assert len(asked) <= 4 + 2 * abs(answer - near).bit_length()


def test_contexts_are_private():
    import mpmath

    before = mpmath.mp.prec
    new_context().prec = 999
    assert mpmath.mp.prec == before
