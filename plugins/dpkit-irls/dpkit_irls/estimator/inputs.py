"""What the estimator takes: arrays and frames, checked by shape and by the types of their columns.

The type of a column is a fact of the table, declared by whoever made it, as its name is: types are looked at, cells are not. So
text is refused by its type, also where it spells numbers, and no cell is ever refused. No message shows a value.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpkit import Category, Cells, InvalidValueError

Array = npt.NDArray[np.float64]

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

_NO_CATEGORIES: Mapping[str, Category] = {}


def feature_names(rows: Any) -> list[str] | None:
    """Column names of a frame, where all are strings."""
    names = getattr(rows, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return list(names)


def refuse_unread(rows: Any) -> None:
    """What is no table that can be read as it is, and frames whose columns cannot be told apart by name."""
    kind, library = type(rows).__name__, type(rows).__module__.partition(".")[0]
    allowed = "an array or a frame of pandas or polars"
    if library == "polars" and kind == "LazyFrame":
        fix = "Rows that are not computed yet cannot be read: give X.collect()."
        raise InvalidValueError(field="X", found=Found("a LazyFrame"), allowed=allowed, where="fit", fix=fix)
    if isinstance(rows, Mapping) and not hasattr(rows, "toarray"):  # a sparse matrix may be a mapping
        fix = "Make a frame of it, such as pandas.DataFrame(X)."
        raise InvalidValueError(field="X", found=Found("a mapping"), allowed=allowed, where="fit", fix=fix)
    labels = column_labels(rows)
    twice = sorted({str(label) for label in labels if labels.count(label) > 1})
    if twice:
        found = Found(f"several columns named {', '.join(twice)}")
        raise InvalidValueError(field="X", found=found, allowed="columns of different names", where="fit")


def column_labels(rows: Any) -> list[Any]:
    """The columns as the frame itself names them, whatever they are; none of an array."""
    labels = getattr(rows, "columns", None)
    return [] if labels is None else list(labels)


def by_shown_names(given: object, labels: Sequence[Any], shown: Sequence[str]) -> object:
    """A mapping by the frame's own names, where these are no texts, as one by the names that are shown."""
    if not isinstance(given, Mapping) or list(labels) == list(shown):
        return given
    places = dict(zip(labels, shown, strict=False))
    return {places.get(name, name): value for name, value in given.items()}


def shown_names(rows: Any) -> list[str]:
    """The columns as messages and declarations name them: by the names of a frame, otherwise x0, x1, ..."""
    names = feature_names(rows)
    shape = _shape(rows)
    return [f"x{place}" for place in range(shape[1] if len(shape) > 1 else 0)] if names is None else names


def truth_columns(values: Any) -> list[bool]:
    """Which columns (of one column: a list of one) hold truth values by their type."""
    types = getattr(values, "dtypes", None)
    if types is None or isinstance(types, np.dtype | str) or not hasattr(types, "__iter__"):
        of = values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype
        shape = _shape(values)
        return [_is_truth(of)] * (shape[1] if len(shape) > 1 else 1)
    return [_is_truth(of) for of in types]


def _shape(values: Any) -> tuple[int, ...]:
    return tuple(values.shape if hasattr(values, "shape") else np.asarray(values).shape)


def _is_truth(of: Any) -> bool:
    return type(of).__name__ == "Boolean" or getattr(of, "__name__", "") == "Boolean" or getattr(of, "kind", "") == "b"


def checked_rows(
    rows: Any, estimator: Any, *, fitted: bool = False, categories: Mapping[str, Category] = _NO_CATEGORIES
) -> Array:
    """A two-dimensional array: numbers, NaN where a cell is missing, and the codes of categories, NaN where a row is dropped.

    With scikit-learn its own checks speak.
    """
    where = "predict" if fitted else "fit"
    rows = as_numbers(rows, field="X", where=where, categories=categories)
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


def as_numbers(values: Any, *, field: str, where: str, categories: Mapping[str, Category] = _NO_CATEGORIES) -> Any:
    """The same cells as float64, NaN where one is missing; categories by their codes.

    `InvalidValueError` names the columns of other types.
    """
    if hasattr(values, "toarray"):  # a sparse matrix holds numbers
        return values
    library = type(values).__module__.partition(".")[0]
    if library == "pandas" and hasattr(values, "dtypes"):
        return _pandas_numbers(values, field=field, where=where, categories=categories)
    if library == "polars" and hasattr(values, "to_numpy"):
        return _polars_numbers(values, field=field, where=where, categories=categories)
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    cells = np.asarray(values)
    names = [f"x{place}" for place in range(cells.shape[1])] if cells.ndim == 2 else []
    if not names or not categories.keys() >= set(names):
        _refuse_unless_numbers([(None, cells.dtype)], field=field, where=where)
    if names and categories:
        hidden = np.zeros(cells.shape, dtype=bool) if masked is None else masked
        columns = [
            _codes(categories[name], cells[:, place], hidden[:, place])
            if name in categories
            else np.where(hidden[:, place], np.nan, cells[:, place].astype(np.float64))
            for place, name in enumerate(names)
        ]
        return np.column_stack(columns)
    return cells if masked is None else np.where(masked, np.nan, cells.astype(np.float64))


def _codes(category: Category, cells: Any, hidden: Any = None) -> Array:
    """The place of each cell's level; nothing is raised on what a cell holds."""
    return category.encode(Cells(values=np.asarray(cells), missing=hidden))


def _pandas_numbers(values: Any, *, field: str, where: str, categories: Mapping[str, Category]) -> Any:
    if values.ndim == 1:
        _refuse_unless_numbers([(values.name, values.dtype)], field=field, where=where)
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    names = shown_names(values)
    others = [
        (label, of) for name, label, of in zip(names, values.columns, values.dtypes, strict=True) if name not in categories
    ]
    _refuse_unless_numbers(others, field=field, where=where)
    columns = [
        _codes(categories[name], values.iloc[:, place].to_numpy(dtype=object))
        if name in categories
        else values.iloc[:, place].to_numpy(dtype=np.float64, na_value=np.nan)
        for place, name in enumerate(names)
    ]
    cells = np.column_stack(columns) if columns else np.zeros(values.shape)
    return type(values)(cells, columns=values.columns, index=values.index)  # a frame keeps its names


def _polars_numbers(values: Any, *, field: str, where: str, categories: Mapping[str, Category]) -> Any:
    import polars

    frame = values.to_frame() if hasattr(values, "to_frame") else values
    others = [(name, of) for name, of in zip(frame.columns, frame.dtypes, strict=True) if name not in categories]
    _refuse_unless_numbers(others, field=field, where=where)
    columns = [
        polars.Series(name, _codes(categories[name], np.array(frame[name].to_list(), dtype=object)))
        if name in categories
        else frame[name].cast(polars.Float64)  # a null becomes NaN in numpy
        for name in frame.columns
    ]
    cells = polars.DataFrame(columns)
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
        fix="Text, categories, times and objects are not read, also where they spell numbers. Declare the levels of such a "
        "column from public knowledge, levels={'name': ['a', 'b']}; leave it out; or make numbers of it by a rule that does "
        "not look at other rows, such as astype(float).",
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


class PlainClassifier:
    """The score of a classifier."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The share of right answers on the data given. It reads that data without paying: use data that need no protection."""
        right = np.asarray(y) == self.predict(X)  # type: ignore[attr-defined]
        return float(np.average(right, weights=sample_weight))
