"""Benchmark rows as Markdown and JSON, and the section of a page that holds them."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from markupsafe import Markup

from dpkit import InvalidValueError
from dpkit.analysis.outputs import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What was measured: its rows, their table (which has marks of this name on a page), and notes on what was left out."""

    name: str
    rows: Sequence[object]
    table: str
    notes: tuple[str, ...] = ()
    picture: Markup | None = None


class Row(Protocol):
    """What a benchmark row has: ours and a peer's rate, measured alternately in one run."""

    @property
    def name(self) -> str: ...
    @property
    def ours_per_second(self) -> float: ...
    @property
    def ours_spread(self) -> float: ...
    @property
    def peer(self) -> str: ...
    @property
    def peer_per_second(self) -> float: ...
    @property
    def peer_spread(self) -> float: ...
    @property
    def ratio(self) -> float: ...


def as_markdown(rows: Sequence[Row]) -> str:
    """A table: rates with their spread (range over median), and the ratio."""
    lines = ["| what | dpkit a second | spread | peer | peer a second | spread | ratio |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| {row.name} | {row.ours_per_second:.3g} | {row.ours_spread:.0%} | {row.peer} "
        f"| {row.peer_per_second:.3g} | {row.peer_spread:.0%} | {row.ratio:.3g} |"
        for row in rows
    ]
    return "\n".join(lines)


def as_json_text(rows: Sequence[object], *, notes: Sequence[str] = ()) -> str:
    """The rows, with what they were measured on, and what was left out."""
    where = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    found = {"dpkit": 1, "measured_on": where, "notes": list(notes), "rows": [_fields(row) for row in rows]}
    return json.dumps(found, indent=2, default=_fields)


def _fields(row: object) -> dict[str, object]:
    names: dict[str, object] = getattr(type(row), "__dataclass_fields__", {})
    return {name: getattr(row, name) for name in names}


def has_section(page: str, name: str) -> bool:
    """Whether a page has the marks of a section."""
    return f"<!-- bench:{name} -->" in Path(page).read_text(encoding="utf-8")


def replace_section(page: str, name: str, text: str) -> None:
    """Put the text between `<!-- bench:name -->` and `<!-- /bench:name -->` on a page."""
    before, after = check_section(page, name)
    write_whole(Path(page).resolve(), f"{before}\n{text}\n{after}")


def check_section(page: str, name: str) -> tuple[str, str]:
    """What stands on a page up to the first mark of a section, and from its last one on; an error where it has not both."""
    start, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    before, found, rest = Path(page).read_text(encoding="utf-8").partition(start)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise InvalidValueError(field="into", found=page, allowed=f"a page with the marks {start} and {end}", where="bench")
    return before + start, end + after
