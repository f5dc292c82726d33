"""`PrivateRobustRegressor`: `irls` and `irls-moments` behind scikit-learn's interface, with or without it installed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpkit import InvalidValueError
from dpkit_irls.estimator.declared_columns import DROP
from dpkit_irls.estimator.inputs import checked_targets, truth_columns
from dpkit_irls.estimator.private_estimator import PrivateEstimator, noisy_tags

Array = npt.NDArray[np.float64]

ALGORITHMS = ("irls", "irls-moments")
LOSSES = ("huber", "l1", "bisquare")
NOTE_ON_TRUTH = (
    "The target holds truth values: a coefficient is a change of probability (a linear probability model). For odds and "
    "probabilities between 0 and 1 use a logistic regression (`logistic`)."
)

try:
    from sklearn.base import RegressorMixin  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # its interface without it
    from dpkit_irls.estimator.inputs import PlainRegressor as RegressorMixin


class PrivateRobustRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc, unused-ignore]
    """Robust linear regression with an (epsilon, delta) guarantee.

    `bounds` is (lower, upper) for every feature; (lowers, uppers), two lists with a number a feature; or a mapping from names
    to (lower, upper), where "target" is the target's. What has no bounds gets a wide public clamp, which is enough for `irls`;
    columns whose type is boolean get (0, 1). Under replace-one the number of rows is public.

    `levels` maps names of features to their levels, from public knowledge: such a column is a category, with one coefficient a
    level, against the first (`coef_names_`). `shares` maps them to public guesses of how rows are spread over the levels. Other
    columns of anything but numbers and truth values are refused by name. `missing` says what a missing cell (NaN) does: "drop"
    its row, which then contributes nothing, or a number within the bounds that stands for it; a mapping from names ("target"
    for the target) says it for each column, by a level for a category.

    A `ridge` pulls slopes, in released scales, towards 0: by about 1 / (1 + ridge) where columns are not correlated. `loss` is
    the score that residuals have, of `irls`: "huber", "l1" or "bisquare".

    `ledger` is a `dpkit` ledger, open or by its path, that every fit is charged to. Fits add up: a second one on the same rows
    without a ledger, and fits by scikit-learn's folds, grids and ensembles, warn (`SpendsAgainWarning`). With `random_state`
    the noise is seeded: the fit is a simulation, is stamped as one, and protects nobody.

    After a fit: `coef_`, `coef_names_`, `intercept_`, `standard_errors_` and `intercept_error_` (NaN where there is none),
    `estimand_` (what the coefficients estimate, in words), `notes_` (what a reader must know), `guarantee_`, `trace_`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        algorithm: str = "irls",
        neighbours: str = "replace-one",
        fit_intercept: bool = True,
        bounds: object = None,
        levels: object = None,
        shares: object = None,
        missing: object = DROP,
        ledger: object = None,
        random_state: object = None,
        ridge: float = 0.0,
        loss: str = "huber",
    ) -> None:
        super().__init__(
            epsilon, delta, neighbours, fit_intercept, bounds, levels, shares, missing, ledger, random_state, ridge
        )
        self.algorithm = algorithm
        self.loss = loss

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Plan, check the budget, run; warns (from public facts) where so few rows cannot give a good answer."""
        from dpkit.authoring import one_of

        one_of(self.algorithm, ALGORITHMS, field="algorithm", where=type(self).__name__)
        one_of(self.loss, LOSSES, field="loss", where=type(self).__name__)
        if self.algorithm != "irls" and (self.loss != "huber" or self.ridge != 0.0):
            given = "loss" if self.loss != "huber" else "ridge"
            allowed = f"with algorithm='irls' alone: {self.algorithm} has none"
            raise InvalidValueError(field=given, found=getattr(self, given), allowed=allowed, where=type(self).__name__)
        chosen: dict[str, Any] = {} if self.loss == "huber" else {"score": self.loss}
        self._fit(X, y, self.algorithm, targets=lambda count: checked_targets(y, count), **chosen)
        if truth_columns(y)[:1] == [True] and self.algorithm != "irls":  # `irls` says so itself
            self.notes_ = (self.notes_[0], NOTE_ON_TRUTH, *self.notes_[1:])
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Post-processing of what was released. A missing cell counts as in the fit; where that drops its row, NaN."""
        return self._predictors(X)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know."""
        return noisy_tags(super().__sklearn_tags__(), self)


__all__ = ["PrivateRobustRegressor"]
