"""What gradients tell together: the root, and a curvature that is smaller than its shape says."""

from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.bounded.evidence import CurvatureEvidence, Step, bends, corrected
from dpkit_irls.bounded.notes_of_fit import SLOW
from dpkit_irls.bounded.shapes import Seen, Shape, by_directions, by_entries, told_factors
from dpkit_irls.bounded.tuning import TUNING
from dpkit_irls.measuring import coverage
from dpkit_irls.measuring.designs import Design

ROOT = np.array([2.0, -1.0, 0.5, 1.0])
SHAPE = np.diag([50.0, 20.0, 10.0, 40.0])


def made(curvature, *, noise=1.0, seed=0, steps=16, gain=0.2):
    """Steps towards the root, each by a part of what the shape says."""
    rng, position, found = np.random.default_rng(seed), np.zeros(4), []
    for _ in range(steps):
        gradient = curvature @ (ROOT - position) + noise * rng.normal(size=4)
        found.append(Step(position=position, gradient=gradient, noise=noise**2 * np.eye(4), threshold=1.0, slope=1.0))
        position = position + gain * np.linalg.solve(SHAPE, gradient)
    return found, position


def evidence(steps, seen=None, **chosen):
    return CurvatureEvidence.of(steps, 1e6 * np.eye(4), 1.0, seen, replace(TUNING, **chosen))


def test_root_is_that_of_least_squares():
    steps, _ = made(SHAPE)
    found = evidence(steps, bending=0.0).roots(SHAPE[None])
    told = np.concatenate([step.gradient + SHAPE @ step.position for step in steps])
    plain = np.linalg.lstsq(np.vstack([SHAPE] * len(steps)), told, rcond=None)[0]
    assert found.positions[0] == pytest.approx(plain, rel=1e-6)
    assert found.variances[0] == pytest.approx(np.linalg.inv(len(steps) * SHAPE @ SHAPE), rel=1e-6)


def test_steps_at_another_threshold_say_nothing():
    steps, _ = made(SHAPE)
    steps += [replace(step, gradient=step.gradient + 1e3, threshold=50.0) for step in steps]
    assert evidence(steps).roots(SHAPE[None]).positions[0] == pytest.approx(ROOT, abs=0.1)


def test_curvature_that_is_smaller_along_the_signal_is_found():
    along = ROOT / np.sqrt(ROOT @ SHAPE @ ROOT)
    curvature = SHAPE - 0.7 * np.outer(SHAPE @ along, SHAPE @ along)
    steps, position = made(curvature)
    found = corrected(evidence(steps), SHAPE, position, constant=False, tuning=TUNING)
    assert found.clearly
    plain = evidence(steps).roots(SHAPE[None]).positions[0]
    assert np.linalg.norm(plain + found.further - ROOT) < 0.5 * np.linalg.norm(plain - ROOT)


@pytest.mark.parametrize("seed", range(8))
def test_curvature_that_is_right_is_left(seed):
    steps, position = made(SHAPE, noise=20.0, seed=seed)
    found = corrected(evidence(steps), SHAPE, position, constant=True, tuning=TUNING)
    assert not found.clearly
    assert np.abs(found.further) == pytest.approx(0.0, abs=0.3)


def test_released_curvature_speaks_where_gradients_do_not():
    along = ROOT / np.sqrt(ROOT @ SHAPE @ ROOT)
    seen = Seen(matrix=SHAPE - 0.6 * np.outer(SHAPE @ along, SHAPE @ along), spread=0.3)
    steps, _ = made(SHAPE, noise=1e3)
    assert not corrected(evidence(steps), SHAPE, ROOT, constant=False, tuning=TUNING).clearly
    assert corrected(evidence(steps, seen), SHAPE, ROOT, constant=False, tuning=TUNING).clearly


def test_bend_changes_the_shape_along_its_direction_alone():
    steps, _ = made(SHAPE)
    factors = np.array([[0.25, 1.0, 0.0]])
    (turn,) = bends(evidence(steps), SHAPE, ROOT, factors, constant=False).turns
    bent = turn @ SHAPE @ turn.T
    assert ROOT @ bent @ ROOT == pytest.approx(0.25 * ROOT @ SHAPE @ ROOT)
    other = np.array([1.0, 0.0, 0.0, -(SHAPE @ ROOT)[0] / (SHAPE @ ROOT)[3]])  # apart from the signal as the shape measures it
    assert other @ bent @ other == pytest.approx(other @ SHAPE @ other)


