"""CPU time of commands, beside `python -c "import numpy, scipy.special"` in the same run: what an analyst waits for.

Bytecode is written in a first run that is not counted, into a folder of its own, so that all are measured as installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpkit import InvalidValueError
from dpkit_bench.progress import measured

LEVELS = ("UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX", "other")
BASE = ("-c", "import numpy, scipy.special")
BARS = {"check": 1.5, "plugins": 1.5, "plan": 3.0, "run": 8.0}
"""What each command should take at most, as a multiple of the import."""

ANALYSIS = """\
dpkit: 1
data:
  source: flights.csv
  neighbours: replace-one
  rows: {rows}
  columns:
    arr_delay: [-60, 180]
    dep_delay: [-30, 180]
    distance: [0, 3000]
    hour: [0, 24]
    carrier: {{levels: [{levels}], unknown: other}}
budget: {{epsilon: 1.0, delta: 1e-6, ledger: flights.ledger}}
steps:
  - {{id: fit, run: irls, share: 3, with: {{target: arr_delay, features: [dep_delay, distance, hour, carrier]}}}}
  - {{id: delays, run: quantiles, with: {{column: arr_delay, probabilities: [0.1, 0.5, 0.9]}}}}
report: report.html
"""

HUBER = """\
import csv, sys
import numpy as np
from sklearn.linear_model import HuberRegressor
levels = sys.argv[2].split(",")
rows = []
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        try:
            rows.append([float(row[name]) for name in ("arr_delay", "dep_delay", "distance", "hour")]
                        + [levels.index(row["carrier"]) if row["carrier"] in levels else len(levels) - 1])
        except ValueError:
            pass
found = np.array(rows)
x = np.column_stack([found[:, 1:4], found[:, 4:] == np.arange(1, len(levels))])
x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
HuberRegressor(max_iter=1000).fit(x, found[:, 0])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """CPU seconds of a command, the median of its runs, and how many times the import's; `bar` is the most it should be."""

    name: str
    seconds: float
    spread: float
    ratio: float
    bar: float | None = None


def measure_commands(
    rows: int, repeats: int, *, demo: str | None = None, quick: bool = False
) -> tuple[list[CommandRow], list[str]]:
    """Each command of the demo, alternated with the import; and notes on what was left out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = _prepared(folder, rows, demo)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"OPENBLAS_NUM_THREADS": "1"} | ({} if quick else {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")})
        notes = [] if given else [f"On {rows} made-up rows: `--demo FOLDER` takes what `examples/flights/prepare.py` wrote."]
        has_peer = not quick and importlib.util.find_spec("sklearn") is not None
        if not has_peer:
            notes.append("HuberRegressor was not measured: with `--quick`, or where scikit-learn is not installed.")
        taken: dict[str, list[float]] = {}
        for turn in range(1 if quick else 0, repeats + 1):  # the first run warms up
            measured(f"run {turn + 1} of {repeats + 1}")
            for what, seconds in _one_of_each(folder, environment, has_peer=has_peer):
                taken.setdefault(what, []).extend([seconds] if turn else [])
    base = statistics.median(taken["import"])
    return [_row(what, seconds, base) for what, seconds in taken.items()], notes


def _row(what: str, seconds: Sequence[float], base: float) -> CommandRow:
    middle = statistics.median(seconds)
    return CommandRow(
        name=what, seconds=middle, spread=(max(seconds) - min(seconds)) / middle, ratio=middle / base, bar=BARS.get(what)
    )


def _one_of_each(folder: Path, environment: dict[str, str], *, has_peer: bool) -> Iterator[tuple[str, float]]:
    for old in (*folder.glob("flights.ledger*"), *folder.glob("analysis-*.json"), *folder.glob("report.html")):
        old.unlink()
    start = ("-c", "from dpkit.cli.start import start; start()")
    ledger = ("flights.ledger", "--dataset", "flights", "--epsilon", "2", "--delta", "1e-6", "--neighbours", "replace-one")
    _cpu((*start, "ledger", "create", *ledger), folder, environment)
    yield "import", _cpu(BASE, folder, environment)
    yield "plugins", _cpu((*start, "plugins"), folder, environment)
    yield "check", _cpu((*start, "check", "analysis.yaml"), folder, environment)
    yield "plan", _cpu((*start, "plan", "analysis.yaml"), folder, environment)
    yield "run", _cpu((*start, "run", "analysis.yaml", "--yes"), folder, environment)
    if has_peer:
        yield "HuberRegressor", _cpu(("-c", HUBER, "flights.csv", ",".join(LEVELS)), folder, environment)


def _cpu(arguments: Sequence[str], folder: Path, environment: dict[str, str]) -> float:
    """CPU seconds of a Python of its own, user and system; an error where it fails."""
    before = os.times()
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    after = os.times()
    if done.returncode != 0:
        found = done.stderr.strip().splitlines()[-1:] or ["nothing was said"]
        raise InvalidValueError(field="command", found=found[0], allowed="a command that succeeds", where="bench commands")
    return after.children_user - before.children_user + after.children_system - before.children_system


def _prepared(folder: Path, rows: int, demo: str | None) -> bool:
    """The demo's files in this folder, as they were given or made up; whether they were given."""
    if demo is not None:
        for name in ("analysis.yaml", "flights.csv"):
            if not (Path(demo) / name).is_file():
                allowed = "a folder that `python examples/flights/prepare.py FOLDER` wrote"
                raise InvalidValueError(field="demo", found=demo, allowed=allowed, where="bench commands")
            shutil.copy(Path(demo) / name, folder)
        return True
    rng = np.random.default_rng(25)
    departure = np.round(np.clip(rng.exponential(20.0, rows) - 10.0, -30.0, 600.0))
    arrival = np.round(departure + rng.normal(-5.0, 18.0, rows))
    distance, hour = rng.integers(100, 2600, rows), rng.integers(5, 24, rows)
    carrier = rng.integers(0, len(LEVELS) - 1, rows)
    missing = rng.random(rows) < 0.03
    with (folder / "flights.csv").open("w", encoding="utf-8", newline="") as file:
        file.write("arr_delay,dep_delay,distance,hour,carrier\n")
        for place in range(rows):
            delays = "," if missing[place] else f"{arrival[place]:.0f},{departure[place]:.0f}"
            file.write(f"{delays},{distance[place]},{hour[place]},{LEVELS[carrier[place]]}\n")
    (folder / "analysis.yaml").write_text(ANALYSIS.format(rows=rows, levels=", ".join(LEVELS)), encoding="utf-8")
    return False


def as_markdown(rows: Sequence[CommandRow]) -> str:
    """A table: CPU seconds with their spread, and how many times the import that is."""
    lines = ["| command | CPU seconds | spread | times the import | bar |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.name} | {row.seconds:.2f} | {row.spread:.0%} | {row.ratio:.1f} | {'' if row.bar is None else f'{row.bar:g}'} |"
        for row in rows
    ]
    return "\n".join(lines)
