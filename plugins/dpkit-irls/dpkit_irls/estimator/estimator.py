"""`PrivateRobustRegressor`: `irls` and `irls-moments` behind scikit-learn's interface, with or without it installed.

Nothing is read from the data without being paid for: bounds and levels are declared, or a public clamp is used (`irls` needs
no more). Whatever is refused or warned of is so before anything is charged.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from dpkit import InvalidValueError
from dpkit_irls.estimator.declared_columns import DROP, Declared, categories_of, declared
from dpkit_irls.estimator.inputs import checked_rows, checked_targets, feature_names, shown_names, truth_columns
from dpkit_irls.estimator.spending_again import warn_of_spending_again
from dpkit_irls.rows.dummies import widened

if TYPE_CHECKING:
    from dpkit import Guarantee, Ledger, Released

Array = npt.NDArray[np.float64]

WHERE = "PrivateRobustRegressor"
ALGORITHMS = ("irls", "irls-moments")
NOTE_ON_TRUTH = (
    "The target holds truth values: a coefficient is a change of probability (a linear probability model). For odds and "
    "probabilities between 0 and 1 use a logistic regression (`logistic`)."
)

try:
    from sklearn.base import BaseEstimator, RegressorMixin  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # its interface without it
    from dpkit_irls.estimator.inputs import PlainEstimator as BaseEstimator
    from dpkit_irls.estimator.inputs import PlainRegressor as RegressorMixin


class PrivateRobustRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Robust linear regression with an (epsilon, delta) guarantee.

    `bounds` is (lower, upper) for every feature; (lowers, uppers), two lists with a number a feature; or a mapping from names
    to (lower, upper), where "target" is the target's. What has no bounds gets a wide public clamp, which is enough for `irls`;
    columns whose type is boolean get (0, 1). Under replace-one the number of rows is public.

    `levels` maps names of features to their levels, from public knowledge: such a column is a category, with one coefficient a
    level, against the first (`coef_names_`). `shares` maps them to public guesses of how rows are spread over the levels. Other
    columns of anything but numbers and truth values are refused by name. `missing` says what a missing cell (NaN) does: "drop"
    its row, which then contributes nothing, or a number within the bounds that stands for it; a mapping from names ("target"
    for the target) says it for each column, by a level for a category.

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
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.neighbours = neighbours
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.levels = levels
        self.shares = shares
        self.missing = missing
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Plan, check the budget, run; warns (from public facts) where so few rows cannot give a good answer."""
        from dpkit import Advising, ApproxDP, BlockEngine, DeclaredSetting, Neighbours, open_source, run_algorithms, solve_noise
        from dpkit.authoring import one_of
        from dpkit_irls.algorithm import prepare
        from dpkit_irls.measuring.gaps import registry

        one_of(self.algorithm, ALGORITHMS, field="algorithm", where=WHERE)
        one_of(str(self.neighbours), tuple(map(str, Neighbours)), field="neighbours", where=WHERE)
        rng = _seeded(self.random_state)
        shown = shown_names(X)
        categories = categories_of(self.levels, shown, self.missing)
        rows = checked_rows(X, self, categories=categories)
        targets = checked_targets(y, len(rows))
        truths = [*truth_columns(X), *truth_columns(y)[:1]]
        columns = declared(shown, categories, truths=truths, bounds=self.bounds, missing=self.missing)
        relation = Neighbours(self.neighbours)
        public = len(rows) if relation is Neighbours.REPLACE_ONE else None
        setting = DeclaredSetting(schema=columns.schema, neighbours=relation, rows=public)
        algorithm = prepare(
            self.algorithm,
            setting,
            features=columns.features,
            target=columns.target,
            intercept=bool(self.fit_intercept),
            few_rows="answer",
            **({} if self.shares is None else {"shares": self.shares}),
        )
        known = registry()
        (noise,), guarantee = solve_noise(
            [algorithm],
            ApproxDP(epsilon=self.epsilon, delta=self.delta),
            accountant="gdp",  # exact for the Gaussian noise of both, and the fastest
            neighbours=relation,
            registry=known,
        )
        ledger = _opened(self.ledger)
        for advice in algorithm.advice(noise) if isinstance(algorithm, Advising) else ():
            warnings.warn(advice, UserWarning, stacklevel=2)
        warn_of_spending_again(X, charged=ledger is not None, seeded=rng is not None, epsilon=self.epsilon, stacklevel=3)
        result = run_algorithms(
            {"fit": (algorithm, noise)},
            engine=BlockEngine(open_source(_cells(rows, targets, columns), columns.schema, neighbours=relation)),
            setting=setting,
            ledger=ledger,
            rng=rng,
        )
        found: Any = result.outcomes["fit"].result
        self.coef_: Array = np.array(found.coefficients)
        self.coef_names_: tuple[str, ...] = tuple(found.features)
        self.intercept_: float = float(found.intercept)
        self.standard_errors_: Array = np.array(found.standard_errors or [np.nan] * len(found.coefficients))
        self.intercept_error_: float = float("nan") if found.intercept_error is None else float(found.intercept_error)
        self.estimand_: str = found.estimand
        self.n_features_in_: int = rows.shape[1]
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.n_iter_: int = max(1, int(found.iterations))
        self.guarantee_: Guarantee = guarantee
        self.trace_: tuple[Released, ...] = result.releases
        self.simulation_: bool = result.simulation
        on_truth = (NOTE_ON_TRUTH,) if truths[-1] and self.algorithm != "irls" else ()  # `irls` says so itself
        self.notes_: tuple[str, ...] = (columns.note_on_missing, *on_truth, *found.notes)
        self._columns: Declared = columns
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Post-processing of what was released. A missing cell counts as in the fit; where that drops its row, NaN."""
        if not hasattr(self, "coef_"):
            raise _not_fitted(self)
        columns = self._columns
        categories = categories_of(self.levels, columns.shown, self.missing)
        rows = checked_rows(X, self, fitted=True, categories=categories)
        rows = np.where(np.isnan(rows), columns.stand_ins, rows)
        entries = widened(rows, tuple(map(len, columns.levels)))
        dropped = np.isnan(rows).any(axis=1)
        return np.where(dropped, np.nan, np.asarray(entries @ self.coef_ + self.intercept_))

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


def _opened(ledger: object) -> Ledger | None:
    """The ledger itself, or the one in the file of this path."""
    from dpkit import Ledger

    if ledger is None or isinstance(ledger, Ledger):
        return ledger
    if isinstance(ledger, str | os.PathLike):
        return Ledger.open(ledger)
    allowed = "a ledger of dpkit, open or by its path"
    raise InvalidValueError(field="ledger", found=type(ledger).__name__, allowed=allowed, where=WHERE)


def _cells(rows: Array, targets: Array, columns: Declared) -> dict[str, npt.NDArray[Any]]:
    """Columns by name: numbers as they are, categories by their levels, None where a row is to be dropped."""
    cells: dict[str, npt.NDArray[Any]] = {}
    for name, levels, values in zip(columns.features, columns.levels, rows.T, strict=True):
        places = np.where(np.isnan(values), len(levels), values).astype(np.int64) if levels else None
        cells[name] = values if places is None else np.array([*levels, None], dtype=object)[places]
    return {**cells, columns.target: targets}


def _seeded(random_state: object) -> np.random.Generator | None:
    if random_state is None:
        return None
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    allowed = "None, a whole number >= 0 or a generator of numpy"
    raise InvalidValueError(field="random_state", found=random_state, allowed=allowed, where=WHERE)


def _not_fitted(estimator: object) -> Exception:
    message = f"This {type(estimator).__name__} is not fitted yet: call fit first."
    try:
        from sklearn.exceptions import NotFittedError  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return AttributeError(message)
    raised: Exception = NotFittedError(message)
    return raised


__all__ = ["PrivateRobustRegressor"]
