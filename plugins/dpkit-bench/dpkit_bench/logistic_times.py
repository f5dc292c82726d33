"""How long a private logistic regression takes beside scikit-learn's (lbfgs) on the same rows: CPU and wall time, by design.

Each design has a process of its own, so that the first fit, which loads what is compiled, is told apart. Columns have no
bounds: units and places are found privately.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dpkit.authoring import Array
from dpkit_bench.peers import peer
from dpkit_bench.progress import measured

DESIGNS = ("normal", "AR(0.9)", "t3 features", "4% yes")
BAR = 2.0
"""How many times as long as the peer a fit should take at most."""
FEATURES = 10
SEED = 61_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRow:
    """Seconds, CPU and wall: of the first fit in a process, medians of later ones and of the peer, and ratios to the peer."""

    name: str
    rows: int
    first_cpu: float
    first_wall: float
    cpu: float
    wall: float
    peer_cpu: float
    peer_wall: float
    cpu_ratio: float
    wall_ratio: float


def rows_of(design: str, rows: int) -> tuple[Array, Array]:
    """Features, and answers of which 1 is yes."""
    rng = np.random.default_rng([SEED, rows, *design.encode()])
    x, slopes, constant = rng.normal(size=(rows, FEATURES)), np.full(FEATURES, FEATURES**-0.5), 0.0
    if design == "AR(0.9)":
        for place in range(1, FEATURES):
            x[:, place] = 0.9 * x[:, place - 1] + 0.19**0.5 * x[:, place]
    elif design.startswith("t3"):
        x = rng.standard_t(3, size=(rows, FEATURES))
    elif design.startswith("4%"):
        constant = -3.6
    chances = 1.0 / (1.0 + np.exp(-(x @ slopes + constant)))
    return x, (rng.random(rows) < chances).astype(np.float64)


def measure_times(
    *, rows: int = 1_000_000, repeats: int = 5, designs: Sequence[str] = DESIGNS
) -> tuple[list[TimeRow], tuple[str, ...]]:
    """Every design, in a process of its own; nothing but a note where scikit-learn is not there."""
    there, notes = peer("sklearn.linear_model", of="sklearn")
    found: list[TimeRow] = []
    if there is None:
        return found, notes
    for number, design in enumerate(designs):
        command = [sys.executable, "-m", "dpkit_bench.logistic_times", design, str(rows), str(repeats)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found.append(TimeRow(**json.loads(told)))
        measured(design, number + 1, len(designs))
    return found, notes


def times_of(design: str, rows: int, repeats: int) -> TimeRow:
    """Of one design, in this process: both by turns."""
    from dpkit_irls.estimator.logistic_regression import PrivateLogisticRegression
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found, import-untyped, unused-ignore]

    x, y = rows_of(design, rows)

    def ours() -> None:
        PrivateLogisticRegression(epsilon=1.0, delta=1e-6, classes=(0, 1)).fit(x, y)

    def theirs() -> None:
        LogisticRegression(max_iter=1_000).fit(x, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = _seconds(ours)
        _seconds(theirs)
        each = [(_seconds(ours), _seconds(theirs)) for _ in range(repeats)]
    (cpu, wall), (peer_cpu, peer_wall) = (
        tuple(statistics.median(seen[who][which] for seen in each) for which in (0, 1)) for who in (0, 1)
    )
    return TimeRow(
        name=design,
        rows=rows,
        first_cpu=first[0],
        first_wall=first[1],
        cpu=cpu,
        wall=wall,
        peer_cpu=peer_cpu,
        peer_wall=peer_wall,
        cpu_ratio=cpu / peer_cpu,
        wall_ratio=wall / peer_wall,
    )


def _seconds(work: Callable[[], None]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def as_markdown(rows: Sequence[TimeRow]) -> str:
    """A table for docs/benchmarks.md."""
    lines = [
        "| data | first fit, CPU s | wall s | later, CPU s | wall s | lbfgs, CPU s | wall s | CPU ratio | wall ratio | bar |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        seconds = (row.first_cpu, row.first_wall, row.cpu, row.wall, row.peer_cpu, row.peer_wall)
        cells = " | ".join(f"{each:.2f}" for each in seconds)
        lines.append(f"| {row.name}, N = {row.rows:,} | {cells} | {row.cpu_ratio:.2g} | {row.wall_ratio:.2g} | {BAR:g} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(asdict(times_of(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
