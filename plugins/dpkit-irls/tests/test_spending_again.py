"""Fits add up: what would spend again says so first, by a warning that can be made an error at no cost; ledgers are shared."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest
from dpkit_irls import PrivateRobustRegressor, SpendsAgainWarning
from dpkit_irls.estimator import spending_again as module

import dpkit

pytestmark = pytest.mark.usefixtures("solved_once")


def data(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    return x, x @ np.array([1.0, -2.0]) + 0.3 * rng.normal(size=rows)


def test_the_same_rows_again_without_a_ledger_warn():
    x, y = data()
    PrivateRobustRegressor().fit(x, y)
    with pytest.warns(SpendsAgainWarning, match="spends epsilon = 1.5 again"):
        PrivateRobustRegressor(epsilon=1.5).fit(x, y)


def test_other_rows_simulations_and_a_ledger_do_not_warn(ledger):
    x, y = data()
    PrivateRobustRegressor(random_state=0).fit(x, y)
    PrivateRobustRegressor(random_state=0).fit(x, y)
    PrivateRobustRegressor(ledger=ledger).fit(x, y)
    PrivateRobustRegressor(ledger=ledger).fit(x, y)
    PrivateRobustRegressor().fit(x.copy(), y)


def test_rows_are_forgotten_with_their_object():
    x, _ = data(rows=50)
    key = id(x)
    assert not module._seen_before(x)
    assert module._seen_before(x)
    del x
    gc.collect()
    assert key not in module._fitted
    assert not module._seen_before([1.0])  # no weak reference to a list


@pytest.mark.parametrize("with_ledger", [False, True])
def test_folds_and_grids_warn_before_anything_is_charged(with_ledger, ledger):
    selection = pytest.importorskip("sklearn.model_selection")
    x, y = data()
    model = PrivateRobustRegressor(epsilon=1.0, ledger=ledger if with_ledger else None)
    said = "charged to the ledger" if with_ledger else "give a `ledger`"
    with pytest.warns(SpendsAgainWarning, match=rf"sklearn.model_selection fits .* not private.*{said}"):
        selection.cross_val_score(model, x, y, cv=2)
    before = len(list(ledger.entries()))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpendsAgainWarning)
        with pytest.raises(SpendsAgainWarning):
            selection.GridSearchCV(model, {"epsilon": [1.0, 2.0]}, cv=2, error_score="raise").fit(x, y)
    assert len(list(ledger.entries())) == before


def test_what_fits_once_does_not_warn_and_ensembles_do():
    pipeline, ensemble = pytest.importorskip("sklearn.pipeline"), pytest.importorskip("sklearn.ensemble")
    compose = pytest.importorskip("sklearn.compose")
    x, y = data()
    pipeline.make_pipeline(PrivateRobustRegressor()).fit(x, y)
    compose.TransformedTargetRegressor(PrivateRobustRegressor()).fit(x.copy(), y)
    with pytest.warns(SpendsAgainWarning, match=r"sklearn\.ensemble gives every estimator a seed.*protect nobody"):
        ensemble.BaggingRegressor(PrivateRobustRegressor(), n_estimators=2).fit(x, y)


def test_a_ledger_is_given_by_its_path_or_open(ledger, tmp_path):
    x, y = data()
    for given in (ledger.path, str(ledger.path)):  # an open one: test_estimator
        before = len(list(ledger.entries()))
        PrivateRobustRegressor(ledger=given).fit(x, y)
        assert len(list(ledger.entries())) > before
    with pytest.raises(dpkit.DpkitError):
        PrivateRobustRegressor(ledger=tmp_path / "none.ledger").fit(x, y)
    assert not (tmp_path / "none.ledger").exists()
    for wrong in (3, object()):
        with pytest.raises(dpkit.InvalidValueError, match="open or by its path"):
            PrivateRobustRegressor(ledger=wrong).fit(x, y)


def test_clones_copies_and_pickles_charge_the_same_ledger(ledger):
    base = pytest.importorskip("sklearn.base")
    x, y = data()
    model = PrivateRobustRegressor(ledger=ledger, bounds={"x0": (-9, 9)}, levels=None)
    others = [base.clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)]
    others.append(PrivateRobustRegressor().set_params(**model.get_params()))
    assert {other.ledger.path for other in others} == {ledger.path}
    for other in others[:3:2]:  # the clone, and what was pickled
        before = len(list(ledger.entries()))
        other.fit(x, y)
        assert len(list(ledger.entries())) > before
    again = pickle.loads(pickle.dumps(others[0]))  # fitted
    assert np.array_equal(again.predict(x), others[0].predict(x))
    assert pickle.loads(pickle.dumps(ledger)).id == ledger.id
    assert copy.deepcopy(ledger) is ledger
    read = dpkit.Ledger.open(ledger.path, read_only=True, who="auditor")
    reopened = pickle.loads(pickle.dumps(read))
    with pytest.raises(dpkit.DpkitError):
        PrivateRobustRegressor(ledger=reopened).fit(x, y)
