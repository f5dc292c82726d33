"""What the estimator takes: arrays and frames, checked by shape and by the types of their columns, bounds, and missing cells.

The type of a column is a fact of the table, declared by whoever made it, as its name is: types are looked at, cells are not. So
text is refused by its type, also where it spells numbers, and no cell is ever refused. No message shows a value.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpkit.data.columns import Number, Policy
from dpkit.data.schema import Schema
from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import in_full

Array = npt.NDArray[np.float64]

WIDE = 2.0**40
"""The public clamp where no bounds are declared; units are found privately below it, down to 2**-48 of it."""


_NUMBERS = "fiub"
_WORDS = {
    "U": "text",
    "S": "text",
    "O": "text or other objects",
    "M": "times",
    "m": "times",
    "StringDtype": "text",
    "String": "text",
    "CategoricalDtype": "categories",
    "Categorical": "categories",
    "Enum": "categories",
}
"""By numpy's letter, or by the class of the type in pandas or polars."""

DROP = Policy.DROP.value


def feature_names(rows: Any) -> list[str] | None:
    """Column names of a frame, where all are strings."""
    names = getattr(rows, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return list(names)


def checked_rows(rows: Any, estimator: Any, *, fitted: bool = False) -> Array:
    """A two-dimensional array of numbers, NaN where a cell is missing. With scikit-learn its own checks speak."""
    where = "predict" if fitted else "fit"
    rows = as_numbers(rows, field="X", where=where)
    dimensions = 2 if hasattr(rows, "toarray") else np.ndim(rows)
    if dimensions != 2:  # scikit-learn would show the array
        shape = f"Expected 2D array, got {dimensions}D array instead."
        raise ValueError(f"{shape} Reshape your data: one row a record, one column a feature.")
    try:
        from sklearn.utils.validation import validate_data  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return _plain_rows(rows, estimator, fitted=fitted)
    checked = validate_data(estimator, rows, reset=not fitted, dtype=np.float64, ensure_all_finite=False)
    return np.asarray(checked, dtype=np.float64)


def as_numbers(values: Any, *, field: str, where: str) -> Any:
    """The same cells as float64, NaN where one is missing. `InvalidValueError` names the columns of other types."""
    if hasattr(values, "toarray"):  # a sparse matrix holds numbers
        return values
    library = type(values).__module__.partition(".")[0]
    if library == "pandas" and hasattr(values, "dtypes"):
        return _pandas_numbers(values, field=field, where=where)
    if library == "polars" and hasattr(values, "to_numpy"):
        return _polars_numbers(values, field=field, where=where)
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    cells = np.asarray(values)
    _refuse_unless_numbers([(None, cells.dtype)], field=field, where=where)
    return cells if masked is None else np.where(masked, np.nan, cells.astype(np.float64))


def _pandas_numbers(values: Any, *, field: str, where: str) -> Any:
    if values.ndim == 1:
        _refuse_unless_numbers([(values.name, values.dtype)], field=field, where=where)
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    _refuse_unless_numbers(list(zip(values.columns, values.dtypes, strict=True)), field=field, where=where)
    columns = [values.iloc[:, place].to_numpy(dtype=np.float64, na_value=np.nan) for place in range(values.shape[1])]
    cells = np.column_stack(columns) if columns else np.zeros(values.shape)
    return type(values)(cells, columns=values.columns, index=values.index)  # a frame keeps its names


def _polars_numbers(values: Any, *, field: str, where: str) -> Any:
    import polars

    frame = values.to_frame() if hasattr(values, "to_frame") else values
    _refuse_unless_numbers(list(zip(frame.columns, frame.dtypes, strict=True)), field=field, where=where)
    cells = frame.select(polars.all().cast(polars.Float64))  # a null becomes NaN in numpy
    return cells if frame is values else cells.to_series().to_numpy()


def _refuse_unless_numbers(columns: Sequence[tuple[object, Any]], *, field: str, where: str) -> None:
    """Each column by name and type: numpy's, pandas' or polars'."""
    if any(_kind(of) == "c" for _, of in columns):  # said here: scikit-learn would show the array
        raise ValueError("Complex data not supported")
    wrong = [(name, _word(of)) for name, of in columns if _kind(of) not in _NUMBERS]
    if not wrong:
        return
    told = ", ".join(word if name is None else f"{word} in the column {str(name)!r}" for name, word in wrong)
    raise InvalidValueError(
        field=field,
        found=Found(told),
        allowed="numbers or truth values in every column",
        where=where,
        fix="Text, categories, times and objects are not read, also where they spell numbers. Leave such columns out, or make "
        "numbers of them by a rule that does not look at other rows: astype(float), or a column of 0 and 1 for each category.",
    )


def _kind(of: Any) -> str:
    """One letter, as numpy has it."""
    if hasattr(of, "is_numeric"):  # polars
        return "f" if of.is_numeric() or type(of).__name__ == "Boolean" else "O"
    return str(of.kind)


def _word(of: Any) -> str:
    """What a type is called, without what it is made of: lengths of texts, and categories, are read from cells."""
    called = of.kind if isinstance(of, np.dtype) else getattr(of, "__name__", type(of).__name__)
    return _WORDS.get(called, "cells of another type")


class Found(str):
    """A description, which messages show without quotes."""

    def __repr__(self) -> str:
        return str(self)


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
    targets = as_numbers(targets, field="y", where="fit")
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


def declared_schema(columns: Sequence[str], names: Sequence[str] | None, bounds: object, missing: object) -> Schema:
    """Columns with their public bounds, and what stands for missing cells: nothing (the row is dropped), or a number."""
    shown = [*(columns if names is None else names), "target"]
    limits = [_limits(bounds, name) for name in shown]
    declared = [
        Number(name=name, lower=low, upper=high, missing=_stand_in(missing, label))
        for name, label, (low, high) in zip([*columns, "target"], shown, limits, strict=True)
    ]
    return Schema(columns=tuple(declared))


def stand_ins(schema: Schema) -> Array:
    """What stands for a missing cell of each feature; NaN where its row is dropped."""
    policies = [column.missing for column in schema.columns if isinstance(column, Number)][:-1]
    return np.array([np.nan if isinstance(policy, Policy) else policy for policy in policies], dtype=np.float64)


def note_on_missing(schema: Schema, names: Sequence[str] | None) -> str:
    """What becomes of missing cells, from what is declared alone: it is the same note whether there are any or not."""
    shown = [*(schema.names[:-1] if names is None else names), "target"]
    declared = [column.missing for column in schema.columns if isinstance(column, Number)]
    filled = [
        f"{name!r} as {in_full(policy)}" for name, policy in zip(shown, declared, strict=True) if not isinstance(policy, Policy)
    ]
    rule = "A row with a missing cell (NaN) contributes nothing to the fit"
    if len(filled) == len(declared):
        rule = f"Missing cells (NaN) count as what was declared: {', '.join(filled)}"
    elif filled:
        rule += f", except that missing cells count in {', '.join(filled)}"
    return f"{rule}. How many there are is not told: that would have to be paid for."


def _stand_in(missing: object, name: str) -> Policy | float:
    if isinstance(missing, Mapping):
        missing = missing.get(name, DROP)
    if isinstance(missing, str) and missing == DROP:
        return Policy.DROP
    if isinstance(missing, numbers.Real) and not isinstance(missing, bool) and math.isfinite(missing):
        return float(missing)
    allowed = "'drop', a number that stands for missing cells, or a mapping from names to these"
    raise InvalidValueError(field="missing", found=missing, allowed=allowed, where="fit")


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
