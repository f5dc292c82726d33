"""One composition under every accountant: a table, a picture, and where epsilon went.

Run it with `make demo`, or `python examples/accounting/compare_accountants.py --out out/demo`.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

import dpkit
from dpkit import Compose, Event, GaussianEvent, LaplaceEvent, Repeat, Subsample

DELTA = 1e-6


def workload() -> Event:
    """A small study: 30 noisy histograms, 200 noisy means, and 1,000 steps of training on samples of 1%."""
    return Compose(
        events=(
            Repeat(event=LaplaceEvent(ratio=0.05), times=30),
            Repeat(event=GaussianEvent(ratio=0.05), times=200),
            Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=0.8)), times=1000),
        )
    )


def workloads() -> dict[str, Event]:
    """The public workloads of the literature, and the study above."""
    return {
        "40 Laplace releases, ratio 0.15": Repeat(event=LaplaceEvent(ratio=0.15), times=40),
        "1,000 Gaussian releases, ratio 0.05": Repeat(event=GaussianEvent(ratio=0.05), times=1000),
        "a study: histograms, means, sampled training": workload(),
    }


def table() -> str:
    """Epsilon of each workload under each accountant, at one delta."""
    names = dpkit.default_registry().accountant_names
    width = max(len(title) for title in workloads())
    lines = [f"epsilon at delta = {DELTA:g}, add-remove", ""]
    lines.append(" " * width + "".join(f"{name:>10}" for name in names))
    for title, event in workloads().items():
        cells = []
        for name in names:
            try:
                # rounded up: a printed bound is a bound, too
                cells.append(f"{math.ceil(dpkit.account(event, name).epsilon(delta=DELTA) * 1e4) / 1e4:>10.4f}")
            except dpkit.UnpricedEventError:
                cells.append(f"{'-':>10}")
        lines.append(f"{title:<{width}}" + "".join(cells))
    lines += [
        "",
        "-  no theorem of that accountant prices this composition",
        "",
        "Where epsilon went in the study, by `best`:",
        "",
    ]
    lines.append(str(dpkit.account(workload(), "best").explain(delta=DELTA)))
    return "\n".join(lines)


def picture(path: Path) -> None:
    """epsilon(delta) of the 40 Laplace releases, one curve an accountant."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    event = workloads()["40 Laplace releases, ratio 0.15"]
    deltas = np.logspace(-12, -2, 60)
    figure, axes = plt.subplots(figsize=(8, 4.8), layout="constrained")
    styles = {"best": {"color": "black", "linewidth": 3.0, "alpha": 0.35, "zorder": 1}}
    for name in dpkit.default_registry().accountant_names:
        try:
            guarantee = dpkit.account(event, name)
        except dpkit.UnpricedEventError:
            continue
        curve = [guarantee.epsilon(delta=float(delta)) for delta in deltas]
        axes.plot(deltas, curve, label=name, **styles.get(name, {"linewidth": 1.6}))
    axes.set(xscale="log", xlabel="delta", ylabel="epsilon (upper bound)", title="40 Laplace releases of ratio 0.15")
    axes.set_ylim(bottom=0.0)
    axes.grid(alpha=0.25)
    axes.legend(title="accountant", ncols=2)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Print the table, write it and the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the table and the picture")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    text = table()
    print(text)
    (out / "accountants.txt").write_text(text + "\n", encoding="utf-8")
    picture(out / "accountants.png")
    print(f"\nwritten: {out / 'accountants.txt'}, {out / 'accountants.png'}")


if __name__ == "__main__":
    main()
