"""Quantiles away from the middle: few residuals are near them, so scale and line are found from the middle."""

import numpy as np
import pytest
from dpkit_irls import PrivateQuantileRegressor, estimand_of
from dpkit_irls.bounded.tails import told_of_middle
from dpkit_irls.loss import BISQUARE, HUBER, quantile_score
from dpkit_irls.regressions import prepare
from scipy.stats import norm

from dpkit import DeclaredSetting, Neighbours, Number, Schema

pytestmark = [pytest.mark.usefixtures("solved_once"), pytest.mark.filterwarnings("ignore:.*rows are few:UserWarning")]


def line(rows, rng, kind="normal"):
    x, scale = rng.normal(size=(rows, 2)), 0.3
    noise = rng.normal(size=rows) if kind == "normal" else rng.exponential(size=rows) - 1.0
    return x, x @ [1.0, -2.0] + 3.0 + scale * noise


def fits(quantile, rows, *, kind="normal", count=4):
    """Errors over stated ones, against the fit's own estimand in many rows; stated errors; and scales that were found."""
    many = line(50_000, np.random.default_rng(250_900), kind)
    errors, stated, scales = [], [], []
    for seed in range(250_901, 250_901 + count):
        x, y = line(rows, np.random.default_rng(seed), kind)
        model = PrivateQuantileRegressor(quantile=quantile, bounds=(-10, 10), random_state=seed).fit(x, y)
        exact = estimand_of(model.fit_, *many)
        found = np.array([*model.coef_, model.intercept_])
        stated.append([*model.standard_errors_, model.intercept_error_])
        errors.append((found - [*exact.coefficients, exact.intercept]) / stated[-1])
        scales.append(model.fit_.scale)
    return np.array(errors), np.array(stated), np.array(scales)


@pytest.mark.parametrize(("quantile", "rows", "most"), [(0.99, 10_000, 0.12), (0.05, 3_000, 0.12), (0.9, 10_000, 0.03)])
def test_a_quantile_far_out_is_held_with_the_scale_of_the_residuals(quantile, rows, most):
    """The scale fell to 5e-5 of it at 0.99, and grew to five times it at 0.9, so that the intercept was off by 0.3 to 2."""
    errors, stated, scales = fits(quantile, rows)
    assert np.max(np.abs(errors)) < 4.5
    assert scales == pytest.approx(0.3, rel=0.25)
    assert np.median(stated) < most


def test_a_quantile_at_a_hard_end_is_held():
    """Where normal residuals have it there are none, and a line beyond all rows hardly moves."""
    errors, _, _ = fits(0.01, 3_000, kind="exponential")
    assert np.max(np.abs(errors)) < 4.5


def test_far_out_the_plan_asks_for_more_rows():
    assert told_of_middle(HUBER) == told_of_middle(BISQUARE) == told_of_middle(quantile_score(0.5)) == 1.0
    for quantile in (0.01, 0.1, 0.9, 0.99):
        slope = norm.cdf(norm.ppf(quantile) + 0.45) - norm.cdf(norm.ppf(quantile) - 0.45)
        most = max(quantile, 1.0 - quantile)
        middle = (norm.cdf(0.45) - norm.cdf(-0.45)) * 2.0
        assert told_of_middle(quantile_score(quantile)) == pytest.approx(slope / most / middle, rel=1e-6)
    schema = Schema(columns=tuple(Number(name=name, lower=-9.0, upper=9.0) for name in "xy"))
    setting = DeclaredSetting(schema=schema, neighbours=Neighbours.REPLACE_ONE, rows=3_000)
    far, near = (prepare("quantile-regression", setting, features=["x"], target="y", quantile=q) for q in (0.99, 0.5))
    assert far.needed_rows(5.0) > 20 * near.needed_rows(5.0)
    assert "nearer to the middle needs far fewer" in far.advice(5.0)[0]
    assert near.advice(5.0) == ()
