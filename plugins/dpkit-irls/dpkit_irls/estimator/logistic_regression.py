"""`PrivateLogisticRegression`: `logistic` behind scikit-learn's interface of a classifier, with or without it installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpkit import Category, InvalidValueError
from dpkit_irls.estimator.column_types import refuse_levels_of_another_type
from dpkit_irls.estimator.declared_columns import DROP
from dpkit_irls.estimator.inputs import checked_targets, library_of, refuse_unread, truth_columns
from dpkit_irls.estimator.private_estimator import PrivateEstimator, noisy_tags, seeded

Array = npt.NDArray[np.float64]

try:
    from sklearn.base import ClassifierMixin  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # its interface without it
    from dpkit_irls.estimator.inputs import PlainClassifier as ClassifierMixin

READ = "The labels were read from the targets, which only a simulation may do: declare them by `classes`."


class PrivateLogisticRegression(ClassifierMixin, PrivateEstimator):  # type: ignore[misc, unused-ignore]
    """Logistic regression with an (epsilon, delta) guarantee: log-odds of the second class against the first.

    `classes` are the labels, from public knowledge: which labels there are is not read from the data. Without it targets of
    truth values have (False, True) and targets of numbers (0, 1); a label that is none of the declared ones drops its row.
    Of more than two classes each is against the first (`multinomial`): `coef_`, `standard_errors_`, `intercept_` and
    `intercept_error_` have a row a class, and that of the first is 0. Other parameters, and what there is after a fit, are as
    in `PrivateRobustRegressor`; `classes_` are the labels, and `predict_proba`, `decision_function` and `predict`
    post-process what was released.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        neighbours: str = "replace-one",
        fit_intercept: bool = True,
        bounds: object = None,
        classes: object = None,
        levels: object = None,
        shares: object = None,
        missing: object = DROP,
        ledger: object = None,
        random_state: object = None,
        ridge: float = 0.0,
    ) -> None:
        super().__init__(
            epsilon, delta, neighbours, fit_intercept, bounds, levels, shares, missing, ledger, random_state, ridge
        )
        self.classes = classes

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Plan, check the budget, run; warns (from public facts) where so few rows cannot give a good answer."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        simulated = seeded(self.random_state, where=type(self).__name__) is not None
        refuse_unread(y, field="y")
        labels, read = _labels(self.classes, y, simulated=simulated)
        several = len(labels) > 2
        target = None if _are_plain(labels, y) else Category(name="target", levels=tuple(labels))
        if target is not None:
            kinds = [("target", of) for of in [getattr(y, "dtype", None)] if hasattr(of, "kind") or hasattr(of, "is_numeric")]
            refuse_levels_of_another_type(kinds, {"target": target}, where="fit", field="classes")

        def targets(count: int) -> npt.NDArray[Any]:
            if target is not None:
                return _checked_labels(y, count)
            found = checked_targets(y, count)
            return np.where((found == 0.0) | (found == 1.0), found, np.nan)

        algorithm = "multinomial" if several else "logistic"
        self._fit(X, y, algorithm, targets=targets, target=target, yes_or_no=not several)
        self.classes_: npt.NDArray[Any] = np.asarray(labels)
        if read:
            self.notes_ = (*self.notes_, READ)
        return self

    def _keep_coefficients(self, found: Any) -> None:
        """Of several classes a row each, zeros for the first, which has no error."""
        if not hasattr(found, "intercepts"):
            super()._keep_coefficients(found)
            return
        first = np.zeros((1, len(found.features)))
        self.coef_ = np.vstack([first, found.coefficients])
        self.intercept_ = np.array([0.0, *found.intercepts])
        self.standard_errors_ = np.vstack([first, found.standard_errors or np.full_like(self.coef_[1:], np.nan)])
        self.intercept_error_ = np.array([0.0, *(found.intercept_errors or [np.nan] * len(found.intercepts))])

    def decision_function(self, X: Any) -> Array:  # noqa: N803
        """Log-odds of the second class, or of each class against the first; NaN where a missing cell drops the row."""
        return self._predictors(X)

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Probabilities of the classes."""
        odds = self._predictors(X)
        if odds.ndim == 2:
            shares = np.exp(odds - np.max(odds, axis=1, keepdims=True))
            return np.asarray(shares / np.sum(shares, axis=1, keepdims=True))
        small = np.exp(-np.minimum(np.abs(odds), 700.0))
        less, more = small / (1.0 + small), 1.0 / (1.0 + small)
        yes = np.where(odds < 0.0, less, more)
        no = np.where(odds < 0.0, more, less)
        return np.column_stack([no, np.where(np.isnan(odds), np.nan, yes)])

    def predict_log_proba(self, X: Any) -> Array:  # noqa: N803
        """Their logarithms."""
        odds = self._predictors(X)
        if odds.ndim == 2:
            odds = odds - np.max(odds, axis=1, keepdims=True)
            return np.asarray(odds - np.log(np.sum(np.exp(odds), axis=1, keepdims=True)))
        return np.column_stack([-np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)])

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """The most likely class; the first where a missing cell drops the row."""
        odds = self._predictors(X)
        if odds.ndim == 2:
            return np.asarray(self.classes_[np.argmax(np.nan_to_num(odds), axis=1)])
        return np.asarray(self.classes_[(odds > 0.0).astype(np.int64)])

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know."""
        return noisy_tags(super().__sklearn_tags__(), self)


