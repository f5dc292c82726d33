"""Groups: the cells of a table that rows are told apart by, declared before any row is read; and a query for all cells at once.

A row is in one cell, or in none. So all cells come from one release, whose price does not grow with their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import prod
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpkit.contracts.query import Block, Query
from dpkit.contracts.setting import Setting
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.numerics.rounding import in_full, round_up, sqrt_up
from dpkit.privacy.checks import checked, finite_number, nonempty_text, one_of, tuple_of
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

MOST_CELLS = 100_000
_FEW_ENTRIES = 8
"""Up to this many entries of a contribution are added up one after the other; more, cell by cell."""

Label = str | bool | int | float
Cells = npt.NDArray[np.intp]


@runtime_checkable
class TellsKinds(Protocol):
    """A setting that knows what its columns hold."""

    def kind(self, column: str) -> str:
        """ "number", "category", "boolean" (the codes are 0 for false and 1 for true) or "text" (any, without levels)."""


@runtime_checkable
class TellsMoments(Protocol):
    """A setting that knows which columns hold dates or times."""

    def moment(self, column: str, written: str) -> float | None:
        """The code of a date, or a time, as ISO writes it; None for another text, or in a column that holds none."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(column=nonempty_text, labels=partial(tuple_of, kind=object, allowed="a tuple of labels, at least one", least=1))
class GroupColumn:
    """A column by which rows are told apart: `labels` name its cells, in order.

    With `edges`, a cell holds the values from its edge up to the next one, and the last cell its upper edge, too. Without, the
    cell of a label holds the rows whose code is that of the label in `codes`. A row with any other code is in no cell.
    """

    column: str
    labels: tuple[Label, ...]
    codes: tuple[float, ...] = ()
    edges: tuple[float, ...] = ()
    is_complete: bool = False

    def __post_init__(self) -> None:
        expected = len(self.edges) - 1 if self.edges else len(self.codes)
        if len(self.labels) != expected:
            allowed = f"one label for each of the {expected} cells"
            raise InvalidValueError(field="labels", found=self.labels, allowed=allowed, where=f"GroupColumn({self.column})")

    def cells(self, codes: Block) -> Cells:
        """The cell of each code; -1 for none. Elementwise, so a row's cell is its own."""
        if self.edges:
            ends = np.asarray(self.edges)
            found = np.searchsorted(ends, codes, side="right") - 1
            found = np.where(codes == ends[-1], len(ends) - 2, found)
            return np.where((codes >= ends[0]) & (codes <= ends[-1]), found, -1)
        if self.codes == tuple(range(len(self.codes))):
            inside = (codes >= 0.0) & (codes < len(self.codes)) & (codes == np.floor(codes))
            return np.where(inside, codes, -1.0).astype(np.intp)
        order = np.argsort(self.codes)
        known = np.asarray(self.codes)[order]
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return np.where(known[place] == codes, order[place], -1)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(column=nonempty_text, shown=nonempty_text)
class KeyColumn:
    """A column whose keys nobody declared. They come out where enough people have them; one that a person alone has does with
    probability `delta` at most. `column` holds texts, and is `shown` under this name, at this place among the groups.
    `noise` may be "geometric" where keys are all that the budget is for: then more of them come out than with Gaussian noise.
    """

    column: str
    shown: str
    delta: float
    place: int = 0
    noise: str = "gaussian"


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(columns=partial(tuple_of, kind=GroupColumn, allowed="a tuple of group columns"))
class Groups:
    """The cells of a table: every combination of the labels of its columns, the last column changing fastest.

    With `keys`, one more column, whose labels are released first: `with_keys` puts them in.
    """

    columns: tuple[GroupColumn, ...]
    keys: KeyColumn | None = None
    names_of: tuple[tuple[str, str], ...] = ()
    """How columns are shown that have another name than in the data."""

    def __post_init__(self) -> None:
        if not self.columns and self.keys is None:
            raise InvalidValueError(field="by", found=(), allowed="at least one column", where="groups")
        if len(set(self.names)) != len(self.names):
            raise InvalidValueError(field="by", found=self.names, allowed="columns that differ", where="groups")
        if self.count > MOST_CELLS and not self.names_of:  # released keys are as many as they are
            raise InvalidValueError(field="by", found=f"{self.count} cells", allowed=f"at most {MOST_CELLS}", where="groups")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, by name."""
        return tuple(column.column for column in self.columns)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns, as a table names them."""
        other = dict(self.names_of)
        return tuple(other.get(name, name) for name in self.names)

    def with_keys(self, texts: Sequence[str], codes: Sequence[float]) -> Groups:
        """With these keys for cells. However few they are, prices are those of several."""
        assert self.keys is not None
        column = GroupColumn(column=self.keys.column, labels=tuple(texts), codes=tuple(codes))
        columns = (*self.columns[: self.keys.place], column, *self.columns[self.keys.place :])
        return Groups(columns=columns, names_of=((self.keys.column, self.keys.shown),))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(len(column.labels) for column in self.columns)

    @property
    def count(self) -> int:
        """How many cells there are."""
        return prod(self.shape)

    @property
    def is_complete(self) -> bool:
        """Whether every row that is not dropped is in some cell."""
        return all(column.is_complete for column in self.columns)

    def labels(self) -> Iterator[tuple[Label, ...]]:
        """The labels of each cell, in order."""
        return product(*(column.labels for column in self.columns))

    def cells(self, block: Block) -> Cells:
        """The cell of each row of a block of these columns, in order; -1 for none."""
        if len(self.columns) == 1:
            return self.columns[0].cells(block[:, 0])
        found = np.zeros(block.shape[0], dtype=np.intp)
        outside = np.zeros(block.shape[0], dtype=np.bool_)
        for place, column in enumerate(self.columns):
            cells = column.cells(block[:, place])
            outside |= cells < 0
            found = found * len(column.labels) + cells
        return np.where(outside, -1, found)


