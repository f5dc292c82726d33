"""The released view of rows and the way back to columns: predictions are the same in both, whatever was centred and turned."""

from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.scaled_rows import FAR, Frame
from dpkit_irls.rows.dummies import predicted
from dpkit_irls.rows.fixed_point import STEP

LAYOUT = Layout(levels=(0, 3, 0, 2), intercept=True)


def framed(layout, rng, references):
    size = layout.size
    return Frame(
        columns=("a", "g", "b", "h", "y"),
        units=tuple(rng.uniform(0.5, 4.0, size=layout.entries)),
        centres=tuple(rng.normal(size=layout.entries)) if layout.intercept else (0.0,) * layout.entries,
        intercept=layout.intercept,
        preconditioner=np.eye(size) + 0.2 * rng.normal(size=(size, size)),
        levels=layout.levels,
        references=references,
        origin=0.7 if layout.intercept else 0.0,
    )


def rows_of(rng, count=50):
    return np.column_stack(
        [
            rng.normal(size=count),
            rng.integers(0, 3, count),
            rng.normal(size=count),
            rng.integers(0, 2, count),
            rng.normal(size=count),
        ]
    )


@pytest.mark.parametrize("references", [(0, 0, 0, 0), (0, 2, 0, 1)])
def test_coefficients_of_columns_predict_what_the_position_does(references):
    rng = np.random.default_rng(1)
    frame, block = framed(LAYOUT, rng, references), rows_of(rng)
    position = rng.normal(size=LAYOUT.size)
    prepared = frame.prepared(block)
    z = prepared[:, :-2] * STEP * prepared[:, -2:-1]
    found = LAYOUT.to_columns(frame) @ position
    by_columns = predicted(block[:, :-1], frame.levels, found[:-1]) + found[-1] + frame.origin
    assert by_columns == pytest.approx(z @ position + frame.origin, abs=1e-4)


def test_without_a_constant_nothing_is_centred_and_the_first_level_is_the_reference():
    rng = np.random.default_rng(2)
    layout = replace(LAYOUT, intercept=False)
    frame, block = framed(layout, rng, (0, 0, 0, 0)), rows_of(rng)
    position = rng.normal(size=layout.size)
    prepared = frame.prepared(block)
    z = prepared[:, :-2] * STEP * prepared[:, -2:-1]
    found = layout.to_columns(frame) @ position
    assert predicted(block[:, :-1], frame.levels, found) == pytest.approx(z @ position, abs=1e-4)


def test_a_start_is_taken_off_the_target_and_levels_count_against_the_first():
    frame = replace(framed(LAYOUT, np.random.default_rng(3), (0, 2, 0, 1)), start=(2.0, 10.0, 20.0, -1.0, 5.0))
    block = np.array([[1.0, 2.0, 3.0, 1.0, 100.0], [1.0, 0.0, 3.0, 0.0, 100.0]])
    assert frame.targets(block) + frame.origin == pytest.approx([100.0 - (2.0 + 20.0 - 3.0 + 5.0), 100.0 - (2.0 - 3.0)])


def test_weights_are_as_said_and_rows_beyond_the_grid_are_zero():
    frame = Frame(columns=("x", "y"), units=(1.0,), intercept=False, preconditioner=np.eye(1), near=2.0, far=8.0)
    lengths = np.array([0.0, 1.0, 2.0, 4.0, 16.0, 1e9, 1e99])
    prepared = frame.prepared(np.column_stack([lengths, np.ones(lengths.size)]))
    assert prepared[:, 0] * STEP == pytest.approx([0.0, 0.5, 1.0, 1.0, 0.5, 0.0, 0.0], abs=1e-5)
    assert prepared[:5, 0] * STEP * prepared[:5, 1] == pytest.approx(lengths[:5], rel=1e-5)
    assert np.isfinite(prepared).all()
    assert replace(frame, near=0.0, far=FAR).prepared(np.array([[1e-300, 1.0]]))[0, 0] == pytest.approx(1.0 / STEP)


def test_the_layout_counts_entries_and_what_is_whitened():
    assert LAYOUT.starts == (0, 1, 3, 4)
    assert LAYOUT.numbers == (0, 3)
    assert LAYOUT.plain.tolist() == [0, 3, 5]
    assert LAYOUT.size == 6
    turn = LAYOUT.turn(np.full((3, 3), 7.0))
    assert turn[0, 5] == 7.0
    assert turn[1, 1] == 1.0
    assert turn[0, 1] == 0.0


def test_rows_of_a_gradient_are_kept_for_the_next_position_and_those_of_a_scatter_are_not():
    from dpkit_irls.bounded.influence_query import gradient
    from dpkit_irls.queries import frame_of

    frame = frame_of(2)
    first, second = (gradient(frame, np.full(2, at), 0.5).preparation for at in (0.1, 0.2))
    assert first is second
    assert first.keep
    assert not frame.preparation.keep