def test_moved_centre_widens_the_constant_alone():
    steps, _ = made(SHAPE)
    (turn,) = bends(evidence(steps), SHAPE, ROOT, np.array([[1.0, 1.0, 0.6]]), constant=True).turns
    widened = np.diag(np.linalg.inv(turn @ SHAPE @ turn.T)) / np.diag(np.linalg.inv(SHAPE))
    assert widened == pytest.approx([1.0, 1.0, 1.0, 1.36])


def test_entries_follow_what_is_seen_as_far_as_the_noise_lets_it():
    shape = Shape(mean=SHAPE, spread=np.zeros((4, 4)))
    clear = by_entries(shape, Seen(matrix=0.5 * SHAPE, spread=1e-6), TUNING)
    assert np.diag(clear.mean) == pytest.approx(0.5 * np.diag(SHAPE), rel=1e-2)
    hidden = by_entries(shape, Seen(matrix=0.5 * SHAPE, spread=1e6), TUNING)
    assert hidden.mean == pytest.approx(SHAPE, rel=1e-3)


def test_what_is_clearly_seen_of_an_entry_is_not_pulled_to_what_is_believed():
    """Rare rows are long and count five times as much as a scatter says: by five standard deviations of the noise."""
    model = np.array([100.0, 100.0])
    factors, unsure = told_factors(model, np.array([500.0, 130.0]), 80.0, TUNING)
    assert 3.5 < factors[0] < 5.2
    assert factors[1] < 1.1  # a third of a standard deviation says hardly anything
    assert 0.1 < unsure[0] < 0.3
    assert np.all(told_factors(model, None, 1.0, TUNING)[0] == pytest.approx(1.0))


def test_a_direction_in_which_little_curvature_is_seen_has_little_and_no_other_changes():
    direction, other = np.array([0.6, -0.8, 0.0, 0.0]), np.array([0.8, 0.6, 0.0, 0.0])
    shape = Shape(mean=100.0 * np.eye(4), spread=np.zeros((4, 4)))
    less = shape.mean - 70.0 * np.outer(direction, direction)
    found = by_directions(shape, Seen(matrix=less, spread=10.0), np.vstack([direction, -7.0 * direction, other]), TUNING).mean
    assert direction @ found @ direction == pytest.approx(30.0, abs=6.0)  # once, though it is named twice
    assert other @ found @ other == pytest.approx(100.0, abs=2.0)
    assert other @ found @ direction == pytest.approx(0.0, abs=1e-9)
    more = by_directions(shape, Seen(matrix=3.0 * shape.mean, spread=10.0), direction[None], TUNING)
    assert np.array_equal(more.mean, shape.mean)  # an interval is not made narrower for it


def test_residuals_that_grow_with_a_skewed_column_do_not_break_intervals(monkeypatch):
    """d = 10, 3,000 rows, epsilon 1: the slope was short by 8 stated errors or more where steps knew no curvature."""

    def draw(rng, rows):
        x = rng.normal(size=(rows, 10))
        x[:, 0] = np.exp(0.8 * x[:, 0])
        return x

    def noise(rng, signal):
        return np.maximum(signal / 5.0, 0.0) ** 1.5 * rng.normal(size=signal.size)

    design = Design(
        name="grows",
        draw=draw,
        bounds=((0.0, 100.0), *((-10.0, 10.0),) * 9),
        target_bounds=(-2e3, 2e3),
        slopes=(5.0, *(0.0,) * 9),
        noise=noise,
    )
    monkeypatch.setattr(coverage, "FIRST_SEED", 1_000)
    monkeypatch.setitem(coverage.other_designs(), "grows", design)
    rows = [coverage.errors_of(coverage.Case(design="grows", rows=3_000, epsilon=1.0), number) for number in range(8)]
    far = np.array([abs(row[0][0]) / row[1][0] for row in rows])
    assert np.median(far) < 2.0
    assert np.max(far) < 5.0


def test_note_says_what_to_do():
    assert "logarithm" in SLOW
