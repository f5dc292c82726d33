"""The estimator: scikit-learn's interface with and without scikit-learn, a guarantee in its repr, a stamp on simulations."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from dpkit_irls import PrivateRobustRegressor, estimand_of
from dpkit_irls.estimator.inputs import checked_rows, checked_targets

import dpkit

pytestmark = pytest.mark.usefixtures("solved_once")


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
    assert len(model.trace_) == 21  # octaves, places, two scatters, lengths, sixteen steps


def test_the_repr_says_the_guarantee_and_a_seeded_fit_is_a_simulation():
    x, y = data()
    assert "(0.5, 1e-06)-DP, replace-one" in repr(PrivateRobustRegressor(epsilon=0.5).fit(x, y))
    seeded = PrivateRobustRegressor(random_state=3).fit(x, y)
    assert "simulation: protects nobody" in repr(seeded)
    assert seeded.simulation_
    assert not PrivateRobustRegressor().fit(x.copy(), y).simulation_
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


TEXTS = {
    "text": lambda column: [f"canary{number}" for number in range(len(column))],
    "numbers as text": lambda column: [repr(float(number)) for number in column],
    "objects": lambda column: np.array(column, dtype=object),
}


def frames(kind, columns):
    """The same columns in a frame of pandas or polars, or in an array that holds one type of cell."""
    if kind == "numpy":
        return np.array([np.asarray(column, dtype=object) for column in columns.values()]).T
    library = pytest.importorskip(kind)
    if kind == "polars":
        columns = {
            name: library.Series(name, list(cells), dtype=_polars_type(library, cells)) for name, cells in columns.items()
        }
    return library.DataFrame(columns)


def _polars_type(polars, cells):
    return {"f": polars.Float64, "U": polars.String, "O": polars.Object}[np.asarray(cells).dtype.kind]


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy"])
@pytest.mark.parametrize("made", TEXTS.values(), ids=TEXTS.keys())
def test_text_is_refused_by_column_before_anything_is_charged(kind, made, tmp_path):
    x, y = data(rows=200)
    rows = frames(kind, {"age": x[:, 0], "city": made(x[:, 1]), "name\x1b": made(x[:, 2])})
    ledger = dpkit.Ledger.create(
        tmp_path / "data.ledger", budget=dpkit.ApproxDP(epsilon=2.0, delta=1e-5), dataset="d", accountant="gdp",
        neighbours=dpkit.Neighbours.REPLACE_ONE,
    )  # fmt: skip
    with pytest.raises(ValueError, match="numbers or truth values") as caught:
        PrivateRobustRegressor(ledger=ledger).fit(rows, y)
    said = str(caught.value)
    assert "canary" not in said
    assert "\x1b" not in said
    if kind != "numpy":
        assert "'city'" in said
        assert "'age'" not in said
    assert [entry.kind for entry in ledger.entries()] == ["create"]
    with pytest.raises(ValueError, match="numbers or truth values"):
        checked_rows(rows, PrivateRobustRegressor(), fitted=True)
    with pytest.raises(ValueError, match=r"`y` to be numbers"):
        PrivateRobustRegressor().fit(x, made(y))


@pytest.mark.parametrize(
    "column",
    [
        lambda pandas, n: pandas.Categorical(["canary", "b"] * (n // 2)),
        lambda pandas, n: pandas.Categorical([1, 2] * (n // 2)),
        lambda pandas, n: pandas.date_range("2020-01-01", periods=n),
        lambda pandas, n: pandas.array(["canary"] * n, dtype="string"),
        lambda pandas, n: [{"canary": 1}] * n,
    ],
)
def test_other_types_are_refused_by_column(column):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": np.arange(100.0), "other": column(pandas, 100)})
    with pytest.raises(ValueError, match="in the column 'other'") as caught:
        PrivateRobustRegressor().fit(frame, np.arange(100.0))
    assert "canary" not in str(caught.value)


def test_truth_values_and_missing_cells_of_every_library_are_read():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    cells, flags, absent = np.array([1.5, 2.5, 3.5]), np.array([True, False, True]), np.array([False, True, False])
    expected = np.array([[1.5, 1.0], [np.nan, 0.0], [3.5, 1.0]])
    holders = [
        expected,
        np.ma.array(np.column_stack([cells, flags]), mask=np.column_stack([absent, np.zeros(3, dtype=bool)])),
        pandas.DataFrame({"a": expected[:, 0], "b": flags}),
        pandas.DataFrame({"a": pandas.array([1.5, None, 3.5], dtype="Float64"), "b": pandas.array(flags, dtype="boolean")}),
        polars.DataFrame({"a": [1.5, None, 3.5], "b": flags}),
    ]
    for rows in holders:
        assert np.array_equal(checked_rows(rows, PrivateRobustRegressor()), expected, equal_nan=True)
    for column in (
        pandas.Series([1.5, None], dtype="Float64"),
        polars.Series([1.5, None]),
        np.ma.array([1.5, 7.0], mask=[0, 1]),
    ):
        assert np.array_equal(checked_targets(column, 2), [1.5, np.nan], equal_nan=True)


def far_from_zero():
    """Columns whose missing cells would be outliers if zero, the middle of the public clamp, stood for them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8000, 2)) * [5.0, 2.0] + [40.0, 12.0]
    return x, x @ np.array([0.3, 1.0]) + 4.0 * rng.normal(size=8000), rng


