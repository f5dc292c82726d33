"""What is declared about the columns of an estimator's data: bounds, levels, and what stands for missing cells.

Everything is checked by name and by shape before data is read. Whether a column holds truth values is known by its type, which
is a fact of the table, as its name is.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit import Category, InvalidValueError, Number, Policy, Schema, UnknownNameError
from dpkit.authoring import Column, dataclass, in_full

Array = npt.NDArray[np.float64]
Limits = tuple[float, float]

WIDE = 2.0**40
"""The public clamp where no bounds are declared; units are found privately below it, down to 2**-48 of it."""
TARGET = "target"
DROP = Policy.DROP.value

_SHAPES = (
    "(lower, upper) for every feature; (lowers, uppers), two lists with a number a feature; or a mapping from names "
    "('target' for the target) to (lower, upper); always lower < upper"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The columns of a fit by name, the target last; `shown` names the features as the caller does."""

    shown: tuple[str, ...]
    schema: Schema

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features in the schema."""
        return self.schema.names[:-1]

    @property
    def target(self) -> str:
        """The name of the target in the schema."""
        return self.schema.names[-1]

    @property
    def stand_ins(self) -> Array:
        """What stands for a missing cell of each number; NaN where its row is dropped, and for categories."""
        policies = [getattr(column, "missing", Policy.DROP) for column in self.schema.columns[:-1]]
        return np.array([policy if isinstance(policy, float) else np.nan for policy in policies], dtype=np.float64)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """Of each feature; empty for numbers."""
        return tuple(column.levels if isinstance(column, Category) else () for column in self.schema.columns[:-1])

    @property
    def note_on_missing(self) -> str:
        """What becomes of missing cells, from what is declared alone: it is the same note whether there are any or not."""
        named = zip((*self.shown, TARGET), (getattr(column, "missing", None) for column in self.schema.columns), strict=True)
        filled = [
            f"{name!r} as {in_full(policy)}" if isinstance(policy, float) else f"{name!r} as {policy!r}"
            for name, policy in named
            if not isinstance(policy, Policy)
        ]
        rule = "A row with a missing cell (NaN) contributes nothing to the fit"
        if len(filled) == len(self.schema.columns):
            rule = f"Missing cells (NaN) count as what was declared: {', '.join(filled)}"
        elif filled:
            rule += f", except that missing cells count in {', '.join(filled)}"
        if any(self.levels):
            rule += ". A cell that is none of the declared levels drops its row"
        return f"{rule}. How many there are is not counted: that would have to be paid for."


def declared(
    shown: Sequence[str],
    categories: Mapping[str, Category],
    *,
    truths: Sequence[bool],
    bounds: object,
    missing: object,
    target: Category | None = None,
    lowest: float | None = None,
) -> Declared:
    """The schema of features and target. `truths` says which columns, the target last, hold truth values by their type.

    `target` is what a target of classes is declared as; a target of numbers is at least `lowest` where it has no bounds.
    """
    _refuse_unknown(missing, shown, field="missing")
    limits = _all_limits(bounds, shown, categories, truths)
    if lowest is not None and limits[-1] == (-WIDE, WIDE):
        limits[-1] = (lowest, WIDE)
    columns: list[Column] = []
    for name, label, (low, high) in zip(_schema_names(shown), (*shown, TARGET), limits, strict=True):
        if target is not None and len(columns) == len(shown):
            columns.append(Category(name=name, levels=target.levels, missing=target.missing))
        elif label in categories and len(columns) < len(shown):
            known = categories[label]
            columns.append(Category(name=name, levels=known.levels, missing=known.missing))
        else:
            columns.append(
                Number(name=name, lower=low, upper=high, missing=_stand_in(missing, label, target=len(columns) == len(shown)))
            )
    return Declared(shown=tuple(shown), schema=Schema(columns=tuple(columns)))


def categories_of(levels: object, shown: Sequence[str], missing: object) -> dict[str, Category]:
    """The features that are categories, by name. Levels are declared: none is read from the data."""
    if levels is None:
        return {}
    allowed = "a mapping from names of features to lists of levels"
    if not isinstance(levels, Mapping):
        raise InvalidValueError(field="levels", found=type(levels).__name__, allowed=allowed, where="fit")
    found: dict[str, Category] = {}
    for name, given in levels.items():
        if name not in shown:
            raise UnknownNameError(kind="feature", name=name, known=shown, note="`levels` declares features by name.")
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            raise InvalidValueError(field="levels", found=type(given).__name__, allowed=allowed, where="fit")
        policy = missing.get(name, DROP) if isinstance(missing, Mapping) else DROP
        found[name] = Category(name=name, levels=tuple(given), missing=policy)
    return found


def refuse_without_bounds(columns: Declared, algorithm: str) -> None:
    """Where the noise grows with the bounds, the wide clamp would leave nothing of the answer."""
    named = zip((*columns.shown, TARGET), columns.schema.columns, strict=True)
    without = [label for label, column in named if isinstance(column, Number) and column.upper == WIDE]
    if without:
        allowed = f"given for every number and the target with algorithm={algorithm!r}, whose noise grows with them"
        found = f"none for {', '.join(without)}"
        raise InvalidValueError(field="bounds", found=found, allowed=allowed, where="fit", fix="`irls` needs none.")


def notes_on_clipping(columns: Declared, fit: Any) -> tuple[str, ...]:
    """Columns without bounds whose released place shows that many values lie beyond the public clamp."""
    frame, labels = getattr(fit, "frame", None), (*columns.shown, TARGET)
    if frame is None:
        return ()
    starts = np.cumsum([0, *(max(len(levels) - 1, 1) for levels in columns.levels)])
    reached = [abs(frame.centres[start]) + 2.0 * frame.units[start] for start in starts[:-1]]
    reached.append(abs(frame.origin) + 2.0 * (getattr(fit, "scale", None) or 0.0))
    beyond = [
        label
        for label, column, reach in zip(labels, columns.schema.columns, reached, strict=True)
        if isinstance(column, Number) and column.upper == WIDE and reach >= WIDE
    ]
    if not beyond:
        return ()
    limit = in_full(WIDE)
    told = f"Values beyond {limit} count as {limit} where no bounds are given, and many may be"
    return (f"{told}: give bounds for {', '.join(beyond)}.",)


def _schema_names(shown: Sequence[str]) -> list[str]:
    """The caller's names where they can serve as names of columns, so that notes and errors say them; else x0, x1, ..."""
    plain = len(set(shown)) == len(shown) and TARGET not in shown and all(name.strip() for name in shown)
    return [*(shown if plain else [f"x{place}" for place in range(len(shown))]), TARGET]


