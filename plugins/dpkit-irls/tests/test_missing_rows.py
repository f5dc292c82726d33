"""Rows with missing cells contribute nothing: the fit is that of the others, and says so where released values show it."""

import numpy as np
import pytest
from dpkit_irls import PrivateRobustRegressor


def fitted(share, *, rows=5000, epsilon=2.0):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(rows, 3)) + np.array([0.0, 5.0, 0.0])
    y = x @ [1.0, -2.0, 0.5] + 3.0 + rng.normal(size=rows)
    x[rng.random(rows) < share, 0] = np.nan
    return PrivateRobustRegressor(epsilon=epsilon, bounds=(-20, 20), random_state=1).fit(x, y)


def notes(model):
    return [note for note in model.notes_ if "of the rows count" in note or "Hardly any" in note]


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_the_scale_of_residuals_is_that_of_the_rows_that_count(share):
    model = fitted(share)
    assert model.fit_.scale == pytest.approx(1.0, abs=0.15)
    assert np.all(np.abs(model.coef_ - [1.0, -2.0, 0.5]) < 5.0 * model.standard_errors_)
    (note,) = notes(model)
    assert float(note.split("%")[0].split()[-1]) == pytest.approx(100.0 * (1.0 - share), abs=5.0)


def test_nothing_is_said_where_all_rows_count():
    assert notes(fitted(0.0)) == []


def test_a_column_that_is_missing_throughout_is_told():
    model = fitted(1.0)
    (note,) = notes(model)
    assert "missing throughout" in note
    assert "Hidden" in " ".join(model.notes_)


def test_few_rows_that_count_are_told_as_few():
    assert any("rows are few for this budget" in note for note in fitted(0.9, rows=2000, epsilon=1.0).notes_)
