"""What the estimator takes: arrays and frames, checked by shape and kind only, and bounds. No message shows a value."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpkit.data.columns import Number
from dpkit.data.schema import Schema
from dpkit.errors import InvalidValueError

Array = npt.NDArray[np.float64]

WIDE = 2.0**40
"""The public clamp where no bounds are declared; units are found privately below it, down to 2**-48 of it."""


def feature_names(rows: Any) -> list[str] | None:
    """Column names of a frame, where all are strings."""
    names = getattr(rows, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return list(names)


def checked_rows(rows: Any, estimator: Any, *, fitted: bool = False) -> Array:
    """A two-dimensional array; what is no number is mapped later, by policy. With scikit-learn its own checks speak."""
    rows = as_numbers(rows)
    dimensions = 2 if hasattr(rows, "toarray") else np.asarray(rows).ndim
    if dimensions != 2:  # scikit-learn would show the array
        shape = f"Expected 2D array, got {dimensions}D array instead."
        raise ValueError(f"{shape} Reshape your data: one row a record, one column a feature.")
    try:
        from sklearn.utils.validation import validate_data  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return _plain_rows(rows, estimator, fitted=fitted)
    checked = validate_data(estimator, rows, reset=not fitted, dtype=np.float64, ensure_all_finite=False)
    return np.asarray(checked, dtype=np.float64)


def as_numbers(values: Any) -> Any:
    """Cells of text and objects as numbers, NaN where they are none: an error about a cell would show it. The rest as it is."""
    if hasattr(values, "toarray"):  # a sparse matrix holds numbers
        return values
    cells = np.asarray(values)
    if cells.dtype.kind == "c":  # said here: scikit-learn would show the array
        raise ValueError("Complex data not supported")
    if cells.dtype.kind not in "OSU":
        return values
    numbers = np.array([_number(cell) for cell in cells.ravel()], dtype=np.float64).reshape(cells.shape)
    if hasattr(values, "iloc") and cells.ndim == 2:  # a frame keeps its names
        return type(values)(numbers, columns=values.columns, index=values.index)
    return numbers


def _number(cell: object) -> float:
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _plain_rows(rows: Any, estimator: Any, *, fitted: bool) -> Array:
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] < 1:
        raise InvalidValueError(field="X", found=f"{array.ndim} dimensions", allowed="rows and columns", where="fit")
    if fitted and array.shape[1] != estimator.n_features_in_:
        allowed = f"{estimator.n_features_in_} columns"
        raise InvalidValueError(field="X", found=f"{array.shape[1]} columns", allowed=allowed, where="predict")
    return array


def checked_targets(targets: Any, count: int) -> Array:
    """One number a row."""
    if targets is None:
        raise ValueError("requires y to be passed, but the target y is None")
    targets = as_numbers(targets)
    try:
        from sklearn.utils.validation import check_array, column_or_1d
    except ImportError:
        array = np.asarray(targets, dtype=np.float64).reshape(-1)
    else:
        column = column_or_1d(targets, warn=True)
        array = np.asarray(check_array(column, ensure_2d=False, dtype=np.float64, ensure_all_finite=False))
    if len(array) != count:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {count} and {len(array)}")
    return array


def declared_schema(columns: Sequence[str], names: Sequence[str] | None, bounds: object) -> Schema:
    """Columns with their public bounds; values that are no numbers count as the middle of the bounds."""
    shown = list(columns) if names is None else list(names)
    limits = [_limits(bounds, name) for name in [*shown, "target"]]
    numbers = [
        Number(name=name, lower=low, upper=high, missing=(low + high) / 2.0)
        for name, (low, high) in zip([*columns, "target"], limits, strict=True)
    ]
    return Schema(columns=tuple(numbers))


def _limits(bounds: object, name: str) -> tuple[float, float]:
    if isinstance(bounds, Mapping):
        bounds = bounds.get(name)
    elif name == "target":
        bounds = None
    if bounds is None:
        return -WIDE, WIDE
    if isinstance(bounds, Sequence) and len(bounds) == 2:
        return float(bounds[0]), float(bounds[1])
    raise InvalidValueError(
        field="bounds", found=type(bounds).__name__, allowed="(lower, upper), or a mapping from names to that", where="fit"
    )


class PlainEstimator:
    """What scikit-learn's base class does, where scikit-learn is not installed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **values: Any) -> Self:
        """Change parameters by name."""
        known = self.get_params()
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r}; known: {', '.join(known)}")
            setattr(self, name, value)
        return self


class PlainRegressor:
    """The score of a regressor."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """R^2 on the data given. It reads that data without paying: use data that need no protection."""
        truth = np.asarray(y, dtype=np.float64)
        weights = np.ones_like(truth) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        left = np.sum(weights * (truth - self.predict(X)) ** 2)  # type: ignore[attr-defined]
        total = np.sum(weights * (truth - np.average(truth, weights=weights)) ** 2)
        return float(1.0 - left / total) if total else 0.0
