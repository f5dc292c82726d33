"""Numbers with Laplace noise are compared exactly: as floats where these can tell, and by more bits where they cannot."""

import math
from fractions import Fraction

import numpy as np

from dpkit.numerics.noise import lazy_laplace
from dpkit.numerics.noise.lazy_laplace import LazyLaplace, is_above, largest


def test_comparisons_agree_with_floats_where_these_are_apart():
    rng = np.random.default_rng(0)
    for _ in range(300):
        words = [[int(word) for word in rng.integers(0, 2**64, size=2, dtype=np.uint64)] for _ in range(2)]
        centers = [Fraction(float(center)) for center in rng.normal(size=2)]
        floats = [
            float(center) + 2.0 * (-1) ** (sign & 1) * -math.log((uniform + 0.5) / 2.0**64)
            for center, (sign, uniform) in zip(centers, words, strict=True)
        ]
        one, other = (LazyLaplace(center, Fraction(2), pair) for center, pair in zip(centers, words, strict=True))
        if abs(floats[0] - floats[1]) > 1e-9:
            assert is_above(one, other, rng) is (floats[0] > floats[1])


def test_numbers_that_share_their_first_words_are_told_apart_by_more():
    rng = np.random.default_rng(1)
    found = {is_above(*(LazyLaplace(Fraction(0), Fraction(1), [0, 12345]) for _ in range(2)), rng) for _ in range(40)}
    assert found == {True, False}


def test_a_uniform_that_begins_with_zeros_is_refined_and_not_guessed():
    rng = np.random.default_rng(2)
    assert is_above(LazyLaplace(Fraction(0), Fraction(1), [0, 0]), LazyLaplace(Fraction(0), Fraction(1), [0, 2**63]), rng)
    assert not is_above(LazyLaplace(Fraction(0), Fraction(1), [1, 0]), LazyLaplace(Fraction(0), Fraction(1), [0, 2**63]), rng)


def test_floats_decide_as_many_bits_do(monkeypatch):
    centers, draws = np.array([0.0, 0.5, -0.25]), 200
    quick = [
        lazy_laplace.largest_places(centers, 1.0, draws, np.random.default_rng(4)),
        lazy_laplace.first_places_above(centers, 1.0, 0.2, 0.5, draws, np.random.default_rng(4)),
    ]
    monkeypatch.setattr(lazy_laplace, "_SURE", 1 << 65)  # so that floats say nothing
    slow = [
        lazy_laplace.largest_places(centers, 1.0, draws, np.random.default_rng(4)),
        lazy_laplace.first_places_above(centers, 1.0, 0.2, 0.5, draws, np.random.default_rng(4)),
    ]
    assert all(np.array_equal(one, other) for one, other in zip(quick, slow, strict=True))
    monkeypatch.setattr(LazyLaplace, "interval", lambda self, context: (context.mpf(self._leading), context.mpf(self._leading)))
    wrong = lazy_laplace.largest_places(centers, 1.0, draws, np.random.default_rng(4))  # a mutant without signs is found out
    assert not np.array_equal(wrong, quick[0])


def test_the_largest_is_above_all_others():
    rng = np.random.default_rng(3)
    numbers = lazy_laplace.lazy(np.zeros(6), 1.0, lazy_laplace.draw_words(rng, 1, 6)[0])
    best = largest(numbers, rng)
    assert all(place == best or is_above(numbers[best], other, rng) for place, other in enumerate(numbers))