@pytest.mark.parametrize(("place", "neighbours"), [("features", "replace-one"), ("both", "add-remove")])
def test_missing_cells_do_not_bend_the_fit(neighbours, place):
    x, y, rng = far_from_zero()
    given = {"epsilon": 4.0, "neighbours": neighbours, "random_state": 1}
    whole = PrivateRobustRegressor(**given).fit(x, y)
    x[rng.random(x.shape) < 0.05] = np.nan
    if place == "both":
        y[rng.random(y.shape) < 0.05] = np.nan
    model = PrivateRobustRegressor(**given).fit(x, y)
    assert model.coef_ == pytest.approx(whole.coef_, rel=0.1)
    assert model.coef_ == pytest.approx([0.3, 1.0], rel=0.1)
    assert model.notes_[0] == whole.notes_[0]  # it tells the rule, and nothing of the data
    assert "contributes nothing" in model.notes_[0]
    assert model.guarantee_.epsilon(delta=1e-6) <= 4.0
    bent = PrivateRobustRegressor(**given, missing=0.0).fit(x, y)  # what was once done for everybody
    assert bent.coef_ != pytest.approx([0.3, 1.0], rel=0.2)


def test_what_stands_for_missing_cells_can_be_declared():
    x, y = data()
    x[::10, 0] = np.nan
    filled = np.where(np.isnan(x), 0.25, x)
    bounds = {"x0": (-8.0, 8.0)}
    model = PrivateRobustRegressor(random_state=0, bounds=bounds, missing={"x0": 0.25}).fit(x, y)
    same = PrivateRobustRegressor(random_state=0, bounds=bounds).fit(filled, y)
    assert np.array_equal(model.coef_, same.coef_)
    assert np.array_equal(model.predict(x), same.predict(filled))
    assert "'x0' as 0.25" in model.notes_[0]
    everywhere = PrivateRobustRegressor(random_state=0, missing=0.5).fit(x, y)  # in features, not in the target
    assert "count in 'x0' as 0.5, 'x1' as 0.5, 'x2' as 0.5." in everywhere.notes_[0]
    assert np.isfinite(everywhere.predict(x)).all()
    named = PrivateRobustRegressor(random_state=0, missing=dict.fromkeys(("x0", "x1", "x2", "target"), 0.5)).fit(x, y)
    assert "count as what was declared" in named.notes_[0]


@pytest.mark.parametrize("missing", ["mean", None, float("nan"), float("inf"), True, {"x0": "median"}, [1, 2], 9.0])
def test_a_policy_for_missing_cells_that_is_none_is_refused(missing):
    with pytest.raises(dpkit.InvalidValueError, match="missing"):
        PrivateRobustRegressor(missing=missing, bounds=(-8.0, 8.0)).fit(*data(rows=50))


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
        "check_dtype_object": "columns of objects are refused by their type: which objects they hold is data",
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


@pytest.mark.parametrize(("chosen", "said"), [({"epsilon": 0.0}, "above 0"), ({"delta": 0.0}, "no guarantee at delta = 0")])
def test_budgets_of_nothing_are_refused_by_name(chosen, said):
    x, y = data(100)
    with pytest.raises(dpkit.InvalidValueError, match=said):
        PrivateRobustRegressor(**chosen).fit(x, y)


def test_the_fit_is_kept_for_its_estimand():
    x, y = data()
    model = PrivateRobustRegressor(random_state=1).fit(x, y)
    exact = estimand_of(model.fit_, x, y)
    assert np.abs(model.coef_ - exact.coefficients).max() < 5.0 * model.standard_errors_.max()


def test_years_within_bounds_from_zero_have_a_wide_interval_and_a_note():
    x, y = data()
    x[:, 2] = np.round(2006.0 + x[:, 2])
    model = PrivateRobustRegressor(bounds=([-10.0, -10.0, 0.0], [10.0, 10.0, 4000.0]), random_state=1).fit(x, y)
    assert abs(model.coef_[2] - 0.5) < 2.0 * model.standard_errors_[2]
    assert any("narrow those of: x2" in note for note in model.notes_)
