"""What an analyst should be warned of before anything is run, from public facts alone: the file, its header, other ledgers."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from dpkit.analysis.given_data import made_source
from dpkit.analysis.reading.spec import Spec
from dpkit.contracts.factories import SourceFactory
from dpkit.data.columns.kinds import Category
from dpkit.data.expressions.facts import ValueKind
from dpkit.data.expressions.tree import Node
from dpkit.data.tables.open_source import open_source
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_down, in_full

LARGE_EPSILON = 10.0
_SQLITE = b"SQLite format 3\0"
_MOST_FILES = 500


def check_files(spec: Spec) -> None:
    """Refuse files and tables that are not there, or lack a declared column, as a run would. No row of the data is read; a
    plugin's own source is opened only where it says that this reads none (`SourceFactory`).
    """
    data = spec.data
    if data.like is not None:
        from dpkit.analysis.stand_in import open_stand_in  # a check of others loads none of this

        open_stand_in(spec, data.like)
    is_file = data.source_parameters is None
    if is_file or isinstance(spec.registry.source(str(data.source)), SourceFactory):
        given = data.source if is_file else made_source(spec)
        open_source(given, data.schema, unit=data.unit, neighbours=data.neighbours, in_memory=False, **data.form)


def public_warnings(spec: Spec) -> tuple[str, ...]:
    """Everything that is allowed and looks like a mistake."""
    return (*_of_budget(spec), *_of_ledgers(spec), *_of_levels(spec), *_of_conditions(spec))


def _of_budget(spec: Spec) -> Iterator[str]:
    budget, rows = spec.budget, spec.data.rows
    if budget.epsilon > LARGE_EPSILON:
        yield (
            f"`budget.epsilon` is {in_full(budget.epsilon)}: above {in_full(LARGE_EPSILON)}, what one {_unit(spec)} changes is "
            "hardly hidden. Usual budgets are 0.1 to 3."
        )
    if rows is not None and budget.delta > 1.0 / rows:
        yield (
            f"`budget.delta` is {in_full(budget.delta)}, above 1 / rows = {1.0 / rows:.3g}: to give away rows "
            f"of a few people would be allowed. Set it far below, to {format_down(1e-2 / rows, digits=1)} or less."
        )


def _unit(spec: Spec) -> str:
    return "row" if spec.data.unit.column is None else "person"


def _of_ledgers(spec: Spec) -> Iterator[str]:
    """A ledger that no run can be taken from; or a run without one, on data that has one beside it or beside the analysis."""
    if spec.budget.ledger is not None:
        from dpkit.analysis.ledger_standing import open_ledger

        try:
            if isinstance(spec.budget.ledger, Path):  # no other machine is asked
                open_ledger(spec).close()
        except DpkitError as error:
            yield f"{error}"
        return
    folders = {spec.path.absolute().parent}
    if spec.data.source_parameters is None:
        sources = (spec.data.source,) if isinstance(spec.data.source, str) else spec.data.source
        folders |= {Path(source).absolute().parent for source in sources}
    from dpkit.release.ledger.ledger import Ledger

    for path in sorted(found for folder in folders for found in _ledgers_in(folder)):
        with suppress(DpkitError, OSError), Ledger.open(path, registry=spec.registry, read_only=True) as ledger:
            if ledger.terms.dataset == spec.data.name:
                shown = os.path.relpath(path, spec.path.absolute().parent)
                yield (
                    f"This data has a ledger, {shown!r}, and this run is not taken from it: nobody adds it to the others. "
                    f"Write `ledger: {shown}` under `budget`."
                )


def _ledgers_in(folder: Path) -> Iterator[Path]:
    """Files that may be ledgers, by how they begin."""
    with suppress(OSError):
        for entry in islice(os.scandir(folder), _MOST_FILES):
            with suppress(OSError):
                if entry.is_file() and entry.stat().st_size >= len(_SQLITE):
                    with open(entry.path, "rb") as file:
                        if file.read(len(_SQLITE)) == _SQLITE:
                            yield Path(entry.path)


def _of_levels(spec: Spec) -> Iterator[str]:
    """Levels that a reader takes for one: they differ in case, in spaces, in signs that look alike, or as 1 and 1.0 do."""
    for column in spec.data.schema.columns:
        if not isinstance(column, Category):
            continue
        alike: dict[str, list[str]] = {}
        for level in column.levels:
            alike.setdefault(_as_read(level), []).append(level)
        for levels in alike.values():
            if len(levels) > 1:
                named = " and ".join(map(ascii, levels))
                yield f"Levels of `{column.name}` can hardly be told apart: {named}. Is it one level, spelt in several ways?"


def _of_conditions(spec: Spec) -> Iterator[str]:
    """Comparisons with what a value can never be: no row is meant by them."""
    schemas = (spec.data.schema, *(step.setting.schema for step in spec.steps))
    written = {each.sql: each.tree for schema in schemas for each in schema.where}
    written |= {each.sql: each.tree for schema in schemas for each in schema.let}
    for sql, tree in written.items():
        for node in tree.walk():
            if node.operation in _COMPARED and any(one.kind is ValueKind.NULL for one in node.inputs):
                yield f"`{sql}` compares something with NULL, which is never true. Write IS NULL, or IS NOT NULL."
            elif node.unmatched:
                levels, wrong = _listed(node.inputs[0].fact.texts), _listed(node.unmatched)
                yield f"`{sql}` compares a text with {wrong}, which it can never be. It can be {levels}."
            elif (never := _never_true(node)) is not None:
                yield f"`{sql}` holds a comparison that is never true: {never}."


_COMPARED = ("=", "<>", "<", "<=", ">", ">=")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def _never_true(node: Node) -> str | None:
    """Why a comparison of a number with constants is never true: none of them lies where it can be."""
    if node.operation == "one of":
        word, (value,), constants = "=", node.inputs, [float(code) for code in node.given]
    elif node.operation in _TURNED:
        word, (value, other) = node.operation, node.inputs
        if other.value is None:
            word, value, other = _TURNED[word], other, value
        if other.value is None or value.value is not None:
            return None
        constants = [other.value]
    else:
        return None
    fact = value.fact
    if fact.kind is not ValueKind.NUMBER or any(math.isnan(one) for one in constants):
        return None
    low, high = fact.lower, fact.upper
    possible: dict[str, Callable[[float], bool]] = {
        "=": lambda one: low <= one <= high and (one.is_integer() or not fact.whole),
        "<": lambda one: low < one,
        "<=": lambda one: low <= one,
        ">": lambda one: high > one,
        ">=": lambda one: high >= one,
    }
    wrong = [in_full(one) for one in constants if not possible[word](one)]
    kind = "a whole number" if fact.whole else "a number"
    return f"{kind} from {in_full(low)} to {in_full(high)} {word} {', '.join(wrong[:8])}" if wrong else None


def _listed(texts: Sequence[str]) -> str:
    return ", ".join([*map(ascii, texts[:8]), *(["..."] if len(texts) > 8 else [])])


def _as_read(level: str) -> str:
    whole = unicodedata.normalize("NFKC", level)
    shown = "".join(sign for sign in whole if unicodedata.category(sign) not in ("Cf", "Cc"))
    read = " ".join(shown.casefold().split())
    return read.rstrip("0").rstrip(".") if _DECIMAL.fullmatch(read) else read


_DECIMAL = re.compile(r"[-+]?[0-9]+\.[0-9]*")
