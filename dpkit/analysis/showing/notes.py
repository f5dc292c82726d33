"""Notes on answers, from released values and public facts alone: they cost nothing, and say where an answer may mislead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dpkit.analysis.showing.documents import is_number, jsonable
from dpkit.analysis.showing.tables import AnswerTable, split_tables
from dpkit.contracts.groups import read_groups
from dpkit.errors import visible

if TYPE_CHECKING:
    from dpkit.analysis.reading.spec import StepSpec
    from dpkit.analysis.run_plan import Result

FAR_BELOW = 0.5
"""A count below this part of the declared rows is worth a word."""
_COUNTING = ("count", "histogram")
_IN_RANK = ("median", "quantiles")
_WIDTHS = {"proportion": 1.0, "correlation": 2.0}
_MOST = 5


def answer_notes(result: Result) -> dict[str, list[str]]:
    """What to say of each step, by its id; steps of which there is nothing to say are left out."""
    if result.simulation:
        return {}
    found = {}
    for step in result.plan.spec.steps:
        outcome = result.outcomes.get(step.id)
        if outcome is not None:
            notes = list(_notes(result, step, jsonable(outcome.result)))
            if notes:
                found[step.id] = notes
    return found


def _notes(result: Result, step: StepSpec, answer: object) -> Iterator[str]:
    tables, _ = split_tables(answer)
    if not isinstance(answer, Mapping) or not tables:
        return
    of_the_count = list(_of_the_count(result, step, answer, tables))
    yield from of_the_count
    if step.run in _IN_RANK and "count" not in tables[0].columns:
        yield from _of_wide_intervals(tables[0], _range_of(step))
    elif tables[0].columns[0] == "estimate" and not of_the_count and (width := _declared_width(step)) is not None:
        yield from _of_wide_intervals(tables[0], width, or_little=False)
    rare = _rare(step, tables[0])
    if rare:
        named = ", ".join(visible(name) for name in rare[:_MOST])
        noun, verb = ("this level", "is") if len(rare) == 1 else ("these levels", "are")
        yield f"{noun} {verb} too rare for this budget: {named}{_and_more(rare)}. The noise is as large as the answer."


def _of_the_count(result: Result, step: StepSpec, answer: Mapping[str, object], tables: list[AnswerTable]) -> Iterator[str]:
    """Whether far fewer rows were counted than were declared, where nothing that was declared leaves rows out."""
    rows, schema = result.plan.spec.data.rows, step.setting.schema
    if rows is None or result.plan.spec.data.unit.column is not None or schema.where:
        return
    by = step.parameters.get("by")
    leaves_out = by is not None and not all(column.is_complete for column in read_groups(step.setting, by).columns)
    last = tables[-1]  # the whole, where there are margins
    if step.run in _COUNTING:
        place = last.columns.index("upper") if "upper" in last.columns else None
        counts = [] if place is None else [row[place] for row in last.rows]
    elif "count" in last.columns:
        counts = [row[last.columns.index("count")] for row in last.rows]
    else:
        counts = [answer.get("count")]
    numbers = [count for count in counts if is_number(count)]
    if numbers and len(numbers) == len(counts) and sum(numbers) < FAR_BELOW * rows:
        asked = (
            "do the groups leave so many rows out? If not, are the cells readable?" if leaves_out else "are the cells readable?"
        )
        yield (
            f"the count is far below `rows` ({round(sum(numbers)):,} of {rows:,}): {asked} Look at "
            "`decimal`, `delimiter`, the levels and what is declared for missing cells."
        )


def _of_wide_intervals(table: AnswerTable, width: float, *, or_little: bool = True) -> Iterator[str]:
    """Whether intervals say nothing, or little."""
    nothing = wider(table, width * (1.0 - 1e-9))
    little = [name for name in wider(table, width / 4.0) if name not in nothing]
    said = ("the whole declared range, so the answer says nothing", "a quarter of the declared range or wider")
    for names, found in zip((nothing, little), said, strict=True):
        if names and (or_little or names is nothing):
            named = ", ".join(visible(name) for name in names[:_MOST] if name) + _and_more(names)
            yield (
                f"the interval{' of ' + named if named else ''} is {found}: are there enough rows for this budget, and are the "
                "cells readable?"
            )


def _and_more(names: list[str]) -> str:
    return f" and {len(names) - _MOST} more" if len(names) > _MOST else ""


def wider(table: AnswerTable, width: float) -> list[str]:
    """What tells the rows apart whose intervals are as wide as this, or wider."""
    lower, upper, heads = (table.columns.index(name) for name in ("lower", "upper", "estimate"))
    ends = [(row, row[lower], row[upper]) for row in table.rows]
    return [
        " ".join(str(cell) for cell in row[:heads])
        for row, low, high in ends
        if is_number(low) and is_number(high) and high - low >= width
    ]


def _range_of(step: StepSpec) -> float:
    low, high = step.setting.range(str(step.parameters["column"]))
    return high - low


def _rare(step: StepSpec, table: AnswerTable) -> list[str]:
    """The rows of a table whose interval says nothing: a count that may be zero, an answer anywhere within its bounds."""
    if not {"lower", "upper"} <= set(table.columns) or table.columns[0] == "estimate" or "probability" in table.columns:
        return []
    lower, upper = table.columns.index("lower"), table.columns.index("upper")
    heads = table.columns.index("estimate")
    width = _declared_width(step)
    found = []
    for row in table.rows:
        low, high = row[lower], row[upper]
        if not is_number(low) or not is_number(high):
            continue
        says_nothing = low <= 0.0 <= high if step.run in _COUNTING else width is not None and high - low >= width
        if says_nothing:
            found.append(" ".join(str(cell) for cell in row[:heads]))
    return found


def _declared_width(step: StepSpec) -> float | None:
    if step.run in _WIDTHS:
        return _WIDTHS[step.run]
    column = step.parameters.get("column")
    if step.run != "mean" or not isinstance(column, str):
        return None
    low, high = step.setting.range(column)
    return high - low
