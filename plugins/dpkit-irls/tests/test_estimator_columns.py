"""What a stranger declares about the columns: bounds of every shape, levels, truth values; and what is refused, for free."""

import numpy as np
import pytest
from dpkit_irls import PrivateRobustRegressor
from dpkit_irls.estimator.declared_columns import WIDE

import dpkit

pytestmark = pytest.mark.usefixtures("solved_once")


def data(rows=1200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return x, x @ np.array([1.0, -2.0, 0.5]) + 3.0 + 0.3 * rng.normal(size=rows)


def limits(model):
    return [column.range for column in model._columns.schema.columns]


def fitted(x, y, **given):
    return PrivateRobustRegressor(epsilon=4.0, random_state=0, **given).fit(x, y)


@pytest.mark.parametrize(
    ("bounds", "features", "target"),
    [
        (None, [(-WIDE, WIDE)] * 3, (-WIDE, WIDE)),
        ((-9, 9), [(-9, 9)] * 3, (-WIDE, WIDE)),
        ([-9.0, np.float64(9)], [(-9, 9)] * 3, (-WIDE, WIDE)),
        (([-9, -8, -7], [9, 8, 7]), [(-9, 9), (-8, 8), (-7, 7)], (-WIDE, WIDE)),
        (np.array([[-9, -8, -7], [9, 8, 7]]), [(-9, 9), (-8, 8), (-7, 7)], (-WIDE, WIDE)),
        ({"x1": (-8, 8), "target": [-50, 50]}, [(-WIDE, WIDE), (-8, 8), (-WIDE, WIDE)], (-50, 50)),
    ],
)
def test_bounds_are_one_pair_a_pair_of_lists_or_a_mapping(bounds, features, target):
    model = fitted(*data(), bounds=bounds)
    assert limits(model) == [*features, target]


@pytest.mark.parametrize(
    "bounds",
    [
        3.0, "ab", (1,), (1, 2, 3), (2, 1), (1, 1), (0, np.inf), (0, None), (True, False), ("0", "1"),
        ([0, 0], [1, 1]), ([0, 0, 0], 1), [(0, 1), (0, 1), (0, 1)], {"x0": 3}, {"x0": (0, "1")}, {"x0": ([0], [1])},
    ],
    ids=repr,
)  # fmt: skip
def test_bounds_of_another_shape_are_refused_with_the_shapes_that_are_right(bounds, ledger):
    with pytest.raises(dpkit.InvalidValueError, match=r"`bounds` to be \(lower, upper\) for every feature"):
        PrivateRobustRegressor(bounds=bounds, ledger=ledger).fit(*data(rows=50))
    assert [entry.kind for entry in ledger.entries()] == ["create"]


def test_two_tuples_for_two_features_may_mean_either_way_round():
    x, y = data()
    with pytest.raises(dpkit.InvalidValueError, match="either way round"):
        fitted(x[:, :2], y, bounds=((-9, 9), (-8, 8)))
    assert limits(fitted(x[:, :2], y, bounds=([-9, -8], [9, 8])))[:2] == [(-9, 9), (-8, 8)]


@pytest.mark.parametrize("field", ["bounds", "missing", "levels"])
def test_names_that_are_no_columns_are_refused_with_the_nearest(field, ledger):
    given = {"bounds": (0, 1), "missing": 0.5, "levels": ["a"]}[field]
    with pytest.raises(dpkit.UnknownNameError, match="Did you mean 'x0'"):
        PrivateRobustRegressor(**{field: {"x00": given}}, ledger=ledger).fit(*data(rows=50))
    assert [entry.kind for entry in ledger.entries()] == ["create"]


def test_a_feature_with_the_name_of_the_target_is_fine_until_both_are_meant():
    pandas = pytest.importorskip("pandas")
    x, y = data()
    frame = pandas.DataFrame(x, columns=["a", "b", "target"])
    assert len(fitted(frame, y).coef_) == 3
    with pytest.raises(dpkit.InvalidValueError, match="unambiguous"):
        fitted(frame, y, bounds={"target": (-9, 9)})


CITIES = ("north", "south", "west")


def with_city(rows=6000, seed=1):
    """y is 1 higher in the south and 2 lower in the west; one cell in fifty is missing and one in fifty is no level."""
    rng = np.random.default_rng(seed)
    age, city = rng.normal(size=rows), rng.integers(0, 3, size=rows)
    y = 0.5 * age + np.array([0.0, 1.0, -2.0])[city] + 0.3 * rng.normal(size=rows)
    cells = np.array(CITIES, dtype=object)[city]
    cells[::50], cells[1::50] = None, "canary"
    return age, cells, y


def frame_of(kind, age, cells):
    if kind == "array":
        return np.column_stack([age.astype(object), cells])
    library = pytest.importorskip(kind.split()[0])
    if kind == "pandas category":
        cells = library.Categorical(list(cells))
    return library.DataFrame({"age": age, "city": cells if kind == "pandas category" else list(cells)})


@pytest.mark.parametrize("kind", ["pandas", "pandas category", "polars"])
def test_text_is_a_category_where_levels_are_given(kind):
    age, cells, y = with_city()
    frame = frame_of(kind, age, cells)
    model = fitted(frame, y, levels={"city": CITIES}, bounds={"age": (-9, 9)})
    assert model.coef_names_ == ("age", "city=south", "city=west")
    assert model.coef_ == pytest.approx([0.5, 1.0, -2.0], abs=0.4)
    assert len(model.standard_errors_) == 3
    found = model.predict(frame)
    known = np.array([cell in CITIES for cell in cells])
    assert np.isnan(found[~known]).all()
    entries = np.column_stack([age, cells == "south", cells == "west"]).astype(float)
    assert found[known] == pytest.approx((entries @ model.coef_ + model.intercept_)[known])
    assert "none of the declared levels" in model.notes_[0]
    assert "canary" not in str(model.notes_)


def test_a_level_may_stand_for_missing_cells_and_codes_may_be_levels():
    age, cells, y = with_city()
    frame = frame_of("pandas", age, cells)
    model = fitted(frame, y, levels={"city": CITIES}, missing={"city": "north"})
    assert not np.isnan(model.predict(frame)[::50]).any()
    assert "'city' as 'north'" in model.notes_[0]
    codes = np.column_stack([age, np.array([float(CITIES.index(cell)) if cell in CITIES else np.nan for cell in cells])])
    same = fitted(codes, y, levels={"x1": [0, 1, 2]}, missing={"x1": 0})
    assert same.coef_names_ == ("x0", "x1=1", "x1=2")
    assert same.coef_ == pytest.approx(fitted(frame, y, levels={"city": CITIES}, missing={"city": "north"}).coef_, abs=0.3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"levels": ["a", "b"]}, "a mapping from names"),
        ({"levels": {"city": "north"}}, "a mapping from names"),
        ({"levels": {"city": ["a", "a"]}}, "differ"),
        ({"levels": {"city": []}}, "levels"),
        ({"levels": {"city": CITIES}, "bounds": {"city": (0, 1)}}, "left out for a category"),
        ({"levels": {"city": CITIES}, "missing": {"city": "east"}}, "a declared level"),
        ({"levels": {"city": CITIES}, "shares": {"city": [0.5, 0.5]}}, "3 shares"),
        ({"levels": {"city": CITIES}, "shares": {"age": [1.0]}}, "categories among the features: city"),
        ({"levels": {"city": CITIES}, "algorithm": "irls-paper"}, "one of 'irls', 'irls-moments'"),
        ({"levels": {"city": CITIES}, "algorithm": "irls-moments", "shares": {}}, "parameter of irls-moments"),
        ({}, "text in the column 'city'|objects in the column 'city'"),
    ],
)
def test_what_is_wrong_with_levels_is_said_before_anything_is_charged(given, said, ledger):
    age, cells, y = with_city(rows=100)
    with pytest.raises(dpkit.DpkitError, match=said) as caught:
        PrivateRobustRegressor(ledger=ledger, **given).fit(frame_of("pandas", age, cells), y)
    assert "canary" not in str(caught.value)
    assert [entry.kind for entry in ledger.entries()] == ["create"]


