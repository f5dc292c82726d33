"""What an estimator is given: names of any kind, tables that cannot be read, and steps before it that nobody pays for."""

import warnings

import numpy as np
import pytest
from dpkit_irls import LearnedFromRowsWarning, PrivateLogisticRegression, PrivateRobustRegressor
from dpkit_irls.bounded.notes_of_fit import HIDDEN

from dpkit import DpkitError

pandas = pytest.importorskip("pandas")
pytestmark = [pytest.mark.usefixtures("solved_once"), pytest.mark.filterwarnings("ignore:.*rows are few:UserWarning")]


def data(rows=2000, seed=250_800):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    return x, x @ [1.0, -2.0] + 3.0 + 0.3 * rng.normal(size=rows)


def test_one_stand_in_is_for_features_and_not_for_the_target():
    """`missing=0` took every third target to be 0: the intercept was 2, without a word."""
    x, y = data()
    gaps = np.where(np.arange(len(y)) % 3 == 0, np.nan, y)
    model = PrivateRobustRegressor(bounds=(-5, 5), missing=0, random_state=1).fit(x, gaps)
    assert model.intercept_ == pytest.approx(3.0, abs=0.15)
    assert "'x0' as 0" in model.notes_[0]
    assert "target" not in model.notes_[0]
    said = PrivateRobustRegressor(missing={"target": 0.0}, random_state=1).fit(x, gaps)
    assert "'target' as 0" in said.notes_[0]


def test_columns_named_by_numbers_are_declared_by_these():
    x, y = data()
    frame = pandas.DataFrame({0: x[:, 0], 7: np.where(x[:, 1] > 0, 2, 1)})
    model = PrivateRobustRegressor(
        bounds={0: (-5, 5)}, levels={7: [1, 2]}, shares={7: [0.5, 0.5]}, missing={0: 0.0, 7: 1}, random_state=1
    ).fit(frame, y)
    assert model.coef_names_ == ("x0", "x1=2")
    assert np.isfinite(model.predict(frame)).all()
    with pytest.raises(DpkitError, match="8"):
        PrivateRobustRegressor(bounds={8: (-5, 5)}).fit(frame, y)


def test_two_columns_of_one_name_are_refused_by_it():
    x, y = data(50)
    for names in (["a", "a"], [3, 3]):
        with pytest.raises(DpkitError, match=f"several columns named {names[0]}"):
            PrivateRobustRegressor().fit(pandas.DataFrame(x, columns=names), y)


def test_what_is_not_computed_yet_or_no_table_is_refused_as_what_it_is():
    x, y = data(50)
    with pytest.raises(DpkitError, match=r"mapping.*Make a frame of it"):
        PrivateRobustRegressor().fit({"a": x[:, 0]}, y)
    polars = pytest.importorskip("polars")
    with pytest.raises(DpkitError, match=r"LazyFrame.*collect\(\)"):
        PrivateRobustRegressor().fit(polars.DataFrame({"a": x[:, 0]}).lazy(), y)


@pytest.mark.parametrize("kind", ["levels", "nan"])
def test_where_no_row_counts_nothing_is_known(kind):
    """It said 0.00 +- 0.00."""
    x, y = data()
    frame = pandas.DataFrame({"age": 40.0 + 10.0 * x[:, 0], "city": np.where(x[:, 1] > 0, "north", "south")})
    frame["age"] = np.nan if kind == "nan" else frame["age"]
    levels = ["North", "South"] if kind == "levels" else ["north", "south"]
    bounds = {"age": (0, 120), "target": (-100, 200)}
    for seed in range(250_810, 250_814):
        model = PrivateRobustRegressor(bounds=bounds, levels={"city": levels}, random_state=seed).fit(frame, y)
        assert model.standard_errors_[0] > 1.0
        assert model.standard_errors_[1] > 100.0
        assert any(note.startswith(HIDDEN) for note in model.notes_)
        assert any("Hardly any" in note for note in model.notes_)


def test_a_pipeline_that_learns_from_the_rows_warns_by_name():
    pipeline = pytest.importorskip("sklearn.pipeline")
    compose, scaling = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.preprocessing")
    x, y = data()
    columns = compose.make_column_transformer((scaling.MinMaxScaler(), [0]), (scaling.FunctionTransformer(), [1]))
    for steps, said in (((scaling.StandardScaler(),), "StandardScaler"), ((columns,), "MinMaxScaler")):
        with pytest.warns(LearnedFromRowsWarning, match=f"^{said} learnt.*not private"):
            pipeline.make_pipeline(*steps, PrivateRobustRegressor(random_state=1)).fit(x, y)
    with pytest.warns(LearnedFromRowsWarning, match="^StandardScaler"):
        pipeline.make_pipeline(scaling.StandardScaler(), PrivateLogisticRegression(random_state=1)).fit(x, y > 3.0)
    model = PrivateRobustRegressor(random_state=1)
    with pytest.warns(LearnedFromRowsWarning, match="^StandardScaler"):
        compose.TransformedTargetRegressor(model, transformer=scaling.StandardScaler()).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LearnedFromRowsWarning)
        steps = (scaling.FunctionTransformer(), scaling.Normalizer(), "passthrough")
        pipeline.make_pipeline(*steps, PrivateRobustRegressor(random_state=1)).fit(x, y)
        PrivateRobustRegressor(random_state=1).fit(x, y)
