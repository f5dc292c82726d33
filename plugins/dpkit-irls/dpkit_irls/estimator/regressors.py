"""`PrivatePoissonRegressor` and `PrivateQuantileRegressor` behind scikit-learn's interface, with or without it installed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpkit_irls.estimator.declared_columns import DROP
from dpkit_irls.estimator.inputs import checked_targets
from dpkit_irls.estimator.private_estimator import PrivateEstimator, noisy_tags

Array = npt.NDArray[np.float64]

try:
    from sklearn.base import RegressorMixin  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # its interface without it
    from dpkit_irls.estimator.inputs import PlainRegressor as RegressorMixin


class PrivatePoissonRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc, unused-ignore]
    """Regression of counts on the logarithm of their mean, with an (epsilon, delta) guarantee; over-dispersed counts too.

    A target below 0 counts as 0. Parameters, and what there is after a fit, are as in `PrivateRobustRegressor`; `predict` gives
    means.
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Plan, check the budget, run; warns (from public facts) where so few rows cannot give a good answer."""
        self._fit(X, y, "poisson", targets=lambda count: checked_targets(y, count), lowest=0.0)
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Means: post-processing of what was released. NaN where a missing cell drops the row."""
        return np.exp(np.clip(self._predictors(X), -700.0, 700.0))

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know."""
        return noisy_tags(super().__sklearn_tags__(), self)


class PrivateQuantileRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc, unused-ignore]
    """Regression of a quantile, with an (epsilon, delta) guarantee: the share `quantile` of targets lies below the line.

    The check loss is smoothed over a released width, which `estimand_` states. Other parameters, and what there is after a fit,
    are as in `PrivateRobustRegressor`.
    """

    def __init__(
        self,
        quantile: float = 0.5,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        neighbours: str = "replace-one",
        fit_intercept: bool = True,
        bounds: object = None,
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
        self.quantile = quantile

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Plan, check the budget, run; warns (from public facts) where so few rows cannot give a good answer."""
        self._fit(X, y, "quantile-regression", targets=lambda count: checked_targets(y, count), quantile=self.quantile)
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Quantiles: post-processing of what was released. NaN where a missing cell drops the row."""
        return self._predictors(X)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know."""
        return noisy_tags(super().__sklearn_tags__(), self)