def test_an_array_of_texts_needs_levels_for_every_column():
    age, cells, y = with_city()
    with pytest.raises(dpkit.InvalidValueError, match="text or other objects"):
        fitted(frame_of("array", age, cells), y, levels={"x1": CITIES})
    model = fitted(cells.reshape(-1, 1), y, levels={"x0": CITIES})
    assert model.coef_names_ == ("x0=south", "x0=west")


@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars"])
def test_truth_values_have_bounds_by_their_type_and_such_a_target_a_note(kind):
    x, y = data()
    target, flag = y > 3.0, x[:, 2] > 0.0
    if kind == "numpy":
        rows = flag.reshape(-1, 1)
    else:
        library = pytest.importorskip(kind)
        rows = library.DataFrame({"a": x[:, 0], "flag": flag})
        target = library.Series(target)
    with pytest.warns(UserWarning, match="logistic"):
        model = fitted(rows, target, bounds=(-9, 9))
    assert limits(model)[-2:] == [(0.0, 1.0), (0.0, 1.0)]
    assert any("`logistic`" in note for note in model.notes_)
    assert not any("`logistic`" in note for note in fitted(rows, y).notes_)
    if kind == "numpy":
        moments = fitted(rows, target, algorithm="irls-moments", neighbours="add-remove")
        assert sum("`logistic`" in note for note in moments.notes_) == 1


