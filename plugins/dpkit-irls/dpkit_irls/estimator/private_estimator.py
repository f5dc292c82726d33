"""What every private estimator does: plan, check the budget, run, and keep what was released; with or without scikit-learn.

Nothing is read from the data without being paid for: bounds, levels and classes are declared, or a public clamp is used.
Whatever is refused or warned of is so before anything is charged.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpkit import InvalidValueError
from dpkit_irls.estimator.declared_columns import (
    DROP,
    Declared,
    categories_of,
    declared,
    finite_number,
    notes_on_clipping,
    refuse_without_bounds,
)
from dpkit_irls.estimator.inputs import (
    by_shown_names,
    checked_rows,
    column_labels,
    feature_names,
    refuse_unread,
    shown_names,
    truth_columns,
)
from dpkit_irls.estimator.spending_again import warn_of_spending_again, warn_of_unpaid_steps
from dpkit_irls.rows.dummies import widened

if TYPE_CHECKING:
    from dpkit import Category, Guarantee, Ledger, Released

Array = npt.NDArray[np.float64]

try:
    from sklearn.base import BaseEstimator  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # its interface without it
    from dpkit_irls.estimator.inputs import PlainEstimator as BaseEstimator


class PrivateEstimator(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The parameters that every estimator has, and how a fit with them is made. One with parameters of its own names them all
    in its constructor, where scikit-learn looks for them.
    """

    def __init__(
        self,
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
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.levels = levels
        self.shares = shares
        self.missing = missing
        self.ledger = ledger
        self.random_state = random_state
        self.ridge = ridge

    def _fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        algorithm: str,
        *,
        targets: Any,
        target: Category | None = None,
        lowest: float | None = None,
        yes_or_no: bool = False,
        **chosen: object,
    ) -> Any:
        """Fit an algorithm by name. `targets(count)` gives the checked targets, once rows are; `target` declares classes.

        `lowest`: the target is never below it, where no bounds are declared. `yes_or_no`: it is 0 or 1.
        """
        from dpkit import Advising, ApproxDP, BlockEngine, DeclaredSetting, Neighbours, open_source, run_algorithms, solve_noise
        from dpkit.authoring import one_of
        from dpkit_irls.measuring.gaps import registry
        from dpkit_irls.regressions import prepare

        where = type(self).__name__
        self._check_parameters(where)
        one_of(str(self.neighbours), tuple(map(str, Neighbours)), field="neighbours", where=where)
        rng = seeded(self.random_state, where=where)
        refuse_unread(X)
        shown, labels = shown_names(X), column_labels(X)
        bounds, levels, missing, shares = (
            by_shown_names(given, labels, shown) for given in (self.bounds, self.levels, self.missing, self.shares)
        )
        categories = categories_of(levels, shown, missing)
        rows = checked_rows(X, self, categories=categories)
        answers = targets(len(rows))
        truths = [*truth_columns(X), yes_or_no or truth_columns(y)[:1] == [True]]
        columns = declared(shown, categories, truths=truths, bounds=bounds, missing=missing, target=target, lowest=lowest)
        relation = Neighbours(self.neighbours)
        public = len(rows) if relation is Neighbours.REPLACE_ONE else None
        setting = DeclaredSetting(schema=columns.schema, neighbours=relation, rows=public)
        prepared = prepare(
            algorithm,
            setting,
            features=columns.features,
            target=columns.target,
            intercept=bool(self.fit_intercept),
            few_rows="answer",
            **({} if shares is None else {"shares": shares}),
            **({} if self.ridge == 0.0 else {"ridge": self.ridge}),
            **chosen,
        )
        if algorithm == "irls-moments":
            refuse_without_bounds(columns, algorithm)
        (noise,), guarantee = solve_noise(
            [prepared],
            ApproxDP(epsilon=self.epsilon, delta=self.delta),
            accountant="gdp",  # exact for the Gaussian noise of all, and the fastest
            neighbours=relation,
            registry=registry(),
        )
        ledger = _opened(self.ledger, where=where)
        for advice in prepared.advice(noise) if isinstance(prepared, Advising) else ():
            warnings.warn(advice, UserWarning, stacklevel=3)
        warn_of_spending_again(X, charged=ledger is not None, seeded=rng is not None, epsilon=self.epsilon, stacklevel=4)
        warn_of_unpaid_steps(stacklevel=4)
        result = run_algorithms(
            {"fit": (prepared, noise)},
            engine=BlockEngine(open_source(_cells(rows, answers, columns), columns.schema, neighbours=relation)),
            setting=setting,
            ledger=ledger,
            rng=rng,
        )
        found: Any = result.outcomes["fit"].result
        self.fit_: Any = found  # for `estimand_of`
        self.coef_names_: tuple[str, ...] = tuple(found.features)
        self._keep_coefficients(found)
        self.estimand_: str = found.estimand
        self.n_features_in_: int = rows.shape[1]
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.n_iter_: int = max(1, int(found.iterations))
        self.guarantee_: Guarantee = guarantee
        self.trace_: tuple[Released, ...] = result.releases
        self.simulation_: bool = result.simulation
        self.notes_: tuple[str, ...] = (columns.note_on_missing, *notes_on_clipping(columns, found), *found.notes)
        self._columns: Declared = columns
        self._categories: dict[str, Category] = categories
        return found

    def _check_parameters(self, where: str) -> None:
        """Those that say how much is spent, and on what."""
        epsilon, delta, constant = finite_number(self.epsilon), finite_number(self.delta), self.fit_intercept
        if epsilon is None or not epsilon > 0.0:
            raise InvalidValueError(field="epsilon", found=self.epsilon, allowed="a finite number above 0", where=where)
        if delta is None or not 0.0 < delta < 1.0:
            allowed = "a number between 0 and 1, such as 1e-6: Gaussian noise has no guarantee at delta = 0"
            raise InvalidValueError(field="delta", found=self.delta, allowed=allowed, where=where)
        if not isinstance(constant, bool | np.bool_) and finite_number(constant) not in (0.0, 1.0):
            raise InvalidValueError(field="fit_intercept", found=constant, allowed="True or False", where=where)

    def _keep_coefficients(self, found: Any) -> None:
        """Coefficients and their errors, of a line; an estimator of several lines keeps them in its own way."""
        self.coef_: Array = np.array(found.coefficients)
        self.intercept_: Any = float(found.intercept)
        self.standard_errors_: Array = np.array(found.standard_errors or [np.nan] * len(found.coefficients))
        self.intercept_error_: Any = float("nan") if found.intercept_error is None else float(found.intercept_error)

    def _predictors(self, X: Any) -> Array:  # noqa: N803
        """Post-processing of what was released. A missing cell counts as in the fit; where that drops its row, NaN."""
        if not hasattr(self, "coef_"):
            raise _not_fitted(self)
        columns = self._columns
        refuse_unread(X)
        rows = checked_rows(X, self, fitted=True, categories=self._categories)
        rows = np.where(np.isnan(rows), columns.stand_ins, rows)
        entries = widened(rows, tuple(map(len, columns.levels)))
        found = np.asarray(entries @ self.coef_.T + self.intercept_)
        found[np.isnan(rows).any(axis=1)] = np.nan
        return found

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803
        """Parameters, and the guarantee once there is one."""
        told = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items() if value is not None)
        name = type(self).__name__
        if not hasattr(self, "guarantee_"):
            return f"{name}({told})"
        stamp = "; simulation: protects nobody" if self.simulation_ else ""
        return f"{name}({told}) [({self.epsilon!r}, {self.delta!r})-DP, {self.neighbours}{stamp}]"


