"""What an estimator is given: names of any kind, tables that cannot be read, and steps before it that nobody pays for."""

import warnings

import numpy as np
import pytest
from dpkit_irls import LearnedFromRowsWarning, PrivateLogisticRegression, PrivateRobustRegressor, estimand_of
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


def test_tables_of_other_libraries_are_refused_by_their_type_and_never_shown():
    """Two equal columns of a pyarrow table were refused with their cells: its `columns` are cells."""
    x, y = data(50)
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": x[:, 0], "b": x[:, 0]})
    for given, said in ((table, "Table of pyarrow"), (np.rec.fromarrays(x.T, names="a,b"), "structured array")):
        with pytest.raises(DpkitError, match=f"got a {said}") as raised:
            PrivateRobustRegressor().fit(given, y)
        assert str(x[0, 0])[:5] not in str(raised.value)
    with pytest.raises(DpkitError, match=r"`y`.*Array of pyarrow.*y\.to_pandas"):
        PrivateLogisticRegression(classes=("a", "b")).fit(x, pyarrow.array(["a", "b"] * 25))
    with pytest.raises(DpkitError, match="no column"):
        PrivateRobustRegressor().fit(pandas.DataFrame(index=range(50)), y)


def test_a_frame_of_a_class_that_is_made_from_pandas_is_one():
    class Frame(pandas.DataFrame):
        @property
        def _constructor(self):
            return Frame

    x, y = data()
    frame = Frame({"a": x[:, 0], "city": np.where(x[:, 1] > 0, "north", "south")})
    model = PrivateRobustRegressor(levels={"city": ["south", "north"]}, random_state=1).fit(frame, y)
    assert model.coef_names_ == ("a", "city=north")


@pytest.mark.parametrize(
    ("column", "levels", "fix"),
    [
        (lambda ones: ones, ["no", "yes"], r"truth values.*for 'b'.*Declare \[False, True\]"),
        (lambda ones: ones, [0, 1], r"truth values.*for 'b'.*Declare \[False, True\]"),
        (lambda ones: pandas.array(ones, dtype="boolean"), ["no", "yes"], "truth values"),
        (lambda ones: ones.astype(int), [False, True], "numbers"),
        (lambda ones: ones.astype(float), ["a", "b"], "numbers"),
    ],
)
def test_levels_that_a_column_cannot_hold_by_its_type_are_refused(column, levels, fix):
    """Every row was dropped, at the full price."""
    x, y = data(100)
    frame = pandas.DataFrame({"a": x[:, 0], "b": column(x[:, 1] > 0)})
    with pytest.raises(DpkitError, match=fix):
        PrivateRobustRegressor(levels={"b": levels}).fit(frame, y)
    if isinstance(levels[0], str):  # 0 and 1 and truth values are each other's as answers
        with pytest.raises(DpkitError, match="classes"):
            PrivateLogisticRegression(classes=levels).fit(x, frame["b"])


def test_levels_that_are_spelt_otherwise_are_not_refused():
    x, y = data()
    for column, levels in (
        (np.where(x[:, 1] > 0, 2, 1), ["1", "2"]),
        (np.where(x[:, 1] > 0, 2.0, 1.0), [1, 2]),
        (x[:, 1] > 0, [False, True]),
        (np.where(x[:, 1] > 0, "2", "1"), [1, 2]),
    ):
        model = PrivateRobustRegressor(levels={"b": levels}, random_state=1)
        model.fit(pandas.DataFrame({"a": x[:, 0], "b": column}), y)
        assert model.coef_[1] < -2.0


def test_missing_labels_drop_their_rows_in_whatever_they_are_held():
    """A missing truth value of pandas raised, and the mask of a masked array was not looked at."""
    x, y = data()
    yes, gone = y > 3.0, y > 5.0
    held = [
        pandas.Series(pandas.array(np.where(gone, None, yes), dtype="boolean")),
        pandas.array(np.where(gone, None, yes), dtype="boolean"),
        np.ma.array(yes, mask=gone),
    ]
    models = [PrivateLogisticRegression(classes=(False, True), random_state=1).fit(x, labels) for labels in held]
    texts = np.ma.array(np.where(yes, "yes", "no"), mask=gone)
    models.append(PrivateLogisticRegression(classes=("no", "yes"), random_state=1).fit(x, texts))
    for model in models:
        assert model.coef_ == pytest.approx(models[0].coef_)
        assert any("of the rows count" in note for note in model.notes_)


def test_none_in_a_list_is_a_missing_number():
    """It was refused as text or other objects, which told that it was there."""
    x, y = data()
    rows, targets = x.tolist(), y.tolist()
    rows[3][0] = targets[5] = None
    model = PrivateRobustRegressor(random_state=1).fit(rows, targets)
    gaps, goals = x.copy(), y.copy()
    gaps[3, 0] = goals[5] = np.nan
    assert model.coef_ == pytest.approx(PrivateRobustRegressor(random_state=1).fit(gaps, goals).coef_)
    for wrong in (["1"] * 1999 + [None], [[1.0]] * 1999 + [None], [10**400] * 2000):
        with pytest.raises((DpkitError, ValueError)):
            PrivateRobustRegressor().fit(x, wrong)


@pytest.mark.parametrize("times", [1e13, 1e18])
def test_values_beyond_the_clamp_of_columns_without_bounds_are_told(times):
    """They count as the clamp, and the fit is theirs: an effect of 0 with an error of 0."""
    x, y = data()
    told = PrivateRobustRegressor(random_state=1).fit(x * [times, 1.0], y * times).notes_
    assert any("give bounds for x0, target" in note for note in told)
    bounds = {"x0": (-5.0 * times, 5.0 * times), "target": (-20.0 * times, 20.0 * times)}
    told = PrivateRobustRegressor(bounds=bounds, random_state=1).fit(x * [times, 1.0], y * times).notes_
    assert not any("give bounds" in note for note in told)
    assert not any("give bounds" in note for note in PrivateRobustRegressor(random_state=1).fit(x, y).notes_)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"epsilon": float("inf")}, "a finite number above 0"),
        ({"epsilon": True}, "a finite number above 0"),
        ({"epsilon": "1"}, "a finite number above 0"),
        ({"delta": "1e-6"}, "a number between 0 and 1"),
        ({"fit_intercept": "no"}, "True or False"),
        ({"fit_intercept": None}, "True or False"),
        ({"bounds": (-1e-300, 1e-300)}, "another unit"),
        ({"bounds": {"target": (0.0, 1e40)}}, "another unit"),
        ({"algorithm": "irls-moments", "bounds": {"x0": (-5, 5)}}, "none for x1, target"),
    ],
)
def test_what_is_spent_and_on_what_is_checked_first(chosen, said):
    x, y = data(100)
    with pytest.raises(DpkitError, match=said):
        PrivateRobustRegressor(**chosen).fit(x, y)


def test_the_estimand_takes_an_estimator_and_says_what_it_cannot_read():
    x, y = data()
    model = PrivateRobustRegressor(random_state=1).fit(x, y)
    exact = estimand_of(model, pandas.DataFrame(x), y)
    assert exact == estimand_of(model.fit_, x, y)
    gaps = np.vstack([x, [np.nan, 1.0]])
    assert estimand_of(model, gaps, [*y, 99.0]) == exact
    with pytest.raises(DpkitError, match="a column each for x0, x1"):
        estimand_of(model, x[:, :1], y)
    with pytest.raises(DpkitError, match="codes"):
        estimand_of(model, [["a", "b"]], [1.0])


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
