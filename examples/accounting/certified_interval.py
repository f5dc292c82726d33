"""The certified interval of `pld` against delta on the public workloads, beside what the other accountants say.

Run it with `python examples/accounting/certified_interval.py --out out/demo` (about a minute).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import matplotlib
import numpy as np
from dpkit_bench.accounting import workloads

import dpkit

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OTHERS = {"pure": "tab:blue", "advanced": "tab:orange", "zcdp": "tab:green", "rdp": "tab:red", "gdp": "tab:purple"}


def curves(event: dpkit.Event, deltas: np.ndarray, accountants: Iterable[str]) -> dict[str, list[float]]:
    """Epsilon at each delta, for the accountants that can price the event."""
    found = {}
    for name in accountants:
        try:
            guarantee = dpkit.account(event, name)
        except dpkit.UnpricedEventError:
            continue
        found[name] = [guarantee.epsilon(delta=float(delta)) for delta in deltas]
    return found


def picture(path: Path, *, points: int, limit: int | None = None) -> None:
    """One panel a workload; the interval is drawn, though it is thinner than its line."""
    chosen = list(workloads().items())[:limit]
    figure, panels = plt.subplots(2, 3, figsize=(13, 7.2), layout="constrained")
    deltas = np.logspace(-30, -3, points)
    for panel, (name, (event, _)) in zip(panels.flat, chosen, strict=False):
        for other, curve in curves(event, deltas, OTHERS).items():
            panel.plot(deltas, curve, linewidth=1.3, label=other, color=OTHERS[other])
        certified = dpkit.account(event, "pld")
        bounds = np.array([certified.interval(delta=float(delta)) for delta in deltas])
        panel.fill_between(deltas, bounds[:, 0], bounds[:, 1], color="black", alpha=0.4)
        panel.plot(deltas, bounds[:, 1], color="black", linewidth=1.8, label="pld [lower, upper]")
        widest = float(np.max(bounds[:, 1] - bounds[:, 0]))
        panel.set(xscale="log", title=f"{name}\nwidest interval {widest:.1e}", xlabel="delta", ylabel="epsilon")
        panel.set_ylim(bottom=0.0)
        panel.grid(alpha=0.25)
        panel.legend(fontsize=8)
    for panel in panels.flat[len(chosen) :]:
        panel.set_axis_off()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the picture")
    parser.add_argument("--points", type=int, default=19, help="deltas, from 1e-30 to 1e-3")
    parser.add_argument("--limit", type=int, default=None, help="draw only the first LIMIT workloads")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    target = arguments.out / "certified.png"
    picture(target, points=arguments.points, limit=arguments.limit)
    print(f"written: {target}")


if __name__ == "__main__":
    main()