def _refuse_unknown(given: object, shown: Sequence[str], *, field: str) -> None:
    if not isinstance(given, Mapping):
        return
    for name in given:
        if name not in (*shown, TARGET):
            note = f"`{field}` names features, and 'target' for the target."
            raise UnknownNameError(kind="column", name=name, known=(*shown, TARGET), note=note)
    if TARGET in given and TARGET in shown:
        allowed = "unambiguous: a feature has the name 'target' as well"
        raise InvalidValueError(field=field, found=TARGET, allowed=allowed, where="fit", fix="Rename that feature.")


def _all_limits(
    bounds: object, shown: Sequence[str], categories: Mapping[str, Category], truths: Sequence[bool]
) -> list[Limits]:
    """Of each feature, then of the target: as declared, else (0, 1) for truth values, else the wide clamp."""
    _refuse_unknown(bounds, shown, field="bounds")
    if isinstance(bounds, Mapping):
        for name in bounds:
            if name in categories and name != TARGET:
                allowed = "left out for a category, which has levels"
                raise InvalidValueError(field="bounds", found=name, allowed=allowed, where="fit")
        given = [_pair(bounds[name]) if name in bounds else None for name in (*shown, TARGET)]
    elif bounds is None:
        given = [None] * (len(shown) + 1)
    else:
        every = _every_pair(bounds, len(shown))
        given = [None if is_truth else pair for pair, is_truth in zip(every, truths[:-1], strict=True)] + [None]
    without = [(0.0, 1.0) if is_truth else (-WIDE, WIDE) for is_truth in truths]
    return [known if pair is None else pair for pair, known in zip(given, without, strict=True)]


def _every_pair(bounds: object, width: int) -> list[Limits]:
    """One pair for all features, or a pair of lists."""
    ends = _listed(bounds)
    if ends is None or len(ends) != 2:
        raise _wrong_bounds(bounds)
    lower, upper = (_listed(end) for end in ends)
    if lower is None and upper is None:
        return [_pair(ends)] * width
    if lower is None or upper is None or not len(lower) == len(upper) == width:
        raise _wrong_bounds(bounds, f"; here {width} numbers in each list")
    if width == 2 and all(isinstance(end, tuple) for end in ends):
        raise _wrong_bounds(bounds, "; two tuples of two may mean either way round, so here use lists or a mapping")
    return [_pair(pair) for pair in zip(lower, upper, strict=True)]


def _pair(given: object) -> Limits:
    ends = _listed(given)
    low, high = (None, None) if ends is None or len(ends) != 2 else map(finite_number, ends)
    if low is None or high is None or not low < high:
        raise _wrong_bounds(given)
    return low, high


def _listed(given: object) -> list[object] | None:
    """The items of a list, a tuple or an array; None of anything else."""
    if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim > 0):
        return list(given)
    return None


def finite_number(value: object) -> float | None:
    """A number, unless it is a truth value or not finite."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None  # type: ignore[arg-type]


def _wrong_bounds(found: object, more: str = "") -> InvalidValueError:
    return InvalidValueError(field="bounds", found=found, allowed=_SHAPES + more, where="fit")


def _stand_in(missing: object, name: str, *, target: bool = False) -> Policy | float:
    """A single one is for the features; rows without a target are dropped unless a mapping says what stands for it."""
    if isinstance(missing, Mapping):
        missing = missing.get(name, DROP)
    elif target and finite_number(missing) is not None:
        missing = DROP
    if isinstance(missing, str) and missing == DROP:
        return Policy.DROP
    number = finite_number(missing)
    if number is not None:
        return number
    allowed = "'drop', a number that stands for missing cells, or a mapping from names to these"
    raise InvalidValueError(field="missing", found=missing, allowed=allowed, where="fit")