def test_errors_notes_and_the_estimand_are_told():
    x, y = data()
    model = fitted(x, y)
    assert model.coef_names_ == ("x0", "x1", "x2")
    assert model.standard_errors_.shape == (3,)
    assert (model.standard_errors_ > 0).all()
    assert model.intercept_error_ > 0
    assert model.estimand_
    bounds = dict.fromkeys((*model.coef_names_, "target"), (-9, 9))
    moments = fitted(x, y, algorithm="irls-moments", bounds=bounds, neighbours="add-remove")
    assert np.isnan(moments.standard_errors_).all()  # without a public N there are none
    assert np.isnan(moments.intercept_error_)
    assert "weights min(10, |r|^-1)" in moments.estimand_
    with pytest.warns(UserWarning, match="rows are few"):
        few = PrivateRobustRegressor(random_state=0).fit(x[:40], y[:40])
    assert any("rows are few" in note for note in few.notes_)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"neighbours": "replace"}, "replace-one"),
        ({"algorithm": "bounded"}, "'irls', 'irls-moments'"),
        ({"random_state": "a"}, "a whole number"),
        ({"random_state": -1}, "a whole number"),
        ({"epsilon": -1.0}, "epsilon"),
    ],
)
def test_parameters_that_are_wrong_say_what_is_right(given, said):
    with pytest.raises(dpkit.InvalidValueError, match=said):
        PrivateRobustRegressor(**given).fit(*data(rows=50))


def test_bounds_that_are_far_too_wide_on_one_side_cost_hardly_anything():
    rng = np.random.default_rng(1)
    income, hours = np.exp(11.0 + 0.5 * rng.normal(size=3000)), rng.gamma(4.0, 4.0, 3000)
    y = 20.0 + income / 1e4 + 0.5 * hours + 3.0 * rng.normal(size=3000)
    tight, wide = (
        fitted(np.column_stack([income, hours]), y, bounds={"x0": (0, top), "x1": (0, top / 1e4), "target": (0, top / 5e3)})
        for top in (1e6, 1e9)
    )
    assert np.all(wide.standard_errors_ < 1.5 * tight.standard_errors_)
    assert np.all(np.abs(wide.coef_ - [1e-4, 0.5]) < 4.0 * wide.standard_errors_)


def test_beside_a_column_whose_values_no_bin_tells_apart_the_others_are_told_less():
    rng = np.random.default_rng(4)
    year = 2007.0 + 4.5 * rng.normal(size=4000)
    stock = 7.0 + 3.0 * rng.normal(size=4000) + 0.3 * (year - 2007.0)
    y = 2.0 * (year - 2007.0) - stock + 5.0 * rng.normal(size=4000)
    table = pytest.importorskip("pandas").DataFrame({"year": year, "stock": stock})
    errors = {}
    for high in (4000, 2030):
        bounds = {"year": (0 if high == 4000 else 1990, high), "stock": (-50, 50), "target": (-200, 200)}
        model = PrivateRobustRegressor(epsilon=1.0, bounds=bounds, random_state=0).fit(table, y)
        errors[high] = model.standard_errors_[1]
        assert abs(model.coef_[1] + 1.0) < 2.5 * model.standard_errors_[1]
        assert any("narrow those of: year." in note for note in model.notes_) == (high == 4000)
    assert errors[4000] > 2.0 * errors[2030]