def kind_of(setting: Setting, column: str) -> str:
    """What a column holds, as far as the setting tells."""
    if isinstance(setting, TellsKinds):
        return setting.kind(column)
    return "category" if setting.levels(column) else "number"


def read_groups(setting: Setting, by: object) -> Groups:
    """Groups from how an analysis writes them: a column, a mapping, or a list of these. Only public facts can be refused."""
    if isinstance(by, Groups):
        return by
    listed = [by] if isinstance(by, str | Mapping) else by
    if not isinstance(listed, Sequence) or not listed:
        raise InvalidValueError(field="by", found=by, allowed=ALLOWED, where="groups")
    private = [entry for entry in listed if isinstance(entry, Mapping) and "keys" in entry]
    keys = [_key_column(setting, entry, list(listed).index(entry)) for entry in private]
    if len(keys) > 1:
        raise InvalidValueError(field="keys", found=len(keys), allowed="at most one column with private keys", where="groups")
    columns = tuple(_group_column(setting, entry) for entry in listed if not any(entry is other for other in private))
    return Groups(columns=columns, keys=keys[0] if keys else None)


ALLOWED = (
    "a column, {column: NAME, levels: [...]}, {column: NAME, edges: [...]}, {column: NAME, keys: private}, or a list of these"
)


def text_twin(column: str) -> str:
    """The name under which a column is read as texts, beside what it is declared as."""
    return f"{column} as text"


def _key_column(setting: Setting, entry: Mapping[str, object], place: int) -> KeyColumn:
    name, where = entry.get("column"), "by"
    if not isinstance(name, str):
        raise InvalidValueError(field="by", found={"keys": entry["keys"]}, allowed=ALLOWED, where=where)
    beside = sorted(entry.keys() - {"column", "keys", "delta", "noise"})
    if beside:
        allowed = "`delta` alone: keys are found in the data"
        raise InvalidValueError(field="keys", found=f"`{beside[0]}` beside `keys`", allowed=allowed, where=where)
    if name not in setting.columns:
        raise UnknownNameError(kind="declared column", name=name, known=setting.columns)
    if entry["keys"] != "private":
        raise InvalidValueError(field="keys", found=entry["keys"], allowed="private", where=where)
    column = name if kind_of(setting, name) == "text" else text_twin(name)
    if column not in setting.columns:
        allowed = f"a column of texts: declare {name!r} as text"
        raise InvalidValueError(field="column", found=name, allowed=allowed, where=where)
    delta = finite_number(entry.get("delta", math.nan), field="delta", where=where, minimum=0.0, strict=True)
    if not delta <= 0.1:
        allowed = "the probability with which a key of one person alone may come out, at most 0.1"
        raise InvalidValueError(field="delta", found=delta, allowed=allowed, where=where)
    noise = one_of(entry.get("noise", "gaussian"), ("gaussian", "geometric"), field="noise", where=where)
    return KeyColumn(column=column, shown=name, delta=delta, place=place, noise=str(noise))