def _are_plain(labels: list[Any], y: Any) -> bool:
    """Whether targets are 0 and 1, or truth values, by their type: they need not be read as texts."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    return (
        kind in "biuf" and all(isinstance(label, bool | int | np.bool_ | np.integer) for label in labels) and labels == [0, 1]
    )


def _labels(classes: object, y: Any, *, simulated: bool) -> tuple[list[Any], bool]:
    """The labels, and whether they were read from the targets."""
    allowed = "at least two labels that differ: texts, whole numbers or truth values"
    if classes is not None:
        given = list(classes) if isinstance(classes, Sequence | np.ndarray) and not isinstance(classes, str) else [classes]
        if len(given) < 2 or len(set(given)) < len(given):
            raise InvalidValueError(field="classes", found=f"{len(given)} labels", allowed=allowed, where="fit")
        return given, False
    if simulated:
        return _read_labels(y), True
    if truth_columns(y)[:1] == [True]:
        return [False, True], False
    kind = getattr(getattr(y, "dtype", None) or np.asarray(y).dtype, "kind", "O")
    if kind in "fiu":
        return [0, 1], False
    raise InvalidValueError(
        field="y",
        found="targets that are no numbers and no truth values",
        allowed="numbers 0 and 1 or truth values, unless `classes` is given",
        where="fit",
        fix="Declare the labels from public knowledge, classes=('no', 'yes'): none is read from the data.",
    )


def _read_labels(y: Any) -> list[Any]:
    """Of a simulation, which protects nobody."""
    try:
        from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        pass
    else:
        check_classification_targets(y)
    found = np.unique(np.asarray(y))
    if len(found) < 2:
        raise ValueError("The targets of this simulation have only one class: declare `classes`.")
    return list(found)


def _checked_labels(y: Any, count: int) -> npt.NDArray[Any]:
    """One label a row, as it is."""
    labels = np.asarray(y.to_numpy() if library_of(y) in ("pandas", "polars") else y)
    hidden = np.ma.getmaskarray(y).reshape(-1) if isinstance(y, np.ma.MaskedArray) else None
    try:
        from sklearn.utils.validation import column_or_1d  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        labels = labels.reshape(-1)
    else:
        labels = column_or_1d(labels, warn=True)
    if len(labels) != count:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {count} and {len(labels)}")
    if hidden is not None:
        labels = labels.astype(object)
        labels[hidden] = None
    return np.asarray(labels)
