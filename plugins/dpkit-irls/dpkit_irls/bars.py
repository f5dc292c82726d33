"""`python -m dpkit_irls.bars`: what each form needs, as a table; `--into PAGE` writes it between the page's marks.

`--small` is a quick look; the full one takes minutes. With `--keep FILE` an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit_irls.measuring import SEED, Measurements

START, END = "<!-- irls:bars -->", "<!-- /irls:bars -->"
BUDGET_OF_PAPER = "the paper's budget, which does not hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A setting, the sizes that it is measured at, and what is asked of the need."""

    method: str
    setting: str
    sizes: tuple[int, ...]
    bar: str
    design: str = "paper"
    loose: float = 1.0
    times: int = 1
    """How many times as many datasets as elsewhere."""


_DESIGNS = {
    "ar": "AR(0.9)",
    "scaled": "column sds over a factor of 1,000",
    "binary": "binary",
    "t3": "t3",
    "uniform": "uniform",
    "intercept": "with an intercept",
}
_SIZES = (500, 600, 700, 800, 1_000)

LINES: tuple[Line, ...] = (
    Line(method="bounded", setting="the paper's", sizes=_SIZES, bar="1,000; stretch 600", times=3),
    Line(method="bounded", setting="bounds 4 times too loose", sizes=_SIZES, bar="within 10%", loose=4.0, times=3),
    *(
        Line(method="bounded", setting=name, sizes=(700, 800, 1_000, 1_300), bar="1,300", design=design)
        for design, name in _DESIGNS.items()
    ),
    Line(method="moments", setting="the paper's", sizes=(14_000, 20_000, 28_000, 35_000), bar="35,000"),
    Line(method="moments-iterates", setting="iterates averaged instead", sizes=(20_000, 28_000, 35_000, 50_000), bar="-"),
    Line(method="CDP-gau", setting=BUDGET_OF_PAPER, sizes=(28_000, 40_000, 56_000, 80_000), bar="about 40,000"),
    Line(method="CDP-gau, 1e-4", setting="the same, failure 1e-4 in its Gaussian", sizes=(28_000, 40_000, 56_000), bar="-"),
    Line(method="CDP-lap", setting=BUDGET_OF_PAPER, sizes=(28_000, 40_000, 56_000), bar="-"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table as Markdown, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="few datasets and sizes: a look, not a measurement")
    parser.add_argument("--datasets", type=int, default=None, help="how many datasets a size; 20 by default, 3 if small")
    parser.add_argument("--keep", type=Path, default=None, help="a JSON file that keeps what was measured")
    parser.add_argument("--into", type=Path, default=None, help=f"a page with the marks {START} and {END}")
    chosen = parser.parse_args(arguments)
    progress = (lambda text: print(f"\r{text:<100}", end="", file=sys.stderr)) if sys.stderr.isatty() else (lambda text: None)
    kept = Measurements(path=chosen.keep, progress=progress)
    made = table(kept, small=chosen.small, datasets=chosen.datasets or (3 if chosen.small else 20))
    if chosen.into is None:
        print(made)
    else:
        chosen.into.write_text(between_marks(chosen.into.read_text(encoding="utf-8"), made), encoding="utf-8")


def between_marks(page: str, made: str) -> str:
    """The page with the table in place of what stood between the marks."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise InvalidValueError(field="into", found="a page without the marks", allowed=f"{START} ... {END}", where="bars")
    return f"{before}{START}\n{made}\n{END}{after}"


def table(kept: Measurements, *, small: bool, datasets: int) -> str:
    """One line a bar: gaps by N, the need, and what is asked for."""
    lines = ["| form | design or setting | mean gap at N | need | bar |", "|---|---|---|---|---|"]
    needs: dict[str, float] = {}
    for line in LINES[:2] if small else LINES:
        sizes = line.sizes[::2] if small else line.sizes
        counts = datasets * (1 if small else line.times)
        found = {
            size: float(np.mean(kept.measured(line.method, size, counts, design=line.design, loose=line.loose)))
            for size in sizes
        }
        need = kept.need(line.method, sizes, counts, design=line.design, loose=line.loose)
        needs[line.setting] = need
        gaps = ", ".join(f"{mean:.3f} at {size:,}" for size, mean in found.items())
        lines.append(f"| {line.method} | {line.setting} | {gaps} | {_said(need, sizes)} | {line.bar} |")
    if not small:
        ours = float(np.mean(kept.measured("bounded", 10_000, datasets, outliers=True)))
        best = float(np.mean(kept.measured("non-private", 10_000, datasets, outliers=True)))
        said = f"excess {ours:.4f}, of non-private IRLS {best:.4f} | {ours / best:.2f} times | twice |"
        lines.append(f"| bounded | 5% outliers and t2 noise, N = 10,000 | {said}")
    lines += ["", f"{datasets} datasets a size; {3 * datasets} in the first two lines. Seed {SEED}."] if not small else []
    return "\n".join(lines)


def _said(need: float, sizes: Sequence[int]) -> str:
    if not np.isfinite(need):
        return f"above {sizes[-1]:,}"
    return f"below {sizes[0]:,}" if need <= sizes[0] else f"{need:,.0f}"


if __name__ == "__main__":
    main()
