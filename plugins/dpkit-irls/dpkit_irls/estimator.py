"""`PrivateRobustRegressor`: `irls` and `irls-moments` behind scikit-learn's interface, with or without it installed.

Nothing is read from the data without being paid for: bounds are declared, or a public clamp is
used (`irls` needs no more).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from dpkit_irls.estimator_inputs import (
    DROP,
    checked_rows,
    checked_targets,
    declared_schema,
    feature_names,
    note_on_missing,
    stand_ins,
)

if TYPE_CHECKING:
    from dpkit.core.guarantee import Guarantee
    from dpkit.running.curator import Released

Array = npt.NDArray[np.float64]

try:
    from sklearn.base import BaseEstimator, RegressorMixin  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # its interface without it
    from dpkit_irls.estimator_inputs import PlainEstimator as BaseEstimator
    from dpkit_irls.estimator_inputs import PlainRegressor as RegressorMixin


class PrivateRobustRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Robust linear regression with an (epsilon, delta) guarantee.

    `bounds` is (lower, upper) for every feature, or a mapping from names (the target's is "target"); without it a wide public
    clamp is used, which is enough for `irls`. Under replace-one the number of rows is public. With `random_state` the noise
    is seeded: the fit is a simulation, is stamped as one, and protects nobody. `ledger` is an open `dpkit` ledger that the fit
    is charged to.

    Columns of anything but numbers and truth values are refused by name, before anything is charged. `missing` says what a
    missing cell (NaN) does: "drop" its row, which then contributes nothing, or a number within the bounds that stands for it; a
    mapping from names ("target" for the target) says it for each column. `notes_` tells the rule, and nothing of the data.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        algorithm: str = "irls",
        neighbours: str = "replace-one",
        fit_intercept: bool = True,
        bounds: object = None,
        ledger: object = None,
        random_state: object = None,
        missing: object = DROP,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.neighbours = neighbours
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.ledger = ledger
        self.random_state = random_state
        self.missing = missing

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Plan, check the budget, run; warns (from public facts) where so few rows cannot give a good answer."""
        from dpkit.core.losses import ApproxDP
        from dpkit.core.neighbours import Neighbours
        from dpkit.data.engine import BlockEngine
        from dpkit.data.opening import open_source
        from dpkit.data.setting import DeclaredSetting
        from dpkit.running.run import run_algorithms
        from dpkit.running.schedules import solve_noise
        from dpkit_irls.algorithm import prepare
        from dpkit_irls.measuring import registry

        names = feature_names(X)
        rows = checked_rows(X, self)
        targets = checked_targets(y, len(rows))
        relation = Neighbours(self.neighbours)
        columns = [f"x{place}" for place in range(rows.shape[1])]
        schema = declared_schema(columns, names, self.bounds, self.missing)
        public = len(rows) if relation is Neighbours.REPLACE_ONE else None
        setting = DeclaredSetting(schema=schema, neighbours=relation, rows=public)
        algorithm = prepare(
            self.algorithm,
            setting,
            features=columns,
            target="target",
            intercept=bool(self.fit_intercept),
            few_rows="answer",
        )
        known = registry()
        (noise,), guarantee = solve_noise(
            [algorithm],
            ApproxDP(epsilon=self.epsilon, delta=self.delta),
            accountant="gdp",  # exact for the Gaussian noise of both, and the fastest
            neighbours=relation,
            registry=known,
        )
        for advice in getattr(algorithm, "advice", lambda noise: ())(noise):
            warnings.warn(advice, UserWarning, stacklevel=2)
        source = open_source(np.column_stack([rows, targets]), schema, neighbours=relation, names=[*columns, "target"])
        ledger: Any = self.ledger
        result = run_algorithms(
            {"fit": (algorithm, noise)},
            engine=BlockEngine(source),
            setting=setting,
            ledger=ledger,
            rng=_seeded(self.random_state),
        )
        found: Any = result.outcomes["fit"].result
        self.coef_: Array = np.array(found.coefficients)
        self.intercept_: float = float(found.intercept)
        self.n_features_in_: int = rows.shape[1]
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.n_iter_: int = max(1, int(found.iterations))
        self.guarantee_: Guarantee = guarantee
        self.trace_: tuple[Released, ...] = result.releases
        self.simulation_: bool = result.simulation
        self.notes_: tuple[str, ...] = (note_on_missing(schema, names),)
        self._stand_ins: Array = stand_ins(schema)
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Post-processing of what was released. A missing cell counts as in the fit; where that drops its row, NaN."""
        if not hasattr(self, "coef_"):
            raise _not_fitted(self)
        rows = checked_rows(X, self, fitted=True)
        return np.asarray(np.where(np.isnan(rows), self._stand_ins, rows) @ self.coef_ + self.intercept_)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803
        """Parameters, and the guarantee once there is one."""
        told = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items() if value is not None)
        if not hasattr(self, "guarantee_"):
            return f"PrivateRobustRegressor({told})"
        stamp = "; simulation: protects nobody" if self.simulation_ else ""
        return f"PrivateRobustRegressor({told}) [({self.epsilon!r}, {self.delta!r})-DP, {self.neighbours}{stamp}]"

    def __sklearn_tags__(self) -> Any:
        """Noisy by design, not scored on tiny data; a missing cell is mapped and never raises."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.regressor_tags.poor_score = True
        tags.input_tags.allow_nan = True
        return tags


def _seeded(random_state: object) -> np.random.Generator | None:
    if random_state is None:
        return None
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(int(random_state))  # type: ignore[call-overload]


def _not_fitted(estimator: object) -> Exception:
    message = f"This {type(estimator).__name__} is not fitted yet: call fit first."
    try:
        from sklearn.exceptions import NotFittedError  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return AttributeError(message)
    raised: Exception = NotFittedError(message)
    return raised


__all__ = ["PrivateRobustRegressor"]
