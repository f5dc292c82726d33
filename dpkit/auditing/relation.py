"""How the two datasets of an audit differ, in words that a certificate states: seen in the pair, not taken for granted."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """How two datasets differ, and under which relation they are neighbours: None where the pair does not tell."""

    words: str
    neighbours: Neighbours | None
    rows: bool = True
    """Whether these are rows for certain: a list of numbers may also be one value with several entries."""


def difference_of(pair: tuple[object, object], unit: str | None = None) -> Difference:
    """By rows where both are tables or lists, by the people of the column `unit` where it is named; else as two values."""
    one, two = (_rows(dataset, unit) for dataset in pair)
    if one is None or two is None:
        if unit is not None:
            allowed = "tables (data frames, records by column name) that have that column"
            raise InvalidValueError(field="unit", found=unit, allowed=allowed, where="audit")
        return Difference(_apart(pair), None, rows=False)
    surely = one.surely or two.surely
    if unit is not None:
        return Difference(*_people(one, two, unit))
    first, second = Counter(one.rows), Counter(two.rows)
    more, fewer = sum((second - first).values()), sum((first - second).values())
    sizes = f"{len(one.rows)} against {len(two.rows)} rows"
    if more == fewer == 0:
        return Difference(f"the same rows ({sizes})", None, rows=surely)
    if more + fewer == 1:
        return Difference(f"one row {'more' if more else 'less'} in the second ({sizes})", Neighbours.ADD_REMOVE, rows=surely)
    if more == fewer == 1:
        return Difference(f"one row replaced ({sizes})", Neighbours.REPLACE_ONE, rows=surely)
    return Difference(f"{more} rows of the second are not in the first, {fewer} the other way ({sizes})", None, rows=surely)


def stated_relation(pair: tuple[object, object], stated: Neighbours | None, unit: str | None) -> tuple[Neighbours | None, str]:
    """The relation of a pair, and what a certificate says of it; a pair that contradicts what was stated is refused."""
    found = difference_of(pair, unit)
    if stated is None:
        if found.neighbours is None:
            return None, f"not stated; the datasets: {found.words}"
        return found.neighbours, f"{found.neighbours}, as the datasets are: {found.words}"
    contradicts = found.neighbours is not None and found.neighbours is not stated
    if contradicts and (found.rows or stated is Neighbours.REPLACE_ONE):
        raise InvalidValueError(
            field="neighbours", found=f"{stated}, and datasets with {found.words}", where="audit",
            allowed=f"the relation of the pair, which is {found.neighbours}",
            fix="State the relation under which these datasets are neighbours, or give another pair.",
        )  # fmt: skip
    return stated, f"{stated}, as stated; the datasets: {found.words}"


@dataclass(frozen=True, slots=True)
class _Rows:
    rows: list[object]
    people: list[object]
    surely: bool


def _rows(dataset: object, unit: str | None) -> _Rows | None:
    """Rows as values that can be compared and counted; None where a dataset has none."""
    if isinstance(dataset, Path):
        lines = dataset.read_text(encoding="utf-8", errors="replace").splitlines()
        if unit is None:
            return _Rows(list(lines[1:] if dataset.suffix == ".csv" else lines), [], True)
        dataset = dict(zip(lines[0].split(","), zip(*csv.reader(lines[1:]), strict=True), strict=True)) if lines[1:] else {}
    if hasattr(dataset, "columns") and hasattr(dataset, "to_dict"):
        dataset = {str(name): list(dataset[name]) for name in dataset.columns}  # type: ignore[index]
    if isinstance(dataset, Mapping):
        columns = {str(name): _listed(values) for name, values in dataset.items()}
        if not columns or any(values is None for values in columns.values()):
            return None
        sizes = {len(values) for values in columns.values() if values is not None}
        if len(sizes) != 1 or (unit is not None and unit not in columns):
            return None
        rows = [tuple(repr(item) for item in row) for row in zip(*columns.values(), strict=True)]
        people = [repr(item) for item in columns[unit] or ()] if unit is not None else []
        return _Rows(list(rows), list(people), True)
    values = _listed(dataset)
    if values is None:
        return None
    records = [row for row in values if isinstance(row, Mapping)]
    if unit is not None and (len(records) < len(values) or any(unit not in row for row in records)):
        return None
    people = [repr(row[unit]) for row in records] if unit is not None else []
    surely = any(not isinstance(row, int | float | np.generic) for row in values)
    return _Rows([repr(row) for row in values], list(people), surely)


def _listed(values: object) -> list[object] | None:
    if isinstance(values, np.ndarray):
        return values.tolist() if values.ndim else None
    if isinstance(values, list | tuple):
        return list(values)
    if hasattr(values, "tolist") and not isinstance(values, np.generic):
        found = values.tolist()
        return found if isinstance(found, list) else None
    return None


def _people(one: _Rows, two: _Rows, unit: str) -> tuple[str, Neighbours | None]:
    groups: list[dict[object, Counter[object]]] = []
    for side in (one, two):
        found: dict[object, Counter[object]] = defaultdict(Counter)
        for person, row in zip(side.people, side.rows, strict=True):
            found[person][row] += 1
        groups.append(found)
    changed = {person for person in (*groups[0], *groups[1]) if groups[0].get(person) != groups[1].get(person)}
    sizes = f"{len(groups[0])} against {len(groups[1])} values of {unit}"
    if len(changed) == 1:
        (person,) = changed
        alone = (person in groups[0]) != (person in groups[1])
        rows = max((sum(group[person].values()) for group in groups if person in group), default=0)
        what = "present in one dataset only" if alone else "with other rows"
        return f"one {unit} {what}, {rows} rows ({sizes})", Neighbours.ADD_REMOVE if alone else Neighbours.REPLACE_ONE
    leaves, joins = (len([p for p in changed if p in a and p not in b]) for a, b in (groups, groups[::-1]))
    if len(changed) == 2 and leaves == joins == 1:
        return f"one {unit} replaced by another ({sizes})", Neighbours.REPLACE_ONE
    return f"{len(changed)} values of {unit} differ ({sizes})", None


def _apart(pair: tuple[object, object]) -> str:
    one, two = pair
    if all(isinstance(value, int | float | np.generic) and not isinstance(value, bool) for value in pair):
        return f"two values, {abs(float(one) - float(two))!r} apart"  # type: ignore[arg-type]
    return "two values"
