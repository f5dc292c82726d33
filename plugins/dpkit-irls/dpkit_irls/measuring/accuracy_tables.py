"""What `python -m dpkit_irls.bars` writes: rows that each form needs, coverage of intervals, and fits without noise, as tables.

`--into PAGE` writes them between the page's marks. `--small` is a quick look, `--full` takes hours; without either it takes
about half an hour of two processes. With `--keep FOLDER` an interrupted run goes on where it was. `--only` names one table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dpkit import InvalidValueError, Neighbours
from dpkit.authoring import dataclass
from dpkit_irls.measuring.answer_coverage import AnswerErrors, answers_table
from dpkit_irls.measuring.coverage import (
    FIRST_SEED,
    Case,
    Coverage,
    Summary,
    designs,
    level_errors,
    summary,
)
from dpkit_irls.measuring.foretelling import plan_table, stand_in_table
from dpkit_irls.measuring.gaps import SEED, Measurements

BUDGET_OF_PAPER = "the paper's budget, which does not hold"
TABLES = ("needs", "coverage", "add-remove", "limit", "levels", "plan", "stand-in", "answers")


LEAST_FITS = 40
"""With fewer fits of a design a case is not told."""


def marks(table: str) -> tuple[str, str]:
    """Where a table stands in a page."""
    return f"<!-- irls:{table} -->", f"<!-- /irls:{table} -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
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

LINES: tuple[TableLine, ...] = (
    TableLine(method="bounded", setting="the paper's", sizes=_SIZES, bar="700", times=3),
    TableLine(method="bounded", setting="bounds 4 times too loose", sizes=_SIZES, bar="within 10%", loose=4.0, times=3),
    *(
        TableLine(method="bounded", setting=name, sizes=(600, 700, 800, 1_000, 1_300), bar="1,000", design=design)
        for design, name in _DESIGNS.items()
    ),
    TableLine(method="moments", setting="the paper's", sizes=(14_000, 20_000, 28_000, 35_000), bar="35,000"),
    TableLine(method="moments-iterates", setting="iterates averaged instead", sizes=(20_000, 28_000, 35_000, 50_000), bar="-"),
    TableLine(method="CDP-gau", setting=BUDGET_OF_PAPER, sizes=(28_000, 40_000, 56_000, 80_000), bar="about 40,000"),
    TableLine(
        method="CDP-gau, 1e-4", setting="the same, failure 1e-4 in its Gaussian", sizes=(28_000, 40_000, 56_000), bar="-"
    ),
    TableLine(method="CDP-lap", setting=BUDGET_OF_PAPER, sizes=(28_000, 40_000, 56_000), bar="-"),
)

SOME = ((1_000, 1.0), (3_000, 0.5), (3_000, 1.0), (3_000, 8.0), (20_000, 1.0), (20_000, 1_000.0))
ALL = tuple((rows, epsilon) for epsilon in (1.0, 0.5, 8.0, 1_000.0) for rows in (1_000, 3_000, 20_000, 100_000))
"""Rows and epsilon of the coverage table, usually and in full."""
ADD_REMOVE = ((3_000, 1.0), (20_000, 1.0))
"""Rows and epsilon at which intervals are measured where the number of rows is not public."""
STAND_IN = ((1_000, 1.0), (3_000, 1.0), (20_000, 1.0))
"""Rows and epsilon at which plans are compared by what they know."""
LIMIT = (20_000, 5_000.0)
"""Rows and epsilon at which a fit is compared with the same without privacy."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables as Markdown, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--small", action="store_true", help="few datasets and sizes: a look, not a measurement")
    size.add_argument("--full", action="store_true", help="200 datasets a size, and 400 fits a case (200 at 100,000 rows)")
    parser.add_argument("--datasets", type=int, default=None, help="how many datasets a size, and fits a case")
    parser.add_argument("--only", choices=TABLES, default=None, help="one of the tables")
    parser.add_argument("--keep", type=Path, default=None, help="a folder that keeps what was measured")
    parser.add_argument("--as-it-is", action="store_true", help="coverage of what was kept, without measuring more")
    parser.add_argument("--into", type=Path, default=None, help=f"a page with marks such as {' '.join(marks('needs'))}")
    chosen = parser.parse_args(arguments)
    progress = (lambda text: print(f"\r{text:<100}", end="", file=sys.stderr)) if sys.stderr.isatty() else (lambda text: None)
    if chosen.keep is not None:
        chosen.keep.mkdir(parents=True, exist_ok=True)
    for name in TABLES if chosen.only is None else (chosen.only,):
        made = _made(name, chosen, progress)
        if chosen.into is None:
            print(made, end="\n\n")
        else:
            page = chosen.into.read_text(encoding="utf-8")
            chosen.into.write_text(between_marks(page, made, name), encoding="utf-8")


