"""The estimator: scikit-learn's interface with and without scikit-learn, a guarantee in its repr, a stamp on simulations."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from dpkit_irls import PrivateRobustRegressor

import dpkit


def data(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return x, x @ np.array([1.0, -2.0, 0.5]) + 3.0 + 0.3 * rng.normal(size=rows)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_it_fits_predicts_and_scores_without_any_bounds(neighbours):
    x, y = data()
    model = PrivateRobustRegressor(epsilon=1.0, delta=1e-6, neighbours=neighbours, random_state=1).fit(x, y)
    assert model.coef_ == pytest.approx([1.0, -2.0, 0.5], abs=0.2)
    assert model.intercept_ == pytest.approx(3.0, abs=0.2)
    assert model.score(x, y) > 0.9
    assert model.guarantee_.epsilon(delta=1e-6) <= 1.0
    assert len(model.trace_) == 20  # units, two scatters, histograms, sixteen steps


def test_the_repr_says_the_guarantee_and_a_seeded_fit_is_a_simulation():
    x, y = data()
    assert "(0.5, 1e-06)-DP, replace-one" in repr(PrivateRobustRegressor(epsilon=0.5).fit(x, y))
    seeded = PrivateRobustRegressor(random_state=3).fit(x, y)
    assert "simulation: protects nobody" in repr(seeded)
    assert seeded.simulation_
    assert not PrivateRobustRegressor().fit(x, y).simulation_
    again = PrivateRobustRegressor(random_state=3).fit(x, y)
    assert np.array_equal(seeded.coef_, again.coef_)


def test_few_rows_warn_and_answer():
    x, y = data(rows=30)
    with pytest.warns(UserWarning, match="rows are few"):
        model = PrivateRobustRegressor().fit(x, y)
    assert np.isfinite(model.coef_).all()


def test_names_of_a_frame_and_bounds_by_name():
    pandas = pytest.importorskip("pandas")
    x, y = data()
    frame = pandas.DataFrame(x, columns=["age", "income", "height"])
    bounds = {"age": (-10, 10), "target": (-50, 50)}
    model = PrivateRobustRegressor(bounds=bounds, random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == ["age", "income", "height"]
    assert model.predict(frame) == pytest.approx(frame.to_numpy() @ model.coef_ + model.intercept_)


def test_values_that_are_no_numbers_neither_raise_nor_show():
    x, y = data()
    x[0, 0], x[1, 1], x[2, 2], y[3], y[4] = np.nan, np.inf, 1e308, np.nan, -np.inf
    model = PrivateRobustRegressor(random_state=0).fit(x, y)
    assert model.coef_ == pytest.approx([1.0, -2.0, 0.5], abs=0.2)


@pytest.mark.parametrize("cell", ["canary", b"canary", {"canary": 1}, None, 10**400, [1, 2], "7"], ids=repr)
@pytest.mark.parametrize("frame", [False, True])
def test_no_cell_raises_whatever_it_holds(cell, frame):
    x, y = data(rows=300)
    cells, targets = x.astype(object), y.astype(object)
    targets[1] = "canary"
    cells[0, 0] = None
    holder = np.empty(1, dtype=object)
    holder[0] = cell
    cells[0, 0:1] = holder
    rows = pytest.importorskip("pandas").DataFrame(cells, columns=["a", "b", "c"]) if frame else cells
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = PrivateRobustRegressor(random_state=0).fit(rows, targets)
    assert np.isfinite(model.coef_).all()
    assert "canary" not in repr(model) + repr(model.trace_)
    assert model.predict(rows).shape == (300,)


def test_a_fit_is_charged_to_a_ledger(tmp_path):
    x, y = data()
    budget = dpkit.ApproxDP(epsilon=1.5, delta=1e-5)
    ledger = dpkit.Ledger.create(
        tmp_path / "data.ledger", budget=budget, dataset="d", accountant="gdp", neighbours=dpkit.Neighbours.REPLACE_ONE
    )
    PrivateRobustRegressor(epsilon=1.0, ledger=ledger).fit(x, y)
    with pytest.raises(dpkit.BudgetError):
        PrivateRobustRegressor(epsilon=1.4, ledger=ledger).fit(x, y)


def test_it_passes_the_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    impossible = {
        "check_supervised_y_no_nan": "an error that depends on a value would show it: such targets are mapped",
        "check_dtype_object": "a cell that is no number is mapped, for the same reason",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checks.check_estimator(PrivateRobustRegressor(), expected_failed_checks=impossible, on_fail=None)
    assert [(check["check_name"], check["exception"]) for check in found if check["status"] == "failed"] == []


def test_it_imports_and_fits_without_scikit_learn():
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import numpy as np; from dpkit_irls import PrivateRobustRegressor as R\n"
        "x = np.random.default_rng(0).normal(size=(2000, 2)); y = x @ [1.0, 2.0]\n"
        "m = R(random_state=0).fit(x, y); assert m.score(x, y) > 0.9\n"
        "assert m.set_params(epsilon=2.0).get_params()['epsilon'] == 2.0\n"
        "assert 'sklearn.base' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, capture_output=True, timeout=120)


@pytest.mark.parametrize("shape", ["one dimension", "complex", "complex target", "scalar"])
def test_a_wrong_shape_or_kind_is_refused_without_showing_the_data(shape):
    secret = np.full(30, 8765.4321)
    given = {
        "one dimension": (secret, secret),
        "complex": (secret.reshape(-1, 1) + 1j, secret),
        "complex target": (secret.reshape(-1, 1), secret + 1j),
        "scalar": (secret[0], secret),
    }[shape]
    with pytest.raises(ValueError, match=r"Expected 2D array|Complex data not supported") as caught:
        PrivateRobustRegressor(epsilon=1.0, delta=1e-6).fit(*given)
    assert "8765" not in str(caught.value)
