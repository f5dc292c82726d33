"""What a fit estimates: stated, computed without privacy by another route, approached as noise vanishes, held by intervals."""

import json

import dpkit_irls
import numpy as np
import pytest
from dpkit_irls.fit import Fit
from dpkit_irls.measuring import coverage
from dpkit_irls.measuring.coverage import Case, Coverage, errors_of, fitted, gap_to_estimand, summary
from dpkit_irls.simulated_run import last_state
from scipy.optimize import minimize

import dpkit

NAMES = ["off-centre", "rare levels", "zero-inflated", "yes or no"]


def test_the_estimand_is_the_root_of_what_it_says_found_by_another_route():
    fit, block = fitted(Case(design="off-centre", rows=800, epsilon=50.0), 0)
    found = dpkit_irls.estimand_of(fit, block[:, :-1], block[:, -1])
    frame, k = fit.frame, fit.threshold
    x = (block[:, :-1] - frame.centres) / frame.units
    z = np.column_stack([x, np.ones(len(x))]) @ frame.preconditioner
    length = np.linalg.norm(z, axis=1)
    weight = np.minimum(1, length / frame.near) * np.minimum(1, frame.far / length) / length
    y = block[:, -1] - frame.origin

    def loss(position):
        residuals = y - z @ position
        inside = np.abs(residuals) <= k
        values = np.where(inside, residuals**2 / 2, k * np.abs(residuals) - k * k / 2)
        return weight @ values, -(z.T @ (weight * np.clip(residuals, -k, k)))

    other = minimize(loss, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    slopes = (frame.preconditioner @ other)[:-1] / frame.units
    constant = (frame.preconditioner @ other)[-1] - slopes @ frame.centres + frame.origin
    assert slopes == pytest.approx(found.coefficients, abs=0.01 * min(found.standard_errors))
    assert constant == pytest.approx(found.intercept, abs=0.01 * found.intercept_error)
    assert f"{k:.5g}" in fit.estimand
    assert f"{frame.near:.4g}" in fit.estimand


@pytest.mark.parametrize("name", NAMES)
def test_without_noise_a_fit_is_its_estimand(name):
    assert gap_to_estimand(Case(design=name, rows=8_000, epsilon=5_000.0), 1) < 0.1


def test_with_ties_the_curvature_is_that_of_the_residuals_below_the_threshold():
    case = Case(design="80% zeros", rows=8_000, epsilon=20.0)
    block = coverage.designs()[case.design].rows(case.rows, np.random.default_rng(5))
    algorithm = coverage._prepared(case.design, case.rows)
    state = last_state(algorithm, coverage._noise(case.epsilon), block, np.random.default_rng(6))
    fit = algorithm.result(state)
    residuals = block[:, -1] - block[:, :-1] @ fit.coefficients - fit.intercept
    inside = np.mean(np.abs(residuals) < fit.threshold)
    near = np.mean(np.sqrt(1.0 - np.clip(residuals / fit.threshold, -1.0, 1.0) ** 2))
    assert state.filter.tied
    assert state.filter.gains[-1].slope * fit.threshold == pytest.approx(inside, rel=0.08)
    assert min(1.0, near * 4.0 / np.pi) > 1.1 * inside, "evenly spread residuals, which these are not"


def test_a_fit_far_from_its_estimand_is_seen(monkeypatch):
    """A mutant: steps that are far too short."""
    monkeypatch.setattr("dpkit_irls.bounded.filter.damped", lambda move, *rest: 0.05 * move)
    assert gap_to_estimand(Case(design="off-centre", rows=8_000, epsilon=5_000.0), 1) > 1.0


def test_intervals_hold_off_centre_columns_and_overconfident_ones_do_not(monkeypatch):
    """Of 12 fits of 5 coefficients; 95% intervals would hold 57 on average, and below 48 once in 10^5."""
    case = Case(design="off-centre", rows=1_000, epsilon=1.0)
    rows = [errors_of(case, number) for number in range(12)]
    assert summary(rows).within_three > 0.98
    assert np.mean([np.abs(row[0]) <= 1.96 * np.array(row[1]) for row in rows]) >= 48 / 60

    def overconfident(*arguments, **named):
        return 0.25 * mixed(*arguments, **named)

    mixed = dpkit_irls.bounded.covariance._mixed
    monkeypatch.setattr("dpkit_irls.bounded.covariance._mixed", overconfident)
    rows = [errors_of(case, number) for number in range(12)]
    assert np.mean([np.abs(row[0]) <= 1.96 * np.array(row[1]) for row in rows]) < 0.7


def test_yes_or_no_is_a_linear_probability_with_a_note_that_names_logistic():
    fit, block = fitted(Case(design="yes or no", rows=3_000, epsilon=1.0), 2)
    plain = np.linalg.lstsq(np.column_stack([block[:, :-1], np.ones(len(block))]), block[:, -1], rcond=None)[0]
    assert fit.coefficients == pytest.approx(plain[:-1], abs=0.06)
    assert sum("`logistic`" in note for note in fit.notes) == 2  # by public bounds, and by ties that were seen
    assert "spreads of the target" in fit.estimand


def test_a_rare_level_is_near_and_one_that_noise_hides_says_so():
    fit, _ = fitted(Case(design="rare levels", rows=20_000, epsilon=1_000.0), 3)
    assert fit.coefficients[3:] == pytest.approx((0.5, -1.0, 1.0, 0.3, -0.7, 1.5, -1.5), abs=0.35)
    hidden, _ = fitted(Case(design="rare levels", rows=1_000, epsilon=1.0), 3)
    assert any(note.startswith("Levels of c0") and "l7" in note for note in hidden.notes)
    assert any(note.startswith("Hidden by the noise") for note in hidden.notes)
    assert max(map(abs, hidden.coefficients)) < 20.0


def test_what_a_fit_shows_as_json_has_its_estimand_and_not_its_frame():
    fit, _ = fitted(Case(design="weeks alone", rows=800, epsilon=1.0), 4)
    shown = fit.as_json()
    assert shown["estimand"] == fit.estimand
    assert "frame" not in shown
    assert json.dumps(shown)
    bare = Fit(form="moments", features=("x",), coefficients=(1.0,), intercept=0.0, iterations=1)
    with pytest.raises(dpkit.InvalidValueError, match="without a frame"):
        dpkit_irls.estimand_of(bare, np.zeros((1, 1)), np.zeros(1))


def test_measurements_are_kept_and_go_on(tmp_path, monkeypatch):
    case = Case(design="weeks alone", rows=500, epsilon=1.0)
    Coverage(path=tmp_path / "kept.json", processes=1).measure([(case, 2)])
    kept = Coverage(path=tmp_path / "kept.json", processes=1)
    assert len(kept.rows[case.key]) == 2
    monkeypatch.setattr(coverage, "_measured", None)  # nothing is missing, so nothing is measured
    kept.measure([(case, 2)])
    assert summary(kept.rows[case.key]).fits == 2
