"""What is made of released histograms and matrices: places, ties, shapes, beliefs and errors."""

from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.bounded.column_centres import level_shares, located, shows_ties
from dpkit_irls.bounded.covariance import Covariances
from dpkit_irls.bounded.priors import less_sure, moderated, of_positions
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.schedule import schedule_for, step_shares
from dpkit_irls.bounded.shapes import Shape, blended, blended_along, eigen, floored, inverse, whitening
from dpkit_irls.bounded.step_query import Carried
from dpkit_irls.bounded.tuning import LINK_TUNING, TUNING

EDGES = np.linspace(-4.0, 4.0, 33)


def histogram(values, rng, spread=20.0):
    return np.histogram(values.clip(-4, 4), bins=EDGES)[0] + spread * rng.normal(size=32)


def placed(values, rng, spread=20.0, rows=None):
    counts = histogram(values, rng, spread)
    return located(counts, spread, EDGES, (0.0, 1.0), total=float(rows or values.size), size=6, tuning=TUNING)


def test_a_column_is_found_where_it_is_and_noise_alone_leaves_the_default():
    rng = np.random.default_rng(1)
    found = placed(rng.normal(2.2, 0.4, 3000), rng)
    assert found.centre == pytest.approx(2.2, abs=0.1)
    assert found.scale == pytest.approx(0.4, abs=0.15)
    lost = [placed(np.zeros(0), rng, rows=3000) for _ in range(40)]
    assert sum(abs(each.centre) > 0.5 for each in lost) <= 4
    assert all(0.5 < each.scale <= 4.0 for each in lost)


def test_ones_among_zeros_are_not_left_many_scales_away():
    rng = np.random.default_rng(2)
    values = np.where(rng.random(20_000) < 0.02, 3.875, -3.875)
    found = placed(values, rng)
    assert found.centre == pytest.approx(np.mean(values), abs=0.2)
    assert 7.75 / found.scale < 2.0 * np.sqrt(6)
    assert found.width == pytest.approx(8.0)


def test_a_column_of_one_value_keeps_what_was_declared():
    found = located(np.ones(4), 1.0, np.zeros(5), (0.0, 1.0), total=4.0, size=2, tuning=TUNING)
    assert (found.centre, found.scale) == (0.0, 1.0)


@pytest.mark.parametrize(("kind", "tied"), [("normal", False), ("narrow", False), ("yes or no", True), ("zeros", True)])
def test_ties_show_in_the_histogram_of_targets(kind, tied):
    rng = np.random.default_rng(3)
    values = {
        "normal": rng.normal(size=5000),
        "narrow": 0.05 * rng.normal(size=5000),
        "yes or no": np.where(rng.random(5000) < 0.32, 3.9, -3.9),
        "zeros": np.where(rng.random(5000) < 0.8, 0.1, rng.exponential(2.0, 5000)),
    }[kind]
    counts = histogram(values, rng)
    assert shows_ties(counts, 20.0, 5000.0, float(np.std(values)) / 0.25) is tied


def test_shares_of_levels_add_up_and_none_is_nothing():
    found = level_shares(np.array([700.0, 320.0, -50.0]), 1000.0)
    assert found == pytest.approx([0.69, 0.31, 0.001])


def test_a_matrix_is_believed_where_there_is_no_noise_and_the_base_where_there_is_nothing_else():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(4, 4))
    found = root @ root.T + np.eye(4)
    base = Shape(mean=np.diag([1.0, 2.0, 3.0, 4.0]), spread=np.zeros((4, 4)))
    assert blended(found, base, 1e-6, TUNING).mean == pytest.approx(found, rel=1e-6)
    hidden = blended(base.mean, base, 1e6, TUNING)
    assert hidden.mean == pytest.approx(base.mean)
    sizes = np.sqrt(np.outer(np.diag(base.mean), np.diag(base.mean)))
    assert hidden.spread == pytest.approx(np.sqrt(10.0) * sizes, rel=1e-3)  # unsure by what there may be, not by the noise


def test_whitening_decorrelates_and_lengthens_no_more_than_it_may():
    moments = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1e-4]])
    turn = whitening(moments, 1e-9, TUNING, longest=2.0, shortest=0.125)
    after = turn @ moments @ turn.T
    assert after - np.diag(np.diag(after)) == pytest.approx(np.zeros((3, 3)), abs=1e-3)
    assert turn[2, 2] == pytest.approx(2.0, rel=1e-3)


def test_wild_matrices_give_finite_ones():
    wild = np.full((3, 3), np.inf)
    wild[0, 0] = np.nan
    values, vectors = eigen(wild)
    assert np.isfinite(values).all()
    assert np.isfinite(vectors).all()
    assert np.linalg.eigvalsh(floored(-np.eye(3), 0.5)) == pytest.approx([0.5] * 3)


