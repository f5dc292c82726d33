"""What every entry of `loss` must obey, whoever adds it: `check_link` and `check_residual` raise `AssertionError` otherwise.

A score is bounded by 1 exactly in float64, whatever a row holds; its mean at the truth is 0; it falls as the predictor grows;
its slope and its square are those of its law; a row's score does not depend on the rows beside it.
"""

from __future__ import annotations

import numpy as np

from dpkit_irls.loss import BisquareScore, LinkScore, ResidualScore
from dpkit_irls.rows.class_scores import ClassScores
from dpkit_irls.rows.fixed_point import LARGEST_STEP, Array

_HARD = (0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, -5e-324, 1e-300, 1e100, -1e100, 1e308, np.inf, -np.inf, np.nan)


def check_link(score: LinkScore, *, monotone: bool = True, places: int = 41) -> None:
    """All laws of a score with a link."""
    last = score.low + (score.middles.size - 1) / score.per
    predictors = np.linspace(score.low, last, places)
    _check_bounded(score)
    _check_tables(score)
    for predictor in predictors[1:-1].tolist():
        targets, shares = score.law(predictor)
        assert abs(float(np.sum(shares)) - 1.0) < 1e-9, f"the law at {predictor:g} does not add up to 1"
        found = scored(score, np.full(targets.size, predictor), targets)
        mean, square = float(shares @ found), float(shares @ (found * found))
        tolerance = 1e-4 + 3e-4 * square**0.5
        assert abs(mean) < tolerance, f"at the predictor {predictor:g} the mean score is {mean:.3g}, not 0"
        told = float(score.looked_up(score.squares, np.array([predictor]))[0])
        assert abs(square - told) < 0.01 * told + 1e-4, f"at {predictor:g} the mean square is {square:.4g}, not {told:.4g}"
        slope = float(score.looked_up(score.slopes, np.array([predictor]))[0])
        seen = _slope(score, predictor, targets, shares)
        assert abs(seen - slope) < 0.03 * slope + 2e-3 * score.steepest, (
            f"at {predictor:g} the slope is {seen:.4g}, not {slope:.4g}"
        )
        if monotone:
            _check_falling(score, targets, predictors)


def check_residual(
    score: ResidualScore | BisquareScore, *, quantile: float | None = None, monotone: float = float("inf")
) -> None:
    """All laws of a score of residuals; at `quantile` the mean score of an even law of residuals is 0. It grows up to residuals
    of `monotone` thresholds.
    """
    _check_bounded(score)
    residuals = np.linspace(-min(3.0, monotone), min(3.0, monotone), 601)
    found = scored(score, np.zeros(residuals.size), residuals)
    assert np.all(np.diff(found) >= 0.0), "the score falls as the residual grows"
    share = 0.5 if quantile is None else quantile
    even = np.linspace(-20.0 * share, 20.0 * (1.0 - share), 20_001)  # of which that share is below 0
    mean = float(np.mean(scored(score, np.zeros(even.size), even)))
    assert abs(mean) < 2e-3, f"the mean score at the truth is {mean:.3g}, not 0"


def scored(score: LinkScore | ResidualScore | BisquareScore, predictors: Array, targets: Array) -> Array:
    """Scores of targets at predictors, by the pass that queries run through."""
    rows = np.column_stack([np.full(predictors.size, LARGEST_STEP), predictors, targets])
    return score.at(np.ones(1), 1.0)(rows) / LARGEST_STEP


def _check_bounded(score: LinkScore | ResidualScore | BisquareScore) -> None:
    grid = np.array([(reach, target) for reach in _HARD for target in _HARD])
    with np.errstate(all="ignore"):
        for position in (1.0, -1.0, 1e-300, 1e200, 0.0):
            at = score.at(np.array([position]), 1.0)
            rows = np.column_stack([np.full(len(grid), LARGEST_STEP), grid])
            found = at(rows)
            assert np.all(np.abs(found) <= LARGEST_STEP), "a score is above 1, or not a number"
            assert np.array_equal(found, np.trunc(found)), "a score is not cut to the grid"
            alone = np.array([at(row[None])[0] for row in rows])
            assert np.array_equal(found, alone), "a score depends on the rows beside it"
            if isinstance(score, LinkScore):
                slopes = at.slopes(rows)
                assert np.all((slopes >= 0.0) & (slopes <= 1.0 + 1e-12)), "a slope is not a part of the steepest"


def _check_tables(score: LinkScore) -> None:
    lists = (score.middles, score.widths, score.slopes, score.squares)
    assert all(values.shape == score.middles.shape and np.isfinite(values).all() for values in lists), "lists are not finite"
    assert np.all(score.widths > 0.0), "a width is not above 0"
    assert np.all(score.slopes >= 0.0), "a slope is below 0"


def _check_falling(score: LinkScore, targets: Array, predictors: Array) -> None:
    for target in np.unique(np.quantile(targets, [0.0, 0.25, 0.5, 0.75, 1.0])).tolist():
        found = scored(score, predictors, np.full(predictors.size, target))
        assert np.all(np.diff(found) <= 1e-3), f"the score of {target:g} grows with the predictor"


def _slope(score: LinkScore, predictor: float, targets: Array, shares: Array) -> float:
    """-d mean(s) / d eta for the law at the predictor."""
    ends = [float(shares @ scored(score, np.full(targets.size, predictor + side * 0.02), targets)) for side in (-1.0, 1.0)]
    return (ends[0] - ends[1]) / 0.04


def check_classes(scores: type[ClassScores], *, classes: int) -> None:
    """All laws of a score of classes: of norm at most 1 exactly, 0 on average at the truth, and of its row alone."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for scale in (1.0, 1e-300, 1e200, 0.0):
            at = scores.at(rng.normal(size=(classes, 1)) * scale)
            grid = np.array([(reach, target) for reach in _HARD for target in (*range(classes), *_HARD)])
            rows = np.column_stack([np.full(len(grid), LARGEST_STEP), grid])
            found = at(rows)[0]
            assert np.isfinite(found).all(), "a score is not a number"
            assert np.array_equal(found, np.trunc(found)), "a score is not cut to the grid"
            squares = [sum(int(entry) ** 2 for entry in column) for column in found.T]
            assert max(squares) <= int(LARGEST_STEP) ** 2, "the norm of a score is above 1"
            alone = np.array([at(row[None])[0][:, 0] for row in rows]).T
            assert np.array_equal(found, alone), "a score depends on the rows beside it"
    for _ in range(40):
        position = rng.normal(size=(classes, 1)) * 3.0
        rows = np.array([[LARGEST_STEP, 1.0, answer] for answer in range(classes)])
        found, largest = scores.at(position)(rows)
        shares = np.exp(position[:, 0] - np.max(position))
        shares = shares / np.sum(shares)
        mean = found @ shares / LARGEST_STEP
        assert np.max(np.abs(mean)) < 1e-4, f"the mean score at the truth is {np.max(np.abs(mean)):.3g}, not 0"
        spread = (found * shares) @ found.T / LARGEST_STEP**2
        told = (np.diag(shares) - np.outer(shares, shares)) / largest[0] ** 2
        assert np.max(np.abs(spread - told)) < 1e-3, "the mean square is not that of the law"
        longest = np.max(np.linalg.norm(found, axis=0)) / LARGEST_STEP
        assert longest > 0.999, f"no class has a score of norm 1, but at most {longest:.3g}"
