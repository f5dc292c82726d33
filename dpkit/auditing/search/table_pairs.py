"""Hard pairs of neighbouring tables, from an example and its bounds: nothing else is needed to search where a claim breaks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpkit.auditing.search.pairs import Pair
from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import finite_number, instance_of
from dpkit.privacy.neighbours import Neighbours

_WHERE = "hard_pairs"
_SIZES = (0, 1, 2, 3, 5, 10, 30)
_BASE = 4
_COLUMNS, _LABELS = 6, 12
Row = tuple[object, ...]
Bounds = tuple[float, float] | Mapping[str, tuple[float, float]]


def hard_pairs(example: object, *, bounds: Bounds, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Pair, ...]:
    """Pairs of tables at which implementations are known to break, in the form of an example: for `search=` of an audit.

    The example is a data frame, a dictionary of columns, an array with one or two axes, or a list of numbers: its columns
    count, and the labels of columns without bounds. `bounds` are (low, high), or by column. Tables of no row, one, a few
    and many have their rows at the ends of the bounds, and one record more at the other end, or another; beside them are
    records with NaN, infinities, huge numbers, numbers outside the bounds, a label that was never seen, a label moved, and
    duplicates. An example is looked at for its form and its labels alone; make one up where labels are secret.
    """
    instance_of(neighbours, Neighbours, field="neighbours", where=_WHERE, allowed="a Neighbours member")
    form = _Form(example, bounds)
    found: list[Pair] = []
    for rows, before, after in _cases(form, neighbours):
        one = rows if before is None else (*rows, before)
        two = rows if after is None else (*rows, after)
        found.append((form.table(one), form.table(two)))
    return tuple(found)


def _cases(form: _Form, neighbours: Neighbours) -> Iterator[tuple[tuple[Row, ...], Row | None, Row | None]]:
    """Rows that both tables have, and the record of either; under add-remove the first has none."""
    adding = neighbours is Neighbours.ADD_REMOVE

    def case(rows: Sequence[Row], usual: Row, odd: Row) -> tuple[tuple[Row, ...], Row | None, Row | None]:
        return tuple(rows), None if adding else usual, odd

    low, high, middle = form.row(0.0), form.row(1.0), form.row(0.5)
    for size in _SIZES:
        yield case([low] * size, low, high)
        yield case([high] * size, high, low)
    base = [middle] * _BASE
    for place in range(min(len(form.names), _COLUMNS)):
        for odd in form.odd_values(place):
            record = (*middle[:place], odd, *middle[place + 1 :])
            yield case(base, middle, record)
            yield case([], middle, record)
        if form.labels[place] is not None:
            for label in (form.labels[place] or ())[:_LABELS]:
                yield case(base, middle, (*middle[:place], label, *middle[place + 1 :]))
    for size in (1, 2, 30):  # duplicates of what is there already, and one record among equal ones
        yield case([middle] * size, low, middle)
    for place in range(min(len(form.names), _COLUMNS) if len(form.names) > 1 else 0):
        one, other = ((*middle[:place], end[place], *middle[place + 1 :]) for end in (low, high))
        yield case([one] * 3, one, other)


class _Form:
    """The columns of an example: names, bounds or labels; and how a table of the same form is made from rows."""

    def __init__(self, example: object, bounds: Bounds) -> None:
        self.table, columns = _maker(example)
        self.names = list(columns)
        if not self.names:
            raise InvalidValueError(field="example", found="no column", allowed="at least one column", where=_WHERE)
        if isinstance(bounds, Mapping):
            unknown = [name for name in bounds if name not in columns]
            if unknown:
                allowed = f"columns of the example: {', '.join(map(str, self.names))}"
                raise InvalidValueError(field="bounds", found=unknown[0], allowed=allowed, where=_WHERE)
            given: dict[str, tuple[float, float] | None] = {name: bounds.get(name) for name in self.names}
        else:
            given = dict.fromkeys(self.names, bounds)
        self.bounds = [None if given[name] is None else _ends(given[name]) for name in self.names]
        self.labels = [
            None if ends is not None else _labels(columns[name], name)
            for name, ends in zip(self.names, self.bounds, strict=True)
        ]
        self.whole = [_is_whole(columns[name]) for name in self.names]

    def row(self, share: float) -> Row:
        """A record at this share between the bounds; the first or the last label."""
        cells: list[object] = []
        for ends, labels, whole in zip(self.bounds, self.labels, self.whole, strict=True):
            if ends is None:
                cells.append((labels or ("",))[0 if share < 1.0 else -1])
            else:
                number = ends[0] + share * (ends[1] - ends[0])
                cells.append(math.floor(number) if whole else number)
        return tuple(cells)

    def odd_values(self, place: int) -> tuple[object, ...]:
        """What a cell of this column should not be, and may be."""
        ends = self.bounds[place]
        if ends is None:
            return ("a label never seen", "", None)
        width = max(ends[1] - ends[0], 1.0)
        outside = (ends[1] + 10.0 * width, ends[0] - 10.0 * width)
        if self.whole[place]:
            return (*(math.floor(one) for one in outside), 2**53)
        return (math.nan, *outside, math.inf, -math.inf, 1e308)


def _ends(given: object) -> tuple[float, float]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidValueError(field="bounds", found=type(given).__name__, allowed="a pair (low, high)", where=_WHERE)
    low, high = (finite_number(end, field="bounds", where=_WHERE) for end in given)
    if not low < high:
        raise InvalidValueError(field="bounds", found=(low, high), allowed="low below high", where=_WHERE)
    return low, high


def _labels(column: Sequence[object], name: str) -> tuple[object, ...]:
    found = tuple(dict.fromkeys(item for item in column if item is not None and item == item))
    if not found:
        allowed = f"bounds for the column {name}, or labels in the example"
        raise InvalidValueError(field="bounds", found="neither", allowed=allowed, where=_WHERE)
    return found


def _is_whole(column: Sequence[object]) -> bool:
    return len(column) > 0 and all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in column)


def _maker(example: Any) -> tuple[Callable[[Sequence[Row]], object], dict[str, list[object]]]:
    """How rows become a table like the example, and its columns."""
    if hasattr(example, "columns") and hasattr(example, "to_dict"):
        frame = type(example)
        names = [str(name) for name in example.columns]
        dtypes = dict(zip(names, example.dtypes, strict=True)) if hasattr(example, "dtypes") else {}

        def framed(rows: Sequence[Row]) -> object:
            columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
            made = frame(columns)
            return made.astype(dtypes) if not rows and hasattr(made, "astype") and dtypes else made

        return framed, {name: list(example[name]) for name in example.columns}
    if isinstance(example, Mapping):
        names = [str(name) for name in example]

        def mapped(rows: Sequence[Row]) -> object:
            return {name: [row[place] for row in rows] for place, name in enumerate(names)}

        return mapped, {str(name): list(column) for name, column in example.items()}
    try:
        array = np.asarray(example, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(())
    if array.ndim not in (1, 2):
        allowed = "a data frame, a dictionary of columns, an array with one or two axes, or a list of numbers"
        raise InvalidValueError(field="example", found=type(example).__name__, allowed=allowed, where=_WHERE)
    width = 1 if array.ndim == 1 else array.shape[1]
    listed = isinstance(example, list | tuple)

    def stacked(rows: Sequence[Row]) -> object:
        shape = (len(rows),) if array.ndim == 1 else (len(rows), width)
        made = np.array(rows, dtype=np.float64).reshape(shape)
        return made.tolist() if listed else made

    # every entry a float: a list of numbers is one of measurements, whatever the example's are written like
    return stacked, {f"column {place}": [0.0] for place in range(width)}
