"""`PrivatePoissonRegressor` and `PrivateQuantileRegressor` as a stranger uses them."""

import warnings

import numpy as np
import pytest
from dpkit_irls import PrivatePoissonRegressor, PrivateQuantileRegressor

import dpkit

pytestmark = pytest.mark.usefixtures("solved_once")


def features(rows=4_000):
    return np.random.default_rng(0).normal(size=(rows, 3))


def test_counts():
    x = features()
    y = np.random.default_rng(1).poisson(np.exp(x @ [0.5, -0.3, 0.2] + 1.0))
    found = PrivatePoissonRegressor(epsilon=4.0, random_state=0).fit(x, y)
    assert np.max(np.abs(found.coef_ - [0.5, -0.3, 0.2])) < 0.1
    assert found.intercept_ == pytest.approx(1.0, abs=0.1)
    assert np.all(found.predict(x) > 0.0)
    assert found.score(x, y) > 0.4
    assert found.guarantee_.epsilon(delta=1e-6) <= 4.0 + 1e-9
    assert np.all(found.standard_errors_ > 0.0)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles(quantile):
    x = features()
    y = x @ [1.0, 2.0, -1.0] + np.random.default_rng(1).normal(size=len(x))
    found = PrivateQuantileRegressor(quantile=quantile, epsilon=4.0, random_state=0).fit(x, y)
    assert np.max(np.abs(found.coef_ - [1.0, 2.0, -1.0])) < 0.3
    assert np.mean(y < found.predict(x)) == pytest.approx(quantile, abs=0.06)


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.5, "a", float("nan"), None])
def test_quantiles_that_are_none_are_refused(quantile):
    x = features(100)
    with pytest.raises(dpkit.DpkitError, match="quantile"):
        PrivateQuantileRegressor(quantile=quantile).fit(x, x[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("made", [PrivatePoissonRegressor, PrivateQuantileRegressor])
def test_they_pass_the_checks_of_scikit_learn(made):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    impossible = {
        "check_supervised_y_no_nan": "an error that depends on a value would show it: such targets are mapped",
        "check_dtype_object": "columns of objects are refused by their type: which objects they hold is data",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checks.check_estimator(made(), expected_failed_checks=impossible, on_fail=None)
    assert [(check["check_name"], check["exception"]) for check in found if check["status"] == "failed"] == []