def _group_column(setting: Setting, entry: object) -> GroupColumn:
    given = {"column": entry} if isinstance(entry, str) else dict(entry) if isinstance(entry, Mapping) else {}
    name = given.pop("column", None)
    if not isinstance(name, str) or not given.keys() <= {"levels", "edges"} or len(given) > 1:
        raise InvalidValueError(field="by", found=entry, allowed=ALLOWED, where="groups")
    if name not in setting.columns:
        raise UnknownNameError(kind="declared column", name=name, known=setting.columns)
    known: tuple[Label, ...] = setting.levels(name)
    if not known and kind_of(setting, name) == "boolean":
        known = (False, True)
    if "edges" in given:
        return _between_edges(setting, name, given["edges"], levels=known)
    if "levels" in given:
        return _some_levels(setting, name, given["levels"], known=known)
    if kind_of(setting, name) == "text":
        allowed = f"{{column: {name}, keys: private}}, since {name!r} has no declared levels"
        raise InvalidValueError(field="by", found=name, allowed=allowed, where="groups")
    if known:
        return GroupColumn(column=name, labels=known, codes=tuple(map(float, range(len(known)))), is_complete=True)
    lower, upper = setting.range(name)
    middle = in_full(0.5 * lower + 0.5 * upper)
    if _holds_moments(setting, name):
        raise InvalidValueError(
            field="by",
            found=name,
            allowed=f"its `edges`, since {name!r} is declared as dates; or a part of it, named by `let`",
            where="groups",
            fix=f"For example {{column: {name}, edges: [2024-01-01, 2024-07-01, 2025-01-01]}}, or `let: {{m: month({name})}}`.",
        )
    raise InvalidValueError(
        field="by",
        found=name,
        allowed=f"its `edges` or `levels`, since {name!r} is declared as a number",
        where="groups",
        fix=f"For example {{column: {name}, edges: [{in_full(lower)}, {middle}, {in_full(upper)}]}}, or "
        f"{{column: {name}, levels: [{in_full(lower)}, {in_full(upper)}]}}.",
    )


def _between_edges(setting: Setting, name: str, given: object, *, levels: tuple[Label, ...]) -> GroupColumn:
    if levels:
        allowed = "`levels`, or nothing: the column has levels, and no edges"
        raise InvalidValueError(field="edges", found=given, allowed=allowed, where=f"by {name}")
    listed = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
    ends = tuple(_edge(setting, name, edge) for edge in listed)
    if len(ends) < 2 or any(not low < high for low, high in pairwise(ends)):
        allowed = f"at least two increasing {'dates' if _holds_moments(setting, name) else 'numbers'}"
        raise InvalidValueError(field="edges", found=given, allowed=allowed, where=f"by {name}")
    lower, upper = setting.range(name)
    named = edge_labels([edge if isinstance(edge, str) else end for edge, end in zip(listed, ends, strict=True)])
    return GroupColumn(column=name, labels=named, edges=ends, is_complete=ends[0] <= lower and upper <= ends[-1])


def _edge(setting: Setting, name: str, written: object) -> float:
    """A number; or, of a column that holds dates, a date."""
    if isinstance(written, str) and _holds_moments(setting, name):
        assert isinstance(setting, TellsMoments)
        code = setting.moment(name, written)
        if code is None:
            raise InvalidValueError(field="edges", found=written, allowed="dates such as 2024-12-31", where=f"by {name}")
        return code
    return finite_number(written, field="edges", where=f"by {name}")


def _holds_moments(setting: Setting, name: str) -> bool:
    return isinstance(setting, TellsMoments) and setting.moment(name, "2000-01-01") is not None


def _some_levels(setting: Setting, name: str, given: object, *, known: tuple[Label, ...]) -> GroupColumn:
    where = f"by {name}"
    listed = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
    if not listed:
        raise InvalidValueError(field="levels", found=given, allowed="a list of levels", where=where)
    if known:
        places = {_spelt(level): place for place, level in enumerate(known)}
        for level in listed:
            if _spelt(level) not in places:
                allowed = f"levels of the column: {', '.join(places)}"
                raise InvalidValueError(field="levels", found=level, allowed=allowed, where=where)
        found = [places[_spelt(level)] for level in listed]
        labels = tuple(known[place] for place in found)
        codes = tuple(map(float, found))
    else:
        lower, upper = setting.range(name)
        codes = tuple(finite_number(level, field="levels", where=where) for level in listed)
        for code in codes:
            if not lower <= code <= upper:
                allowed = f"numbers from {in_full(lower)} to {in_full(upper)}, the bounds of the column"
                raise InvalidValueError(field="levels", found=code, allowed=allowed, where=where)
        labels = tuple(int(code) if code.is_integer() else code for code in codes)
    if len(set(codes)) != len(codes):
        raise InvalidValueError(field="levels", found=listed, allowed="levels that differ", where=where)
    return GroupColumn(column=name, labels=labels, codes=codes, is_complete=len(codes) == len(known))


