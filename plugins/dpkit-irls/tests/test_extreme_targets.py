"""Targets that are far smaller than their range, follow a line closely, or are all alike."""

import numpy as np
import pytest
from dpkit_irls import PrivateRobustRegressor
from dpkit_irls.bounded.histograms import likely_window
from dpkit_irls.bounded.influence_query import Octaves
from dpkit_irls.bounded.notes_of_fit import TIES, UNSEEN
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
