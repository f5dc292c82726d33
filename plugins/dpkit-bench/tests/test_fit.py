"""The bench of fits compares methods on the same data, and knows the truth."""

import numpy as np
import pytest
from dpkit_bench import fit

pytest.importorskip("dpkit_irls")
pytest.importorskip("dpkit_stats")


def test_the_error_is_zero_at_the_truth_and_in_units_of_the_noise():
    data = fit.sample("normal", 50_000, 2, seed=1)
    assert data.error(data.truth) == 0.0
    assert data.error(data.truth + np.array([0.0, 0.0, fit.NOISE])) == pytest.approx(1.0)
    design = np.column_stack([data.x, np.ones(len(data.y))])
    assert data.error(np.linalg.lstsq(design, data.y, rcond=None)[0]) < 0.05
    other = fit.sample("outliers", 50_000, 2, seed=1)
    off = other.y - other.x @ other.truth[:-1] - other.truth[-1]
    assert np.mean(off > 10.0 * fit.NOISE) == pytest.approx(0.05, abs=0.01)


def test_both_private_fits_come_near_the_truth_with_many_rows():
    data = fit.sample("normal", 200_000, 1, seed=3)
    assert data.error(fit._bounded(data, 3)) < 0.1
    assert data.error(fit._statistics(data, 3)) < 1.0


def test_a_row_a_design_and_a_method():
    rows, notes = fit.measure_fit(rows=1_000, features=1, datasets=1)
    assert [row.peer for row in rows if row.peer != fit.PEER] == [fit.STATISTICS] * 2
    assert any("diffprivlib" in note for note in notes) == (len(rows) == 2)
    for row in rows:
        assert row.error_ratio == row.peer_error / row.ours_error
        assert row.ratio == row.peer_seconds / row.ours_seconds
