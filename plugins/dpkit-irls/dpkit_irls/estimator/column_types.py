"""What the types of columns say, in numpy, pandas and polars: they are facts of the table, as its names are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dpkit import Category, InvalidValueError

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
_FIXES = {
    "X": "Text, categories, times and objects are not read, also where they spell numbers. Declare the levels of such a "
    "column from public knowledge, levels={'name': ['a', 'b']}; leave it out; or make numbers of it by a rule that does "
    "not look at other rows, such as astype(float).",
    "y": "Text, categories, times and objects are not read, also where they spell numbers: make numbers of the target by a "
    "rule that does not look at other rows, such as astype(float). For classes there is PrivateLogisticRegression.",
}


class Found(str):
    """A description, which messages show without quotes."""

    def __repr__(self) -> str:
        return str(self)


def is_truth(of: Any) -> bool:
    """Whether a type is that of truth values."""
    return type(of).__name__ == "Boolean" or getattr(of, "__name__", "") == "Boolean" or getattr(of, "kind", "") == "b"


def refuse_unless_numbers(columns: Sequence[tuple[object, Any]], *, field: str, where: str) -> None:
    """Each column by name and type: numpy's, pandas' or polars'."""
    if any(_kind(of) == "c" for _, of in columns):  # said here: scikit-learn would show the array
        raise ValueError("Complex data not supported")
    wrong = [(name, _word(of)) for name, of in columns if _kind(of) not in _NUMBERS]
    if not wrong:
        return
    told = ", ".join(word if name is None else f"{word} in the column {str(name)!r}" for name, word in wrong)
    allowed = "numbers or truth values" + (" in every column" if field == "X" else "")
    raise InvalidValueError(field=field, found=Found(told), allowed=allowed, where=where, fix=_FIXES[field])


def refuse_levels_of_another_type(
    columns: Iterable[tuple[str, Any]], categories: Mapping[str, Category], *, where: str, field: str = "levels"
) -> None:
    """Levels none of which a column of truth values, or of numbers, can hold: every row would be dropped, at the full price."""
    for name, of in columns:
        levels = categories[name].levels if name in categories else ()
        truth = is_truth(of)
        may_be = _is_truth_level if truth else _is_number if _kind(of) in _NUMBERS else None
        if not levels or may_be is None or any(may_be(level) for level in levels):
            continue
        what = "truth values" if truth else "numbers"
        raise InvalidValueError(
            field=field,
            found=Found(f"{', '.join(levels)} for {name!r}"),
            allowed=f"some that {what} can be, which this column holds by its type",
            where=where,
            fix="Declare [False, True]." if truth else "Declare whole numbers, such as [1, 2], or make texts of the column.",
        )


def _is_truth_level(level: str) -> bool:
    return level in ("true", "false")


def _is_number(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True


def _kind(of: Any) -> str:
    """One letter, as numpy has it."""
    if hasattr(of, "is_numeric"):  # polars
        return "f" if of.is_numeric() or type(of).__name__ == "Boolean" else "O"
    return str(of.kind)


def _word(of: Any) -> str:
    """What a type is called, without what it is made of: lengths of texts, and categories, are read from cells."""
    called = of.kind if isinstance(of, np.dtype) else getattr(of, "__name__", type(of).__name__)
    return _WORDS.get(called, "cells of another type")