def test_errors_of_a_mixture_lie_between_its_own_and_hold_95_percent():
    rng = np.random.default_rng(5)
    parts = np.array([[[1.0]], [[9.0]]])
    zero = np.zeros((2, 1, 1))
    error = Covariances(noise=parts, sampling=zero, start=zero, apart=np.zeros((2, 1))).errors(np.eye(1))[0]
    draws = rng.normal(size=400_000) * rng.choice([1.0, 3.0], size=400_000)
    assert np.mean(np.abs(draws) < 1.96 * error) == pytest.approx(0.95, abs=0.002)
    alike = Covariances(noise=zero, sampling=np.full((2, 1, 1), 4.0), start=zero, apart=np.zeros((2, 1)))
    assert alike.errors(np.eye(1), rows_over=16.0) == pytest.approx([0.5])


def test_a_doubted_curvature_makes_intervals_wider_by_a_factor():
    zero, variances = np.zeros((1, 2, 2)), np.array([np.diag([4.0, 9.0])])
    sure = Covariances(noise=variances, sampling=zero, start=zero, apart=np.zeros((1, 2)))
    assert sure.wider(np.eye(2)) == pytest.approx([1.0, 1.0])
    doubted = replace(sure, noise=variances * np.array([1.44, 1.0])[:, None], undoubted=sure)
    assert doubted.wider(np.eye(2)) == pytest.approx([1.2, 1.0], rel=1e-6)


def test_beliefs_move_what_the_noise_hides_and_nothing_else():
    frame = Frame(columns=("a", "b", "y"), units=(1.0, 1.0), intercept=False, preconditioner=np.eye(2))
    noise = np.array([np.diag([1e-6, 100.0])])
    found = Covariances(noise=noise, sampling=np.array([np.eye(2)]), start=np.zeros((1, 2, 2)), apart=np.zeros((1, 2)))
    position, after = moderated(np.array([3.0, 30.0]), found, of_positions(frame, np.array([1.0, 1.0])))
    assert position == pytest.approx([3.0, 30.0 / 101.0], rel=1e-4)
    assert after.left(np.eye(2))[0] < 1e-4
    assert after.left(np.eye(2))[1] > 0.4
    assert inverse(np.diag([1e-8, 1e8])) == pytest.approx(np.diag([1e8, 1e-8]))


def test_the_threshold_grows_to_hubers_and_the_shares_of_steps_add_up():
    few, many = schedule_for(1.0, 16, TUNING), schedule_for(40.0, 16, TUNING)
    assert set(few.carried) == {Carried.SCATTER}
    assert set(many.carried) == set(Carried) - {Carried.WEIGHTED}
    assert set(schedule_for(40.0, 16, TUNING, linked=True).carried) == set(Carried) - {Carried.CURVATURE}
    assert (few.threshold, many.threshold) == pytest.approx((0.45, 1.345))
    for iterations in (1, 2, 5, 16, 40):
        for plenty in (0.5, 40.0, np.inf):
            assert sum(step_shares(plenty, iterations, TUNING)) == pytest.approx(1.0)
            schedule = schedule_for(min(plenty, 1e9), iterations, TUNING)
            assert len(schedule.carried) == iterations
            assert schedule.probe < schedule.fixed_from or schedule.few


def test_fresh_steps_carry_their_own_curvature_and_the_last_one_has_half_of_the_budget():
    fresh = schedule_for(300.0, 5, LINK_TUNING, linked=True, fresh=True)
    assert fresh.fresh
    assert fresh.carried == (*[Carried.WEIGHTED] * 3, Carried.MIDDLE, Carried.WEIGHTED)
    counts = schedule_for(300.0, 6, LINK_TUNING, linked=True, fresh=True, dispersed=True)
    assert counts.carried[2] is Carried.SCATTER
    assert not schedule_for(5.0, 5, LINK_TUNING, linked=True, fresh=True).fresh  # rows that tell little
    shares = step_shares(300.0, 5, LINK_TUNING, fresh=True)
    assert sum(shares) == pytest.approx(1.0)
    assert shares[-1] == pytest.approx(0.5, abs=0.02)


