"""How long `import dpkit` takes beside importing numpy and scipy.special, which it cannot do without."""

from __future__ import annotations

import statistics
import subprocess
import sys
from dataclasses import dataclass

BASE = "import numpy, scipy.special"
IMPORTS = {
    "import dpkit": ("import dpkit", 1.3),
    "account and events": ("from dpkit import Compose, GaussianEvent, LaplaceEvent, Repeat, account", None),
}
"""Code, and the largest ratio wanted. Names are loaded when they are first used, so the second is what a user waits for."""

_TIMED = "import time\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """Seconds of an import in a fresh process, and of the base: medians, and the range of the ratio's runs over its median."""

    name: str
    ours_seconds: float
    base_seconds: float
    ratio: float
    spread: float
    bar: float | None


def measure_imports(*, repeats: int = 9) -> list[ImportRow]:
    """Time each import in fresh processes, alternately with the base, after one of each that nobody counts."""
    rows = []
    for name, (code, bar) in IMPORTS.items():
        pairs = [(_seconds(code), _seconds(BASE)) for _ in range(repeats + 1)][1:]
        ratios = [ours / base for ours, base in pairs]
        rows.append(
            ImportRow(
                name=name,
                ours_seconds=statistics.median(ours for ours, _ in pairs),
                base_seconds=statistics.median(base for _, base in pairs),
                ratio=statistics.median(ratios),
                spread=(max(ratios) - min(ratios)) / statistics.median(ratios),
                bar=bar,
            )
        )
    return rows


def imports_as_markdown(rows: list[ImportRow]) -> str:
    """A table for docs/benchmarks.md."""
    lines = ["| what | dpkit ms | numpy and scipy.special ms | ratio | spread | bar |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row.name} | {1e3 * row.ours_seconds:.3g} | {1e3 * row.base_seconds:.3g} | {row.ratio:.2g} | {row.spread:.0%} "
        f"| {'' if row.bar is None else f'{row.bar:g}'} |"
        for row in rows
    ]
    return "\n".join(lines)


def _seconds(code: str) -> float:
    """Measured inside the process, so that starting Python is in neither."""
    done = subprocess.run([sys.executable, "-c", _TIMED.format(code=code)], capture_output=True, text=True, check=True)
    return float(done.stdout)
