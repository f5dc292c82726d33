"""What `where`, `let` and `by` cost: one pass for a mean with all three, beside the same pass without them.

Both read the same rows from memory. Processor time, the smallest of some repeats taken in turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import dpkit


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRow:
    """Processor seconds of the pass without and with all three."""

    rows: int
    plain: float
    asked: float

    @property
    def name(self) -> str:
        """As it stands in a picture."""
        return f"{self.rows:,} rows"

    @property
    def ratio(self) -> float:
        """How many times as long."""
        return self.asked / self.plain


def measure_filters(rows: int, repeats: int) -> list[FilterRow]:
    """A mean of weight, and of weight / (height * height) by group of those who are 18 or older."""
    rng = np.random.default_rng(0)
    table = {
        "weight": rng.uniform(0.0, 100.0, rows),
        "height": rng.uniform(1.0, 2.0, rows),
        "age": rng.integers(0, 100, rows).astype(np.float64),
        "group": rng.integers(0, 5, rows).astype(np.float64),
    }
    bounds = {"weight": (0.0, 100.0), "height": (1.0, 2.0), "age": (0.0, 100.0), "group": (0.0, 4.0)}
    plain = dpkit.Schema(columns=tuple(dpkit.Number(name=name, lower=low, upper=up) for name, (low, up) in bounds.items()))
    asked = plain.extended(let={"bmi": "weight / (height * height)"}, where="age >= 18 and group <= 3")
    mean = dpkit.default_registry().algorithm("mean")
    by = [{"column": "group", "levels": [0, 1, 2, 3]}]
    passes = {
        "plain": (plain, mean.prepare(dpkit.DeclaredSetting(schema=plain), column="weight")),
        "asked": (asked, mean.prepare(dpkit.DeclaredSetting(schema=asked), column="bmi", by=by)),
    }
    found: dict[str, list[float]] = {name: [] for name in passes}
    for _ in range(repeats + 1):  # the first one warms up
        for name, (schema, algorithm) in passes.items():
            engine = dpkit.BlockEngine(dpkit.open_source(table, schema))
            start = time.process_time()
            engine.evaluate([algorithm.statistic.query])  # type: ignore[attr-defined]
            found[name].append(time.process_time() - start)
    return [FilterRow(rows=rows, plain=min(found["plain"][1:]), asked=min(found["asked"][1:]))]


def as_markdown(rows: Sequence[FilterRow]) -> str:
    """A table of one line."""
    lines = ["| rows | plain pass, CPU s | with `where`, `let` and `by`, CPU s | ratio | bar |", "|---|---|---|---|---|"]
    lines += [f"| {row.rows:,} | {row.plain:.2f} | {row.asked:.2f} | {row.ratio:.2f} | 2 |" for row in rows]
    return "\n".join(lines)
