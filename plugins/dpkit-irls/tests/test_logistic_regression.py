"""`PrivateLogisticRegression` as a stranger uses it."""

import pickle
import warnings

import dpkit_irls
import numpy as np
import pytest
from dpkit_irls import PrivateLogisticRegression, SpendsAgainWarning

import dpkit

pytestmark = pytest.mark.usefixtures("solved_once")


def data(rows=4_000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return x, rng.random(rows) < 1.0 / (1.0 + np.exp(-(x @ [1.0, -1.0, 0.5] - 0.5)))


def model(**given):
    return PrivateLogisticRegression(**{"epsilon": 4.0, "random_state": 0, **given})


@pytest.mark.parametrize("kind", [bool, int, float])
def test_answers_of_any_plain_type_give_the_same_fit(kind):
    x, y = data()
    found = model(classes=None, random_state=None, epsilon=8.0).fit(x, y.astype(kind))
    assert np.max(np.abs(found.coef_ - [1.0, -1.0, 0.5])) < 0.35
    assert found.classes_.tolist() == [False, True]
    assert 0.65 < found.score(x, y.astype(kind)) < 0.85
    assert found.coef_.shape == found.standard_errors_.shape == (3,)
    assert np.isfinite([found.intercept_, found.intercept_error_]).all()
    assert "(8.0, 1e-06)-DP" in repr(found)


def test_labels_are_declared_and_none_is_read():
    x, y = data()
    words = np.where(y, "yes", "no")
    with pytest.raises(dpkit.InvalidValueError, match="classes"):
        model(random_state=None).fit(x, words)
    found = model(classes=("no", "yes")).fit(x, words)
    assert found.classes_.tolist() == ["no", "yes"]
    assert set(found.predict(x)) == {"no", "yes"}
    other = model(classes=("yes", "no")).fit(x, words)
    assert other.coef_ == pytest.approx(-found.coef_, abs=0.3)
    for wrong in (("yes",), ("a", "b", "a"), "yes", 3):
        with pytest.raises(dpkit.InvalidValueError, match="classes"):
            model(classes=wrong).fit(x, words)


def test_only_a_simulation_reads_labels_and_says_so():
    x, y = data(rows=500)
    found = model(random_state=1).fit(x, np.where(y, "b", "a"))
    assert found.classes_.tolist() == ["a", "b"]
    assert any("simulation" in note for note in found.notes_)


def test_another_label_or_a_missing_one_drops_its_row():
    x, y = data()
    labels = np.where(y, "yes", "no").astype(object)
    labels[:50], labels[50:60] = "perhaps", None
    assert np.isfinite(model(classes=("no", "yes")).fit(x, labels).coef_).all()


def test_probabilities_are_those_of_the_log_odds():
    x, y = data()
    found = model().fit(x, y)
    both, odds = found.predict_proba(x), found.decision_function(x)
    assert both.sum(axis=1) == pytest.approx(1.0)
    assert np.log(both[:, 1] / both[:, 0]) == pytest.approx(odds)
    assert np.log(both) == pytest.approx(found.predict_log_proba(x))
    assert np.array_equal(found.predict(x), found.classes_[(odds > 0).astype(int)])
    with np.errstate(all="raise"):
        far = found.predict_proba(np.full((1, 3), 1e6))
    assert np.isfinite(far).all()
    assert np.isnan(found.predict_proba(np.array([[np.nan, 0.0, 0.0]]))).all()


def test_columns_by_name_categories_and_a_ledger_by_path(tmp_path, ledger):
    pandas = pytest.importorskip("pandas")
    x, y = data()
    frame = pandas.DataFrame({"age": 40 + 10 * x[:, 0], "city": np.where(x[:, 1] > 0, "north", "south"), "b": x[:, 2] > 0})
    found = PrivateLogisticRegression(
        epsilon=2.0, levels={"city": ["north", "south"]}, bounds={"age": (0, 120)}, ledger=tmp_path / "data.ledger"
    ).fit(frame, pandas.Series(y))
    assert found.coef_names_ == ("age", "city=south", "b")
    assert found.feature_names_in_.tolist() == ["age", "city", "b"]
    with pytest.raises(dpkit.BudgetError):
        PrivateLogisticRegression(epsilon=30.0, delta=1e-4, ledger=ledger).fit(x, y)


def test_clones_pipelines_and_pickles():
    base = pytest.importorskip("sklearn.base")
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    x, y = data(rows=800)
    assert base.clone(model(epsilon=3.0)).epsilon == 3.0
    assert base.is_classifier(model())
    found = make_pipeline(FunctionTransformer(), model()).fit(x, y)
    assert found.predict_proba(x).shape == (800, 2)
    again = pickle.loads(pickle.dumps(found[-1]))
    assert np.array_equal(again.coef_, found[-1].coef_)
    with pytest.warns(SpendsAgainWarning, match="several times"):
        cross_val_score(model(random_state=None), x, y, cv=2)


def test_it_passes_the_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    impossible = {
        "check_supervised_y_no_nan": "an error that depends on a value would show it: such targets are mapped",
        "check_classifiers_regression_target": "likewise: a target that is no class drops its row",
        "check_classifiers_one_label": "which answer ten rows have is hidden by the noise",
        "check_dtype_object": "columns of objects are refused by their type: which objects they hold is data",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checks.check_estimator(PrivateLogisticRegression(), expected_failed_checks=impossible, on_fail=None)
    assert [(check["check_name"], check["exception"]) for check in found if check["status"] == "failed"] == []


def test_it_is_offered_by_the_plugin():
    assert dpkit_irls.PrivateLogisticRegression is PrivateLogisticRegression


def test_labels_that_do_not_occur_give_finite_answers_and_no_warning():
    x, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model(classes=("No", "Yes")).fit(x, np.where(y, "yes", "no"))
    assert np.isfinite([*found.coef_, found.intercept_, *found.standard_errors_, found.intercept_error_]).all()
    assert any("Hardly any" in note for note in found.notes_)


def test_what_is_clearly_not_zero_is_not_called_hidden():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=3_000), 5.0 + 2.0 * rng.normal(size=3_000), -20.0 + 5.0 * rng.normal(size=3_000)])
    y = rng.random(3_000) < 1.0 / (1.0 + np.exp(-(x @ [0.5, -0.5, 0.0] + 2.5)))
    for seed in range(5):
        found = model(epsilon=1.0, bounds=(-50.0, 50.0), random_state=seed).fit(x, y)
        named = [name for note in found.notes_ if "Hidden" in note for name in note.split(": ")[1].rstrip(".").split(", ")]
        clear = np.abs(found.coef_) > 3.0 * found.standard_errors_
        assert clear.any()
        assert not {f"x{place}" for place in np.flatnonzero(clear)} & set(named)


def test_every_public_name_is_listed_and_there():
    assert all(hasattr(dpkit_irls, name) for name in dpkit_irls.__all__)
    assert "PrivateLogisticRegression" in dpkit_irls.__all__
