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
from dpkit_irls.estimator.column_types import Found, is_truth, refuse_levels_of_another_type, refuse_unless_numbers

Array = npt.NDArray[np.float64]

_NO_CATEGORIES: Mapping[str, Category] = {}


def feature_names(rows: Any) -> list[str] | None:
    """Column names of a frame, where all are strings."""
    names = getattr(rows, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return list(names)


def refuse_unread(table: Any, *, field: str = "X") -> None:
    """What is no table that can be read as it is, and frames whose columns cannot be told apart by name. No cell is looked at:
    what other libraries call columns may be cells.
    """
    kind, library = type(table).__name__, library_of(table)
    fix = ""
    if isinstance(table, np.ndarray):
        fix = "Make a frame of it, pandas.DataFrame({})." if table.dtype.names else ""
        kind = "structured array"
    elif library == "polars" and kind == "LazyFrame":
        fix = "Rows that are not computed yet cannot be read: give {}.collect()."
    elif isinstance(table, Mapping) and not hasattr(table, "toarray"):  # a sparse matrix may be a mapping
        kind, fix = "mapping", "Make a frame of it, such as pandas.DataFrame({})."
    elif library == "pyarrow":  # what numpy makes of its arrays goes by whether they hold nulls
        kind, fix = f"{kind} of pyarrow", "Give {0}.to_pandas() or polars.from_arrow({0})."
    elif library not in _FRAMES and hasattr(table, "columns"):
        kind, fix = f"{kind} of {library}", "Make a frame of pandas or polars of it."
    if fix:
        allowed = "an array or a frame of pandas or polars"
        fix = fix.format(field)
        raise InvalidValueError(field=field, found=Found(f"a {kind}"), allowed=allowed, where="fit", fix=fix)
    labels = column_labels(table)
    twice = sorted({str(label) for label in labels if labels.count(label) > 1})
    if twice and field == "X":
        found = Found(f"several columns named {', '.join(twice)}")
        raise InvalidValueError(field=field, found=found, allowed="columns of different names", where="fit")
    if library in _FRAMES and _shape(table)[1:] == (0,):
        raise InvalidValueError(field=field, found=Found("no column"), allowed="at least one column", where="fit")


_FRAMES = ("pandas", "polars")


def library_of(value: Any) -> str:
    """Where a type comes from: pandas for what is made of its frames."""
    modules = [each.__module__.partition(".")[0] for each in type(value).__mro__]
    return next((module for module in modules if module in _FRAMES), modules[0])


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
        return [is_truth(of)] * (shape[1] if len(shape) > 1 else 1)
    return [is_truth(of) for of in types]


def _shape(values: Any) -> tuple[int, ...]:
    return tuple(values.shape if hasattr(values, "shape") else np.asarray(values).shape)


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
    library = library_of(values)
    if library == "pandas":
        return _pandas_numbers(values, field=field, where=where, categories=categories)
    if library == "polars" and hasattr(values, "to_numpy"):
        return _polars_numbers(values, field=field, where=where, categories=categories)
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    cells = np.asarray(values)
    if isinstance(values, list | tuple) and not categories:
        cells = _of_a_list(cells)
    names = [f"x{place}" for place in range(cells.shape[1])] if cells.ndim == 2 else []
    if not names or not categories.keys() >= set(names):
        refuse_unless_numbers([(None, cells.dtype)], field=field, where=where)
    if names and categories:
        refuse_levels_of_another_type([(name, cells.dtype) for name in names], categories, where=where)
        hidden = np.zeros(cells.shape, dtype=bool) if masked is None else masked
        columns = [
            _codes(categories[name], cells[:, place], hidden[:, place])
            if name in categories
            else np.where(hidden[:, place], np.nan, cells[:, place].astype(np.float64))
            for place, name in enumerate(names)
        ]
        return np.column_stack(columns)
    return cells if masked is None else np.where(masked, np.nan, cells.astype(np.float64))


def _of_a_list(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A list has no type but that of its cells: numbers beside None are numbers, one of which is missing."""
    if cells.dtype != object or any(isinstance(cell, str | bytes) for cell in cells.flat):
        return cells
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return cells


def _codes(category: Category, cells: Any, hidden: Any = None) -> Array:
    """The place of each cell's level; nothing is raised on what a cell holds."""
    return category.encode(Cells(values=np.asarray(cells), missing=hidden))


def _pandas_numbers(values: Any, *, field: str, where: str, categories: Mapping[str, Category]) -> Any:
    if values.ndim == 1:
        refuse_unless_numbers([(getattr(values, "name", None), values.dtype)], field=field, where=where)
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    names = shown_names(values)
    others = [
        (label, of) for name, label, of in zip(names, values.columns, values.dtypes, strict=True) if name not in categories
    ]
    refuse_unless_numbers(others, field=field, where=where)
    refuse_levels_of_another_type(zip(names, values.dtypes, strict=True), categories, where=where)
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
    refuse_unless_numbers(others, field=field, where=where)
    refuse_levels_of_another_type(zip(frame.columns, frame.dtypes, strict=True), categories, where=where)
    columns = [
        polars.Series(name, _codes(categories[name], np.array(frame[name].to_list(), dtype=object)))
        if name in categories
        else frame[name].cast(polars.Float64)  # a null becomes NaN in numpy
        for name in frame.columns
    ]
    cells = polars.DataFrame(columns)
    return cells if frame is values else cells.to_series().to_numpy()


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
    refuse_unread(targets, field="y")
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
