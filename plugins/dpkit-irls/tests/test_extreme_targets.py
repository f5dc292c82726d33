"""Targets that are far smaller than their range, follow a line closely, or are all alike."""

import numpy as np
import pytest
from dpkit_irls import PrivateRobustRegressor
from dpkit_irls.bounded.histograms import likely_window
from dpkit_irls.bounded.influence_query import Octaves
from dpkit_irls.bounded.notes_of_fit import GUESSED, HIDDEN, TIES, UNSEEN
from dpkit_irls.bounded.stages import _all_at

SLOPES = np.array([1.0, -2.0, 0.5])


def fitted(seed, *, rows=1000, noise=0.1, epsilon=1.0, times=1.0, bounds=None):
    rng = np.random.default_rng([seed, rows])
    x = rng.normal(size=(rows, 3))
    y = times * (x @ SLOPES + 3.0 + noise * rng.normal(size=rows))
    return PrivateRobustRegressor(epsilon=epsilon, bounds=bounds, random_state=seed).fit(x, y)


@pytest.mark.parametrize("times", [1.0, 0.01])
def test_residuals_are_followed_however_wide_the_range_is(times):
    """Without bounds the range is 2^40 either way; a threshold that stops at a part of that is a hundred times too large."""
    for seed in range(2):
        model = fitted(seed, times=times)
        assert np.max(np.abs(model.coef_ / times - SLOPES)) < 0.03
        assert TIES not in model.notes_


def test_a_strong_signal_is_not_taken_for_ties():
    """Steps of the first fits still move by more than the residuals: a quarter of the threshold holds nearly all."""
    for seed in range(2):
        model = fitted(seed, rows=5000, epsilon=8.0, bounds=(-50, 50))
        assert TIES not in model.notes_
        assert model.fit_.scale == pytest.approx(0.1, rel=0.3)


@pytest.mark.parametrize("rows", [1000, 5000])
def test_a_target_of_zeros_is_answered_near_zero_with_a_note(rows):
    for seed in range(2):
        model = fitted(seed, rows=rows, times=0.0)
        found, errors = np.array([*model.coef_, model.intercept_]), np.array([*model.standard_errors_, model.intercept_error_])
        assert np.max(errors) < 50.0
        assert np.all(np.abs(found) < 4.0 * errors)
        assert UNSEEN in model.notes_


@pytest.mark.parametrize("seed", [53, 130])
def test_a_unit_that_only_the_noise_shows_is_not_kept_where_all_targets_are_in_one_bin(seed):
    """With these seeds the noise pointed at targets of a million and a billion, and so did the intercept."""
    model = fitted(seed, times=0.0)
    found, errors = np.array([*model.coef_, model.intercept_]), np.array([*model.standard_errors_, model.intercept_error_])
    assert np.max(errors) < 1.0
    assert np.all(np.abs(found) < 3.0 * errors)
    assert UNSEEN in model.notes_


def test_a_bin_holds_a_place_within_it_or_at_its_end():
    edges = np.array([-2.0, 0.0, 2.0, 4.0])
    for counts, found in (
        ([0.0, 950.0, 30.0], True),
        ([950.0, 0.0, 0.0], True),
        ([0.0, 0.0, 950.0], False),
        ([0.0, 750.0, 0.0], False),
    ):
        assert _all_at(0.0, np.array(counts), 40.0, edges, 1000.0) is found


def test_octaves_that_stand_out_are_taken_wherever_they_are():
    octaves, rng = Octaves(low=-7, bins=48), np.random.default_rng(1)
    for rows, place in ((0.0, None), (150.0, 40)):
        counts = 20.0 * rng.normal(size=(200, 48))
        if place is not None:
            counts[:, place : place + 2] += rows
        found = [likely_window(each, octaves, spread=20.0, window=4, surely=3.5, octave=0.3) for each in counts]
        clear = np.mean([is_clear for _, is_clear in found])
        if place is None:
            assert clear < 0.05
            assert np.mean([abs(start - 5) < 12 for start, _ in found]) > 0.9
        else:
            assert clear > 0.95
            assert np.mean([place - 3 <= start <= place + 1 for start, _ in found]) > 0.95


@pytest.mark.filterwarnings("ignore:.*rows are few:UserWarning")
@pytest.mark.parametrize("seed", range(250_000, 250_006))
def test_a_guessed_unit_makes_intervals_as_wide_as_the_declared_range(seed):
    """Targets of about 20,000 that the noise hid were taken to be near 1: coefficients of -0.0001 +- 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(400, 3))
    y = np.exp(10.0 + 0.3 * x[:, 0] + 0.6 * rng.normal(size=400))
    model = PrivateRobustRegressor(epsilon=0.5, bounds={"target": (0, 1e6)}, random_state=seed).fit(x, y)
    assert abs(model.coef_[0] - 6700.0) < 4.0 * model.standard_errors_[0]
    if GUESSED in model.notes_:
        assert np.min(model.standard_errors_) > 1e5
        assert any(note.startswith(HIDDEN) and "x0, x1, x2, intercept" in note for note in model.notes_)


@pytest.mark.filterwarnings("ignore:.*rows are few:UserWarning")
def test_a_column_without_bounds_whose_unit_is_hidden_is_not_known():
    """100 rows without bounds stated errors of 1e-11."""
    for seed in range(250_000, 250_006):
        model = fitted(seed, rows=100)
        assert np.all(np.abs(model.coef_ - SLOPES) < 4.0 * model.standard_errors_)
        assert np.min(model.standard_errors_) > 0.01
