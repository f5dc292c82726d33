"""Benchmark rows as Markdown and JSON, and the section of a page that holds them."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from dpkit.errors import InvalidValueError


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


def as_json_text(rows: Sequence[object]) -> str:
    """The rows, with what they were measured on."""
    where = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    return json.dumps({"dpkit": 1, "measured_on": where, "rows": [_fields(row) for row in rows]}, indent=2, default=_fields)


def _fields(row: object) -> dict[str, object]:
    names: dict[str, object] = getattr(type(row), "__dataclass_fields__", {})
    return {name: getattr(row, name) for name in names}


def replace_section(page: str, name: str, text: str) -> None:
    """Put the text between `<!-- bench:name -->` and `<!-- /bench:name -->` on a page."""
    path = Path(page)
    content = path.read_text(encoding="utf-8")
    start, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    if start not in content or end not in content:
        raise InvalidValueError(field="into", found=page, allowed=f"a page with the marks {start} and {end}", where="bench")
    before, rest = content.split(start, 1)
    after = rest.split(end, 1)[1]
    path.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")