def edge_labels(edges: Sequence[float | str]) -> tuple[str, ...]:
    """Names of the cells between edges: from one edge up to the next, which the last cell includes. Edges are in full, so cells
    with edges that differ have names that differ; dates are as they were written.
    """
    named, last = [edge if isinstance(edge, str) else in_full(edge) for edge in edges], len(edges) - 2
    return tuple(f"[{low}, {high}{']' if place == last else ')'}" for place, (low, high) in enumerate(pairwise(named)))


def _spelt(level: object) -> str:
    """A level as a text, as columns compare them: 3, "3" and 3.0 are one level."""
    if isinstance(level, bool):
        return "true" if level else "false"
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def grouped_query(query: Query, groups: Groups) -> Query:
    """The query in every cell at once: its contribution stands at the row's cell, and is zero elsewhere.

    docs/proofs/groups.md: a row that comes or goes moves the whole by as much as the query alone; a replaced one moves
    contributions of two cells, or one within a cell.
    """
    mine = tuple(dict.fromkeys((*query.columns, *groups.names)))
    own = tuple(mine.index(name) for name in query.columns)
    told_apart = tuple(mine.index(name) for name in groups.names)
    shape = (groups.count, *query.shape)
    entries = prod(query.shape)

    def rows(block: Block) -> Block:
        found = np.zeros((block.shape[0], *shape))
        cells = groups.cells(block[:, told_apart])
        inside = np.flatnonzero(cells >= 0)
        found[inside, cells[inside]] = query.rows(block[inside][:, own])
        return found

    def by_entries(block: Block, cells: Cells) -> Block:
        contributions = np.asarray(query.rows(block)).reshape(block.shape[0], entries)
        each = [np.bincount(cells, weights=contributions[:, entry], minlength=groups.count) for entry in range(entries)]
        return np.stack(each, axis=1).reshape(shape).astype(np.float64, copy=False)

    def by_cells(block: Block, cells: Cells) -> Block:
        found = np.zeros(shape)
        order = np.argsort(cells, kind="stable")
        ordered, starts = block[order], np.searchsorted(cells[order], np.arange(groups.count + 1))
        for cell in np.flatnonzero(np.diff(starts)):
            found[cell] = query.total(ordered[starts[cell] : starts[cell + 1]])
        return found

    def block_sum(block: Block) -> Block:
        cells = groups.cells(block[:, told_apart])
        inside = np.flatnonzero(cells >= 0)
        if inside.size < cells.size:
            block, cells = block.take(inside, axis=0), cells.take(inside)
        return (by_entries if entries <= _FEW_ENTRIES else by_cells)(block[:, own], cells)

    return replace(
        query,
        columns=mine,
        rows=rows,
        block_sum=block_sum if query.grid is not None else None,
        shape=shape,
        sensitivity=_moved(query, 2 if groups.names_of else groups.count),
        preparation=None,
        prepared_steps=None,
        keeps_missing=False,
    )


# What two contributions in different cells are together, in a norm, given the larger of the two.
_IN_TWO_CELLS: dict[str, Callable[[Fraction], Fraction]] = {
    "l1": lambda value: 2 * value,
    "l2": lambda value: Fraction(sqrt_up(2 * value * value)),
    "frobenius": lambda value: Fraction(sqrt_up(2 * value * value)),
    "linf": lambda value: value,
}


def _moved(query: Query, cells: int) -> Callable[[Neighbours], Sequence[Distance]]:
    def sensitivity(neighbours: Neighbours) -> tuple[Distance, ...]:
        one = {item.metric: item for item in query.sensitivity(Neighbours.ADD_REMOVE) if item.metric in _IN_TWO_CELLS}
        if neighbours is not Neighbours.REPLACE_ONE:
            return tuple(one.values())
        within = {item.metric: item.value for item in query.sensitivity(Neighbours.REPLACE_ONE)}
        found = []
        for metric, item in one.items():
            apart = round_up(_IN_TWO_CELLS[metric](Fraction(item.value))) if cells > 1 else item.value
            # where nothing is said of a replaced row within a cell, it is one that goes and one that comes
            found.append(Distance(metric=metric, value=max(apart, within.get(metric, 2.0 * item.value))))
        return tuple(found)

    return sensitivity