def noisy_tags(tags: Any, estimator: PrivateEstimator) -> Any:
    """Noisy by design, not scored on tiny data; a missing cell is mapped and never raises."""
    tags.non_deterministic = estimator.random_state is None
    if tags.regressor_tags is not None:
        tags.regressor_tags.poor_score = True
    if tags.classifier_tags is not None:
        tags.classifier_tags.poor_score = True
    tags.input_tags.allow_nan = True
    return tags


def _opened(ledger: object, *, where: str) -> Ledger | None:
    """The ledger itself, or the one in the file of this path."""
    from dpkit import Ledger

    if ledger is None or isinstance(ledger, Ledger):
        return ledger
    if isinstance(ledger, str | os.PathLike):
        return Ledger.open(ledger)
    allowed = "a ledger of dpkit, open or by its path"
    raise InvalidValueError(field="ledger", found=type(ledger).__name__, allowed=allowed, where=where)


def _cells(rows: Array, targets: npt.NDArray[Any], columns: Declared) -> dict[str, npt.NDArray[Any]]:
    """Columns by name: numbers as they are, categories by their levels, None where a row is to be dropped."""
    cells: dict[str, npt.NDArray[Any]] = {}
    for name, levels, values in zip(columns.features, columns.levels, rows.T, strict=True):
        places = np.where(np.isnan(values), len(levels), values).astype(np.int64) if levels else None
        cells[name] = values if places is None else np.array([*levels, None], dtype=object)[places]
    return {**cells, columns.target: targets}


def seeded(random_state: object, *, where: str) -> np.random.Generator | None:
    """The generator of a simulation, or None."""
    if random_state is None:
        return None
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    allowed = "None, a whole number >= 0 or a generator of numpy"
    raise InvalidValueError(field="random_state", found=random_state, allowed=allowed, where=where)


def _not_fitted(estimator: object) -> Exception:
    message = f"This {type(estimator).__name__} is not fitted yet: call fit first."
    try:
        from sklearn.exceptions import NotFittedError  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return AttributeError(message)
    raised: Exception = NotFittedError(message)
    return raised