KEPT = {"needs": "gaps", "answers": "answers"}
"""The file of each table in the folder that is kept; of the others `fits`."""


def _made(name: str, chosen: argparse.Namespace, progress: Callable[[str], None]) -> str:
    path = None if chosen.keep is None else chosen.keep / f"{KEPT.get(name, 'fits')}.json"
    if name == "needs":
        datasets = chosen.datasets or (3 if chosen.small else 200 if chosen.full else 20)
        return needs_table(Measurements(path=path, progress=progress), small=chosen.small, datasets=datasets)
    if name == "answers":
        fits = chosen.datasets or (2 if chosen.small else 100)
        errors = AnswerErrors(path=path, progress=progress)
        return answers_table(errors, fits=fits, limits=min(fits, 5), small=chosen.small, as_it_is=chosen.as_it_is)
    kept = Coverage(path=path, progress=progress)
    if name == "levels":
        return levels_table(fits=chosen.datasets or (2 if chosen.small else 40))
    if name == "plan":
        return plan_table(kept, fits=chosen.datasets or (4 if chosen.small else 100))
    if name == "stand-in":
        return stand_in_table(kept, STAND_IN, fits=chosen.datasets or (4 if chosen.small else 40), small=chosen.small)
    if name == "add-remove":
        fits = dict.fromkeys((rows for rows, _ in ADD_REMOVE), chosen.datasets or (4 if chosen.small else 100))
        return coverage_table(kept, ADD_REMOVE, fits, small=chosen.small, neighbours=Neighbours.ADD_REMOVE)
    if name == "limit":
        return limit_table(kept, fits=chosen.datasets or (1 if chosen.small else 20 if chosen.full else 4), small=chosen.small)
    cases = SOME[:1] if chosen.small else ALL if chosen.full else SOME
    fits = {rows: _fits(rows, chosen) for rows, _ in cases}
    return coverage_table(kept, cases, fits, small=chosen.small, as_it_is=chosen.as_it_is)


def _fits(rows: int, chosen: argparse.Namespace) -> int:
    """How many fits of a case: fewer of many rows."""
    if chosen.datasets is not None:
        return int(chosen.datasets)
    if chosen.small:
        return 4
    if chosen.full:
        return 400 if rows < 100_000 else 200
    return 60 if rows <= 3_000 else 40


def between_marks(page: str, made: str, table: str) -> str:
    """The page with the table in place of what stood between its marks."""
    opening, closing = marks(table)
    before, start, rest = page.partition(opening)
    _, end, after = rest.partition(closing)
    if not start or not end:
        raise InvalidValueError(
            field="into", found="a page without the marks", allowed=f"{opening} ... {closing}", where="bars"
        )
    return f"{before}{opening}\n{made}\n{closing}{after}"


def needs_table(kept: Measurements, *, small: bool, datasets: int) -> str:
    """One line a bar: gaps by N, the need, and what is asked for."""
    lines = ["| form | design or setting | mean gap at N | need | bar |", "|---|---|---|---|---|"]
    for line in LINES[:2] if small else LINES:
        sizes = line.sizes[::2] if small else line.sizes
        counts = datasets * (1 if small or datasets >= 200 else line.times)
        found = {
            size: float(np.mean(kept.measured(line.method, size, counts, design=line.design, loose=line.loose)))
            for size in sizes
        }
        need = kept.need(line.method, sizes, counts, design=line.design, loose=line.loose)
        gaps = ", ".join(f"{mean:.3f} at {size:,}" for size, mean in found.items())
        lines.append(f"| {line.method} | {line.setting} | {gaps} | {_said(need, sizes)} | {line.bar} |")
    if not small:
        ours = float(np.mean(kept.measured("bounded", 10_000, datasets, outliers=True)))
        best = float(np.mean(kept.measured("non-private", 10_000, datasets, outliers=True)))
        said = f"excess {ours:.4f}, of non-private IRLS {best:.4f} | {ours / best:.2f} times | twice |"
        lines.append(f"| bounded | 5% outliers and t2 noise, N = 10,000 | {said}")
        more = "" if datasets >= 200 else f"; {3 * datasets} in the first two lines"
        lines += ["", f"{datasets} datasets a size{more}. Seed {SEED}."]
    return "\n".join(lines)


