"""A regression of several classes: its score, its queries, and what a fit says; with scores that break each law."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from dpkit_irls import PrivateLogisticRegression, class_estimand_of
from dpkit_irls.bounded.class_step import class_step, classes_apart, contrasts_of
from dpkit_irls.bounded.step_query import CHEAP, FREE, Carried
from dpkit_irls.family_laws import check_classes
from dpkit_irls.queries import frame_of
from dpkit_irls.regressions import prepare
from dpkit_irls.rows.class_scores import ClassScores
from dpkit_irls.simulated_run import last_state

import dpkit
from dpkit import Category, DeclaredSetting, Neighbours, Number, Schema

pytestmark = pytest.mark.usefixtures("solved_once")
TRUTH = np.array([[0.0, 0.0, 0.0], [1.0, -0.5, 0.2], [-0.5, 0.5, 1.0]])
CONSTANTS = np.array([0.0, 0.3, -0.5])
NAMES = ("x0", "x1", "x2")


def rows_of(count, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3))
    return x, np.argmax(x @ TRUTH.T + CONSTANTS + rng.gumbel(size=(count, 3)), axis=1)


def algorithm(count, relation=Neighbours.REPLACE_ONE, levels=("a", "b", "c"), **chosen):
    numbers = [Number(name=name, lower=-10.0, upper=10.0, missing=0.0) for name in NAMES]
    setting = DeclaredSetting(
        schema=Schema(columns=(*numbers, Category(name="y", levels=levels))), neighbours=relation, rows=count
    )
    return prepare("multinomial", setting, features=NAMES, target="y", few_rows="answer", **chosen)


def fitted(count, noise, seed=0, **chosen):
    x, y = rows_of(count, seed)
    found = algorithm(count, **chosen)
    return found.result(last_state(found, noise, np.column_stack([x, y]), np.random.default_rng(1))), x, y


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_scores_of_classes_obey_every_law(classes):
    check_classes(ClassScores, classes=classes)


class Scaled(ClassScores):
    def __call__(self, prepared):
        found, largest = super().__call__(prepared)
        return np.rint(found * 1.01), largest


class OffCentre(ClassScores):
    def probabilities(self, prepared):
        return super().probabilities(prepared)[::-1]


class OfNeighbours(ClassScores):
    def __call__(self, prepared):
        found, largest = super().__call__(prepared)
        return np.trunc(found * (0.5 if len(prepared) > 1 else 1.0)), largest


class NotCut(ClassScores):
    def __call__(self, prepared):
        found, largest = super().__call__(prepared)
        return found * 0.99, largest


@pytest.mark.parametrize(
    ("broken", "why"), [(Scaled, "above 1"), (OffCentre, "mean"), (OfNeighbours, "beside"), (NotCut, "grid")]
)
def test_a_broken_score_is_found(broken, why):
    with pytest.raises(AssertionError, match=why):
        check_classes(broken, classes=3)


def test_of_two_classes_the_score_is_that_of_logistic_regression():
    eta, y = np.random.default_rng(0).normal(size=200) * 3.0, np.arange(200) % 2
    prepared = np.column_stack([np.full(200, 2.0**20), eta, y])
    found = ClassScores.at(np.array([[-0.5], [0.5]]))(prepared)[0][1] * 2.0**-20
    yes = 1.0 / (1.0 + np.exp(-eta))
    assert found * 2.0**0.5 == pytest.approx((y - yes) / np.maximum(yes, 1.0 - yes), abs=2e-5)


@pytest.mark.parametrize("mixes", [FREE, CHEAP])
@pytest.mark.parametrize("kind", [Carried.SCATTER, Carried.WEIGHTED, Carried.MIDDLE])
def test_a_step_taken_apart_is_gradients_and_a_matrix(kind, mixes):
    rng = np.random.default_rng(0)
    block = np.column_stack([rng.normal(size=(300, 3)), rng.integers(0, 3, size=300)])
    frame, position = frame_of(3, near=1.0, far=2.5), rng.normal(size=(3, 3))
    released = class_step(frame, position, mixes[kind]).total(block)
    z = block[:, :3] @ frame.preconditioner
    length = np.linalg.norm(z, axis=1)
    w = z * (np.minimum(1.0, length) * np.minimum(1.0, 2.5 / length) / length)[:, None]
    shares = np.exp(z @ position.T)
    shares /= shares.sum(axis=1, keepdims=True)
    apart = np.eye(3)[block[:, 3].astype(int)] - shares
    largest = np.max(np.linalg.norm(np.eye(3)[None] - shares[:, None], axis=2), axis=1)
    contrasts = contrasts_of(3)
    scored = np.einsum("nj,ja,ni->nai", apart / largest[:, None], contrasts, w).reshape(300, -1)
    longer = np.sqrt(length / np.maximum(np.linalg.norm(w, axis=1), 1e-9) * largest / (2.5 * 2.0**0.5))
    matrix = {
        Carried.SCATTER: w.T @ w,
        Carried.MIDDLE: scored.T @ scored,
        Carried.WEIGHTED: (scored * longer[:, None]).T @ (scored * longer[:, None]),
    }[kind]
    sums = classes_apart(released, contrasts, 3, mixes[kind])
    assert sums.gradient == pytest.approx(scored.sum(axis=0), abs=5e-3)
    assert sums.matrix == pytest.approx(matrix, abs=5e-3)


def test_contributions_have_the_declared_norm_at_most_exactly():
    rng = np.random.default_rng(3)
    block = np.column_stack([rng.normal(size=(40, 2)) * 10.0 ** rng.uniform(-9, 9, size=(40, 1)), rng.integers(0, 4, size=40)])
    mix = FREE[Carried.SCATTER]
    query = class_step(frame_of(2, near=0.5, far=2.0), rng.normal(size=(4, 2)) * 3.0, mix)
    rows = query.rows(block)[:, :8]
    assert max(sum(Fraction(float(entry)) ** 2 for entry in row) for row in rows) <= 1


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_without_noise_a_fit_is_its_estimand_and_near_the_truth(relation):
    fit, x, y = fitted(8_000, 1e-3, relation=relation)
    exact = class_estimand_of(fit, x, y)
    errors = np.column_stack([exact.standard_errors, exact.intercept_errors])
    apart = np.column_stack([fit.coefficients, fit.intercepts]) - np.column_stack([exact.coefficients, exact.intercepts])
    assert np.max(np.abs(apart) / errors) < 0.1
    off = np.column_stack([fit.coefficients, fit.intercepts]) - np.column_stack([TRUTH[1:], CONSTANTS[1:]])
    stated = np.column_stack([fit.standard_errors, fit.intercept_errors])
    assert np.max(np.abs(off) / stated) < 4.0
    assert stated == pytest.approx(errors, rel=0.25)
    assert fit.probabilities(x).sum(axis=1) == pytest.approx(1.0)


def test_a_ridge_shrinks_and_its_estimand_too():
    fit, x, y = fitted(8_000, 1e-3, ridge=1.0)
    exact = class_estimand_of(fit, x, y)
    assert np.array(fit.coefficients) == pytest.approx(np.array(exact.coefficients), abs=2e-3)
    assert 0.3 < np.linalg.norm(fit.coefficients) / np.linalg.norm(TRUTH) < 0.75


def test_notes_names_and_the_plan():
    x, y = rows_of(6_000)
    found = algorithm(6_000, levels=("a", "b", "c", "never"))
    fit = found.result(last_state(found, 4.0, np.column_stack([x, y]), np.random.default_rng(1)))
    assert any("never" in note and "does not occur" in note for note in fit.notes)
    assert "log-odds of b, c, never against a" in fit.estimand
    assert np.isfinite(fit.coefficients).all()
    assert np.isfinite(fit.standard_errors).all()
    assert set(fit.as_json()["coefficients"]) >= {"b: x0", "never: intercept"}
    told = algorithm(6_000).accuracy(4.0)
    assert set(told) == {f"{k}: {name}, on made-up data that fill the bounds" for k in "bc" for name in (*NAMES, "intercept")}


def test_public_coefficients_are_where_steps_start():
    start = np.column_stack([TRUTH[1:], CONSTANTS[1:]]).ravel().tolist()
    one, _, _ = fitted(5_000, 1e-3, start=start)
    other, _, _ = fitted(5_000, 1e-3)
    assert np.array(one.coefficients) == pytest.approx(np.array(other.coefficients), abs=1e-3)
    with pytest.raises(dpkit.InvalidValueError, match="8 finite numbers"):
        algorithm(100, start=[1.0])


def test_targets_that_are_no_classes_are_refused():
    numbers = [Number(name=name, lower=-1.0, upper=1.0) for name in (*NAMES, "y")]
    setting = DeclaredSetting(schema=Schema(columns=tuple(numbers)), neighbours=Neighbours.REPLACE_ONE, rows=9)
    with pytest.raises(dpkit.InvalidValueError, match="declared levels"):
        prepare("multinomial", setting, features=NAMES, target="y")
    with pytest.raises(dpkit.InvalidValueError, match="multinomial"):
        class_estimand_of(replace(fitted(500, 4.0)[0], frame=None), np.zeros((1, 3)), [0])


def test_the_estimator_takes_any_number_of_declared_classes():
    x, y = rows_of(6_000)
    words = np.array(["red", "green", "blue"])[y]
    found = PrivateLogisticRegression(epsilon=8.0, classes=("red", "green", "blue"), random_state=0).fit(x, words)
    assert found.classes_.tolist() == ["red", "green", "blue"]
    assert found.coef_.shape == found.standard_errors_.shape == (3, 3)
    assert found.intercept_.shape == found.intercept_error_.shape == (3,)
    assert np.max(np.abs(found.coef_ - TRUTH)) < 0.3
    shares = found.predict_proba(x)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert np.log(shares) == pytest.approx(found.predict_log_proba(x))
    assert np.array_equal(found.predict(x), found.classes_[np.argmax(found.decision_function(x), axis=1)])
    assert found.score(x, words) > 0.55
    assert np.isnan(found.predict_proba(np.array([[np.nan, 0.0, 0.0]]))).all()
    assert found.predict(np.array([[np.nan, 0.0, 0.0]])).tolist() == ["red"]
    whole = PrivateLogisticRegression(epsilon=8.0, classes=(0, 1, 2), random_state=0).fit(x, y)
    assert np.array_equal(whole.coef_, found.coef_)
