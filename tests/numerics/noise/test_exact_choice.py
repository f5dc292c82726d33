"""Exact choices: the float boundaries, their margin, and the exact fallback agree."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpkit.numerics.noise import exact_choice
from dpkit.numerics.noise.exact_choice import choices_by_row, cumulative, exponential_choices, margin

GAPS = [Fraction(0), Fraction(1, 3), Fraction(7, 2), Fraction(0), Fraction(40), Fraction(1, 1000)]


def draw(size, rng, gaps=GAPS):
    floats = np.array([float(gap) for gap in gaps])
    return exponential_choices(floats, exact=lambda i: gaps[i], size=size, rng=rng)


def probabilities(gaps=GAPS):
    weights = [mpmath.exp(-mpmath.mpf(gap.numerator) / gap.denominator) for gap in gaps]
    return np.array([float(weight / mpmath.fsum(weights)) for weight in weights])


def test_each_candidate_has_its_probability():
    counts = np.bincount(draw(300_000, np.random.default_rng(3)), minlength=len(GAPS))
    expected = probabilities() * 300_000
    keep = expected > 8
    assert stats.chi2.sf(np.sum((counts[keep] - expected[keep]) ** 2 / expected[keep]), keep.sum() - 1) > 1e-6


def test_the_exact_fallback_agrees_with_the_fast_path(monkeypatch):
    fast = draw(400, np.random.default_rng(3))
    monkeypatch.setattr(exact_choice, "margin", lambda count: 1.0)
    assert np.array_equal(draw(400, np.random.default_rng(3)), fast)


@pytest.mark.parametrize("boundary", range(1, len(GAPS)))
@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 3])
def test_a_word_beside_a_boundary_is_decided_exactly(judges, boundary, offset):
    with mpmath.workprec(400):
        weights = [mpmath.exp(-mpmath.mpf(gap.numerator) / gap.denominator) for gap in GAPS]
        exact = mpmath.fsum(weights[:boundary]) / mpmath.fsum(weights) * 2**64
        word = int(mpmath.floor(exact)) + offset
        sums = [mpmath.fsum(weights[:i]) / mpmath.fsum(weights) * 2**64 for i in range(len(GAPS) + 1)]
        below = max(i for i in range(len(GAPS)) if sums[i] <= word)
        above = max(i for i in range(len(GAPS)) if sums[i] < word + 1)
    chosen = int(draw(1, judges.Scripted([word]))[0])
    assert chosen in {below, above}
    if below == above:
        assert chosen == below


def test_a_margin_of_nothing_is_caught(monkeypatch):
    """Beside a boundary the float comparison alone is wrong for some words: the margin is needed."""
    gaps = [Fraction(i, 7) for i in range(3000)]
    floats = np.array([float(gap) for gap in gaps])
    boundaries = cumulative(np.exp(-floats))
    boundaries /= boundaries[-1]
    with mpmath.workprec(200):
        weights = [mpmath.exp(-mpmath.mpf(i) / 7) for i in range(3000)]
        total, running, wrong = mpmath.fsum(weights), mpmath.mpf(0), 0.0
        for i in range(60):
            running += weights[i]
            wrong = max(wrong, abs(float(running / total - mpmath.mpf(float(boundaries[i])))))
    assert 0.0 < wrong < margin(3000) / 8


@pytest.mark.parametrize("count", [1, 2, 1023, 1024, 1025, 5000])
def test_cumulative_sums_keep_their_margin(count):
    weights = np.random.default_rng(1).random(count)
    exact = np.array([float(total) for total in np.cumsum([Fraction(float(w)) for w in weights])])
    assert cumulative(weights) == pytest.approx(exact, rel=(1024 + count / 1024 + 3) * 2.0**-53)


def test_one_candidate_is_always_chosen():
    assert draw(5, np.random.default_rng(1), [Fraction(0)]).tolist() == [0] * 5


def test_choices_are_independent(judges):
    jittered = draw(30_000, np.random.default_rng(9)) + np.random.default_rng(10).random(30_000)
    judges.assert_uncorrelated(jittered)


OF_ROWS = [GAPS, [Fraction(0), Fraction(2)], [Fraction(5), Fraction(0), Fraction(1, 9)]]


def draw_by_row(rows, rng):
    gaps = np.full((len(OF_ROWS), len(GAPS) + 2), np.inf)
    for row, listed in enumerate(OF_ROWS):
        gaps[row, : len(listed)] = [float(gap) for gap in listed]
    counts = np.array([len(listed) for listed in OF_ROWS])
    return choices_by_row(gaps, rows=rows, counts=counts, exact=lambda row, i: OF_ROWS[row][i], rng=rng)


@pytest.mark.parametrize("exactly", [False, True])
def test_rows_that_are_drawn_together_draw_what_each_draws_alone(monkeypatch, exactly):
    if exactly:
        monkeypatch.setattr(exact_choice, "margin", lambda count: 1.0)
    rows = np.repeat(np.arange(len(OF_ROWS)), 100)
    alone = np.random.default_rng(6)
    one_by_one = [draw(100, alone, gaps) for gaps in OF_ROWS]
    together = draw_by_row(rows, np.random.default_rng(6))
    assert np.array_equal(together, np.concatenate(one_by_one))
    assert np.array_equal(together, draw_by_row(rows, np.random.default_rng(6)))


@pytest.mark.parametrize("word", [0, 2**64 - 1])
@pytest.mark.parametrize("row", range(len(OF_ROWS)))
def test_the_first_and_the_last_word_choose_the_ends_of_a_row(judges, word, row):
    chosen = int(draw_by_row(np.array([row]), judges.Scripted([word]))[0])
    assert chosen == (0 if word == 0 else len(OF_ROWS[row]) - 1)