def coverage_table(
    kept: Coverage,
    cases: Sequence[tuple[int, float]],
    fits: dict[int, int],
    *,
    small: bool,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
    as_it_is: bool = False,
) -> str:
    """A row a design: the least and the largest coverage of a coefficient's 95% interval in each case. With `as_it_is`
    nothing more is measured, and only cases in which every design was are told.
    """
    names = list(designs())[:2] if small else list(designs())

    def case(name: str, cell: tuple[int, float]) -> Case:
        return Case(design=name, rows=cell[0], epsilon=cell[1], neighbours=neighbours)

    if as_it_is:
        counts = {cell: min(len(kept.rows.get(case(name, cell).key, ())) for name in names) for cell in cases}
        counts = {cell: min(count, fits[cell[0]]) for cell, count in counts.items() if count >= LEAST_FITS}
    else:
        kept.measure([(case(name, cell), fits[cell[0]]) for cell in cases for name in names])
        counts = {cell: fits[cell[0]] for cell in cases}
    parts = [
        _coverage_part([cell for cell in counts if cell[1] == epsilon], epsilon, names, counts, kept, case)
        for epsilon in sorted({epsilon for _, epsilon in counts})
    ]
    return "\n\n".join([*parts, f"Seeds from {FIRST_SEED:,}, which were not used for tuning."])


def _coverage_part(
    cells: Sequence[tuple[int, float]],
    epsilon: float,
    names: Sequence[str],
    counts: dict[tuple[int, float], int],
    kept: Coverage,
    case: Callable[[str, tuple[int, float]], Case],
) -> str:
    """The cases of one epsilon."""
    cells = sorted(cells)
    heads = [f"N = {rows:,} ({counts[rows, each]} fits)" for rows, each in cells]
    lines = [f"| epsilon {epsilon:g} | {' | '.join(heads)} |", "|---|" + "---|" * len(cells)]
    found = {(name, cell): summary(kept.rows[case(name, cell).key][: counts[cell]]) for name in names for cell in cells}
    for name in names:
        lines.append(f"| {name} | {' | '.join(_range(found[name, cell]) for cell in cells)} |")
    three = [f"{min(found[name, cell].within_three for name in names):.3f}" for cell in cells]
    ratios = [_ratios([found[name, cell].ratios for name in names]) for cell in cells]
    means = [_ratios([(found[name, cell].mean,) * 2 for name in names], digits=3) for cell in cells]
    hidden = [f"{np.mean([found[name, cell].hidden for name in names]):.2f}" for cell in cells]
    lines.append(f"| mean coverage of coefficients, least and largest of a design | {' | '.join(means)} |")
    lines.append(f"| errors within three stated ones, least of a design | {' | '.join(three)} |")
    lines.append(f"| stated over observed error | {' | '.join(ratios)} |")
    wider = [f"{np.mean([found[name, cell].wider for name in names]):.2f}" for cell in cells]
    lines.append(f"| coefficients that a note calls hidden | {' | '.join(hidden)} |")
    lines.append(f"| others whose intervals a note calls wider than 95% takes | {' | '.join(wider)} |")
    return "\n".join(lines)


def _ratios(found: Sequence[tuple[float, float]], *, digits: int = 2) -> str:
    return f"{np.nanmin([low for low, _ in found]):.{digits}f} to {np.nanmax([high for _, high in found]):.{digits}f}"


def levels_table(*, fits: int) -> str:
    """Errors of rare levels beside those of least squares."""
    case = Case(design="levels of 1%", rows=20_000, epsilon=1.0)
    private, plain = (
        np.sqrt(np.mean(np.square(each))) for each in zip(*(level_errors(case, n) for n in range(fits)), strict=True)
    )
    lines = ["| levels of 1% among 20,000 rows, epsilon 1 | error |", "|---|---|"]
    lines += [f"| private | {private:.3f} |", f"| least squares | {plain:.3f} |", f"| ratio (bar: 3) | {private / plain:.2f} |"]
    return "\n".join([*lines, "", f"Root mean squares over ten levels and {fits} fits."])


def _range(found: Summary) -> str:
    """The least coverage, and the largest where no note calls intervals wider or hidden."""
    return f"{found.least:.2f}" + ("" if np.isnan(found.most) else f" to {found.most:.2f}")


def limit_table(kept: Coverage, *, fits: int, small: bool) -> str:
    """How far fits with hardly any noise are from the same estimand without privacy."""
    rows, epsilon = LIMIT
    names = list(designs())[:2] if small else list(designs())
    cases = [Case(design=name, rows=rows, epsilon=epsilon) for name in names]
    kept.measure((), [(case, fits) for case in cases])
    lines = ["| design | largest difference, in standard errors |", "|---|---|"]
    lines += [f"| {case.design} | {max(kept.gaps[case.key][:fits]):.3f} |" for case in cases]
    return "\n".join([*lines, "", f"{fits} fits each, N = {rows:,}, epsilon {epsilon:g}. Bar: 0.1."])


def _said(need: float, sizes: Sequence[int]) -> str:
    if not np.isfinite(need):
        return f"above {sizes[-1]:,}"
    return f"below {sizes[0]:,}" if need <= sizes[0] else f"{need:,.0f}"
