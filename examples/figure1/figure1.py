"""Figure 1 of Park and Welling (2016), and the same picture at an equal, real guarantee.

    python examples/figure1/figure1.py --out out/figure1            # hours: N up to 1e6, 20 datasets
    python examples/figure1/figure1.py --out out/figure1 --small    # seconds

What the paper leaves open, and what is chosen here: 10 iterations; weight cap 10; theta starts at 0; the last iterate is taken;
failure probability 1e-6 in the Gaussian formula and in advanced composition; 2,000 fresh test points instead of a tenth of the
training points; the log-likelihood is of targets in their own unit, with the true noise variance, 0.01; X is scaled by its
largest norm and y by its largest magnitude, taken as declared bounds. `--most` says how many datasets there are (20) and
`--rows` how many rows the datasets of one size may have altogether, where that is one or more: the table says how many were.
Everything is kept in measured.json, so an interrupted run goes on where it was.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np
from dpkit_irls.measuring.gaps import Measurements
from dpkit_irls.measuring.generator import SIGMA

PUBLISHED = ("CDP-gau", "CDP-lap", "DP-basic", "DP-advanced")
SOUND = ("moments-last", "moments", "bounded")
LABELS = {
    "moments-last": "irls-moments, last iterate",
    "moments": "irls-moments, averaged",
    "bounded": "irls",
    "non-private": "non-private IRLS",
}


def main(arguments=None):
    """Measure, then write figure1.md and, where matplotlib is installed, figure1.png."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/figure1"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--most", type=int, default=None, help="datasets of one size")
    parser.add_argument("--rows", type=float, default=math.inf, help="rows of all datasets of one size, about")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    sizes = [1_000, 3_000] if chosen.small else [round(size) for size in np.logspace(3, 6, 10)]
    most = chosen.most or (2 if chosen.small else 20)
    counts = {size: most if most * size <= chosen.rows else max(1, int(chosen.rows // size)) for size in sizes}
    methods = ("non-private", *PUBLISHED, *SOUND)
    bar = Bar(total=len(methods) * sum(size * count for size, count in counts.items()))
    kept = Measurements(path=chosen.out / "measured.json", progress=bar.moved)
    means = {method: [] for method in methods}
    for size in sizes:
        bar.starts(size, already=sum(min(len(found), counts[size]) for found in kept_of(kept, methods, size)))
        for method, gaps in kept.compared(methods, size, counts[size]).items():
            means[method].append(float(np.mean(gaps)))
    bar.ends()
    (chosen.out / "figure1.md").write_text(table(sizes, counts, means), encoding="utf-8")
    draw(sizes, means, chosen.out / "figure1.png")


def kept_of(kept, methods, size):
    """What was measured of a size by an earlier run."""
    return [kept.gaps.get(f"{method} paper N={size} loose=1 outliers=False", []) for method in methods]


class Bar:
    """Progress in rows fitted, on one line of a terminal; a line a size elsewhere."""

    def __init__(self, total):
        self.total, self.done, self.size = total, 0, 0

    def starts(self, size, *, already):
        self.size = size
        self.done += already * size
        if not sys.stderr.isatty():
            print(f"N = {size:,} ({self.done / self.total:.0%})", file=sys.stderr, flush=True)

    def moved(self, text):
        self.done += self.size
        if sys.stderr.isatty():
            full = int(30 * self.done / self.total)
            print(f"\r[{'#' * full}{'.' * (30 - full)}] {text:<70}", end="", file=sys.stderr, flush=True)

    def ends(self):
        print(file=sys.stderr)


def table(sizes, counts, means):
    """Gaps as Markdown."""
    shown = [method for method in means if method != "non-private"]
    head = ["N", "datasets", *(LABELS.get(method, method) for method in shown)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for place, size in enumerate(sizes):
        cells = [f"{size:,}", str(counts[size]), *(f"{means[method][place]:.3g}" for method in shown)]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "Nats a test point below non-private IRLS, means over datasets; d = 10. The first four have the paper's own",
        "epsilon = 0.9, which does not hold. The last three are (0.9, 1e-6)-DP under replace-one with N public.",
        "All of it is simulation.",
    ]
    return "\n".join(lines) + "\n"


def positive(gaps):
    """What a logarithmic axis can show: a mean over few datasets may be a little below zero, and is left out."""
    return np.where(np.array(gaps) > 0.0, gaps, np.nan)


def draw(sizes, means, path):
    """Left: log-likelihood a test point, as in the paper. Right: the gap to non-private IRLS, both axes logarithmic."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(10, 4.2))
    left, right = figure.subplots(1, 2)
    # the true coefficients have a log-likelihood of -ln(2 pi sigma^2)/2 - 1/2, on average
    best = -0.5 * math.log(2 * math.pi * SIGMA**2) - 0.5 - np.array(means["non-private"])
    left.semilogx(sizes, best, color="black", label=LABELS["non-private"])
    for method in PUBLISHED:
        left.semilogx(sizes, best - np.array(means[method]), marker="o", linestyle="--", label=method)
    left.set_ylim(-6, 1.5)
    left.set_ylabel("log-likelihood a test point")
    left.set_title("as published, at its own epsilon = 0.9 (which does not hold)", fontsize=9)
    right.axhline(0.05, color="grey", linewidth=0.7)
    for method in PUBLISHED:
        right.loglog(sizes, positive(means[method]), linestyle="--", linewidth=0.8, label=f"{method} (as published)")
    for method in SOUND:
        right.loglog(sizes, positive(means[method]), marker="o", label=LABELS.get(method, method))
    right.set_ylim(1e-5, 1e4)
    right.set_ylabel("nats a test point below non-private IRLS")
    right.set_title("sound forms at a real (0.9, 1e-6), over the published ones", fontsize=9)
    for axes in (left, right):
        axes.set_xlabel("N")
        axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
