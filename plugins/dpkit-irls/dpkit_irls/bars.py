"""`python -m dpkit_irls.bars`: what each form needs, as a table. `--small` is a quick look; the full one takes minutes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpkit_irls.generator import DESIGNS
from dpkit_irls.measuring import Measurements

BOUNDED_SIZES = (500, 630, 800, 1_000, 1_300, 1_600, 2_000)
MOMENT_SIZES = (10_000, 14_000, 20_000, 28_000, 40_000)
PAPER_SIZES = (20_000, 28_000, 40_000, 56_000)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="few datasets and sizes: a look, not a measurement")
    parser.add_argument("--datasets", type=int, default=None, help="how many datasets a size; 20 by default, 3 if small")
    parser.add_argument("--keep", type=Path, default=None, help="a JSON file that keeps what was measured")
    chosen = parser.parse_args(arguments)
    shown = sys.stderr.isatty()
    kept = Measurements(path=chosen.keep, progress=lambda text: print(text, file=sys.stderr) if shown else None)
    print(table(kept, small=chosen.small, datasets=chosen.datasets or (3 if chosen.small else 20)))


def table(kept: Measurements, *, small: bool, datasets: int) -> str:
    """One line a bar: what was measured, and what is asked for."""
    lines = ["| form | setting | measured | bar |", "|---|---|---|---|"]
    sizes = (1_000, 2_000) if small else BOUNDED_SIZES
    for design in DESIGNS[:2] if small else DESIGNS:
        bar = "1,000" if design == "paper" else "1,300"
        lines.append(_row("bounded", design, kept.need("bounded", sizes, datasets, design=design), bar))
    for loose in (4.0,):
        lines.append(
            _row("bounded", "bounds 4 times too loose", kept.need("bounded", sizes, datasets, loose=loose), "within 10%")
        )
    if small:
        return "\n".join(lines)
    ours = np.mean(kept.measured("bounded", 10_000, datasets, outliers=True))
    best = np.mean(kept.measured("non-private", 10_000, datasets, outliers=True))
    lines.append(f"| bounded | 5% outliers, t2 noise, N = 10,000: excess over non-private IRLS's | {ours / best:.2f}x | 2x |")
    for method in ("moments", "moments-iterates"):
        lines.append(_row(method, "paper", kept.need(method, MOMENT_SIZES, datasets), "35,000"))
    for method in ("CDP-gau", "CDP-lap"):
        lines.append(_row(method, "paper, at its refuted budget", kept.need(method, PAPER_SIZES, datasets), "about 40,000"))
    return "\n".join(lines)


def _row(form: str, setting: str, need: float, bar: str) -> str:
    return (
        f"| {form} | {setting}: need | {need:,.0f} | {bar} |"
        if np.isfinite(need)
        else f"| {form} | {setting}: need | none of these N | {bar} |"
    )


if __name__ == "__main__":
    main()
