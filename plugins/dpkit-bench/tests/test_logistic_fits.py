"""The bench of logistic regressions: peers solve their own problem, noise is what it costs, and needs are read off gaps."""

import math

import numpy as np
import pytest
from dpkit_bench import logistic_fits as bench

pytest.importorskip("dpkit_irls")
from dpkit_irls.measuring.answer_designs import answer_designs, log_loss, plain_logistic


def test_a_need_is_where_gaps_cross():
    assert bench.need_of((100, 200, 400), (0.04, 0.02, 0.005)) == pytest.approx(200 * 2**0.5)
    assert bench.need_of((100, 200), (0.009, 0.001)) == 100.0
    assert bench.need_of((100, 200), (0.09, 0.05)) == math.inf


def test_without_privacy_the_fit_is_near_the_truth():
    design = answer_designs()["rare levels"]
    x, y = design.draw(np.random.default_rng(0), 40_000)
    test, shares = design.tested(np.random.default_rng(1))
    best = log_loss(test, shares, design.truth)
    assert best < log_loss(test, shares, plain_logistic(design.entries(x), y)) < best + 2e-3


def test_peers_without_noise_come_near_the_fit_without_privacy(monkeypatch):
    design = answer_designs()["isotropic"]
    x, y = design.draw(np.random.default_rng(0), 4_000)
    test, shares = design.tested(np.random.default_rng(1))
    base = log_loss(test, shares, plain_logistic(design.entries(x), y))
    monkeypatch.setattr(bench, "_noise_of", lambda rate, steps: 0.0)
    found = bench._descended(design, x, y, (0.3, 100, 3.0, 1.0), np.random.default_rng(2))
    assert log_loss(test, shares, found) < base + 0.01
    monkeypatch.setattr(bench, "BUDGET", bench.ApproxDP(epsilon=1e4, delta=1e-6))
    found = bench._perturbed(design, x, y, (1.0, 1e-3), np.random.default_rng(2))
    assert log_loss(test, shares, found) < base + 0.01


def test_entries_in_bounds_go_back_to_columns():
    design = answer_designs()["rare levels"]
    x, _ = design.draw(np.random.default_rng(0), 50)
    rows, back = bench.in_bounds(design, x)
    coefficients = np.random.default_rng(1).normal(size=rows.shape[1])
    assert rows @ coefficients == pytest.approx(design.entries(x) @ (back @ coefficients))
    assert np.max(np.abs(rows)) <= 1.0


def test_a_row_a_design_and_a_method():
    rows, notes = bench.measure_logistic(datasets=1, sizes=(500,), names=("isotropic",))
    assert [row.method for row in rows if row.method != bench.PEER] == ["DP-SGD", "objective perturbation", bench.OURS]
    assert any("diffprivlib" in note for note in notes) == (len(rows) == 3)
    assert "gap at 500" in bench.as_markdown(rows)