def test_what_is_flat_along_one_direction_is_seen_so_in_spite_of_the_others():
    rng = np.random.default_rng(9)
    axis = np.full(6, 6.0**-0.5)
    true = 3000.0 * np.eye(6) - 2900.0 * np.outer(axis, axis)
    base = Shape(mean=0.9 * true, spread=np.zeros((6, 6)))
    along, plain = [], []
    for _ in range(20):
        noise = rng.normal(size=(6, 6)) * 300.0
        found = true + np.tril(noise) / 2.0**0.5 + np.tril(noise, -1).T / 2.0**0.5 + np.diag(np.diag(noise)) * (1 - 2.0**-0.5)
        many = np.full(6, 1e6)
        seen = blended_along(found, base, 300.0, LINK_TUNING, plain=np.arange(6), counts=many)
        along.append(axis @ seen.mean @ axis)
        plain.append(axis @ blended(found, base, 300.0, LINK_TUNING, counts=many).mean @ axis)
    assert np.min(along) > 50.0
    assert np.max(along) < 200.0
    assert np.max(plain) > 200.0


def test_a_column_that_is_seen_to_be_wide_has_its_own_scale_whatever_its_range():
    rng = np.random.default_rng(12)
    values = rng.normal(1.0, 0.35, 3000)
    counts = histogram(values, rng, 40.0)
    args = {"total": 3000.0, "size": 6, "tuning": TUNING}
    assert located(counts, 40.0, EDGES, (0.0, 1.0), **args).scale == pytest.approx(0.35, abs=0.12)
    target = located(counts, 40.0, EDGES, (0.0, 1.0), weighs=False, **args)
    assert target.scale > 0.45, "a target is not weighed by its length, so rows that are hidden far away count"


def test_ones_that_are_seen_beside_zeros_are_not_taken_for_values_too_close_together():
    rng = np.random.default_rng(13)
    values = np.where(rng.random(20_000) < 0.04, 3.875, -3.875)
    assert placed(values, rng, spread=60.0).blur == 0.0


def test_an_entry_that_stands_apart_is_pulled_by_some_noise_at_most():
    base = Shape(mean=np.eye(5), spread=np.zeros((5, 5)))
    found = np.diag([0.3, 1.0, 1.0, 1.0, 1.0])
    seen = blended(found, base, 0.1, TUNING)
    assert seen.mean[0, 0] <= 0.3 + TUNING.pulled * 0.1 + 1e-9
    assert blended(found, base, 1.0, TUNING).mean[0, 0] > 0.6, "noise tells nothing of it"
    assert np.diag(seen.mean)[1:] == pytest.approx(1.0)


def test_rows_of_a_rare_level_have_little_to_do_with_other_entries():
    base, counts = Shape(mean=np.eye(3), spread=np.zeros((3, 3))), np.array([10_000.0, 10_000.0, 4.0])
    seen = blended(np.eye(3) + 0.3 * (np.ones((3, 3)) - np.eye(3)), base, 0.3, TUNING, counts=counts)
    assert seen.spread[0, 2] < TUNING.apart * np.sqrt(4.0 / 10_000.0) + 1e-9 < seen.spread[0, 1]


def test_what_the_noise_hides_of_a_shape_is_as_small_as_is_believed():
    base = Shape(mean=np.eye(4), spread=np.zeros((4, 4)))
    found = base.mean + np.diag([0.3, -0.3, 0.2, -0.1])
    free, held = (blended(found, base, 0.5, TUNING, **chosen) for chosen in ({}, {"unseen": 0.002}))
    assert np.diag(held.spread).max() < 0.05 < np.diag(free.spread).min()
    clear = blended(found, base, 1e-4, TUNING, unseen=0.002)
    assert clear.mean == pytest.approx(found, abs=1e-3), "what is seen is not what is believed"


@pytest.mark.parametrize("together", [0.0, 0.98])
def test_intervals_believe_little_of_effects_of_opposite_signs_where_columns_go_together(together):
    """Of columns that do not, only `start_wide` times as much is left open as the start says."""
    correlations = np.array([[1.0, together], [together, 1.0]])
    values, vectors = np.linalg.eigh(correlations)
    frame = Frame(
        columns=("a", "b", "y"), units=(1.0, 1.0), intercept=False, preconditioner=vectors / np.sqrt(values) @ vectors.T
    )
    start = 0.1 * np.eye(2)
    wider = frame.preconditioner @ less_sure(start, frame, np.ones(2), LINK_TUNING) @ frame.preconditioner.T
    of_start = frame.preconditioner @ start @ frame.preconditioner.T
    for signs in ((1.0, 1.0), (1.0, -1.0)):
        along = np.array(signs) / np.sqrt(2.0)
        believed, found = along @ of_start @ along, along @ wider @ along
        opposite = together > 0.0 and signs[0] != signs[1]
        expected = 1.0 / (LINK_TUNING.believed_less + (0.0 if opposite else 1.0 / (LINK_TUNING.start_wide * believed)))
        assert found == pytest.approx(expected, rel=0.02)
