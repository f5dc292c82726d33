"""Five jobs by dpkit and by other libraries, run: writes the tables of docs/compare.md between its marks.

    python examples/compare/compare.py --data out/bench --into docs/compare.md --dpkit .venv/bin/python --opendp PYTHON ...

Each library has an interpreter of its own, given by its name; one that is not given is left out, and the page says so. CPU
time is that of the whole process, with reading the rows, the median of three; errors are medians of several answers.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = {
    "dpkit": "dpkit",
    "opendp": "OpenDP",
    "tumult": "Tumult Analytics",
    "diffprivlib": "diffprivlib",
    "dp_accounting": "dp-accounting",
    "dp_recorder": "dp-recorder",
}
JOBS = {
    "mean": ("mean of a bounded column, epsilon 1", "minutes"),
    "counts": ("counts in 11 declared groups, epsilon 1", "rows, the largest of 11"),
    "median": ("median of a bounded column, epsilon 1", "minutes"),
    "regression": ("regression on three features, epsilon 1", "mean absolute residual, minutes"),
    "price": ("price of 1,000 sampled Gaussian steps at delta 1e-6", "epsilon"),
}
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


def main() -> None:
    """Run what was given, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with flights.csv, from examples/flights/prepare.py")
    parser.add_argument("--into", type=Path, required=True, help="the page whose tables are written")
    parser.add_argument("--times", type=int, default=9, help="how many answers an error is the median of")
    for library in LIBRARIES:
        parser.add_argument(f"--{library.replace('_', '-')}", dest=library, help="its Python")
    given = vars(parser.parse_args())
    truth = exact(given["data"] / "flights.csv")
    versions: dict[str, str] = {}
    cells: dict[tuple[str, str], str] = {}
    for library, name in LIBRARIES.items():
        for job in JOBS if given[library] else ():
            times = 3 if library == "tumult" else given["times"]
            found, seconds = run(given[library], library, job, given["data"], times)
            versions[library] = found["version"]
            if "failed" in found:
                cells[job, library] = f"{found['lines']} | raised {found['failed']} | "
            elif found["lines"] is not None:
                error = statistics.median(error_of(job, answer, truth) for answer in found["answers"])
                cells[job, library] = f"{found['lines']} | {error:.3g} | {seconds:.1f}"
            print(name, job, cells.get((job, library), "not offered"), file=sys.stderr)
    page = given["into"].read_text(encoding="utf-8")
    start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
    given["into"].write_text(page[:start] + "\n" + tables(versions, cells, truth) + "\n" + page[stop:], encoding="utf-8")


def run(python: str, library: str, job: str, data: Path, times: int) -> tuple[dict, float]:
    """Many answers of one job; and the CPU seconds of a process that gives one, the median of three."""
    command = [python, str(HERE / "jobs" / "run_job.py"), library, job, str(data)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYSPARK_PYTHON": python}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    first = subprocess.run([*command, str(times)], capture_output=True, text=True, check=True, env=environment)
    taken = []
    for _ in range(1 if library == "tumult" else 3):
        before = os.times()
        subprocess.run([*command, "1"], capture_output=True, check=True, env=environment)
        after = os.times()
        taken.append(after.children_user - before.children_user + after.children_system - before.children_system)
    return json.loads(first.stdout.splitlines()[-1]), statistics.median(taken)


def exact(path: Path) -> dict:
    """The answers without privacy; least squares for the regression, as a yardstick of its residuals."""
    import numpy as np

    carriers: dict[str, int] = {}
    rows = []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            carriers[row["carrier"]] = carriers.get(row["carrier"], 0) + 1
            if row["arr_delay"] != "NA" and row["dep_delay"] != "NA":
                rows.append([float(row[name]) for name in ("arr_delay", "dep_delay", "distance", "hour")])
    found = np.clip(np.array(rows), [-60.0, -30.0, 0.0, 0.0], [180.0, 180.0, 3000.0, 24.0])
    x = np.column_stack([found[:, 1:], np.ones(len(found))])
    fit = np.linalg.lstsq(x, found[:, 0], rcond=None)[0]
    return {
        "mean": float(np.mean(found[:, 0])),
        "median": float(np.median(found[:, 0])),
        "carriers": carriers,
        "x": x,
        "y": found[:, 0],
        "least squares": float(np.mean(np.abs(found[:, 0] - x @ fit))),
    }


def error_of(job: str, answer: object, truth: dict) -> float:
    """How far an answer is from the exact one; of a regression the mean absolute residual, of a price the price itself."""
    import numpy as np

    if job == "price":
        return float(answer)
    if job == "regression":
        return float(np.mean(np.abs(truth["y"] - truth["x"] @ np.array(answer))))
    if job == "counts":
        named = ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX"]
        known = [truth["carriers"][name] for name in named]
        return max(abs(found - right) for found, right in zip(answer[:10], known, strict=True))
    return abs(answer - truth[job])


def tables(versions: dict[str, str], cells: dict[tuple[str, str], str], truth: dict) -> str:
    """One table a job, and one of versions."""
    day = datetime.now(tz=UTC).date().isoformat()
    lines = [f"Run on {day}, Python {sys.version.split()[0]}.", "", "| library | version |", "|---|---|"]
    lines += [
        f"| {name} | {versions.get(key, 'not run: it could not be installed from the index at hand')} |"
        for key, name in LIBRARIES.items()
    ]
    for job, (what, unit) in JOBS.items():
        lines += ["", f"### {what[0].upper()}{what[1:]}", ""]
        lines += [f"| library | lines | {unit} | CPU seconds |", "|---|---|---|---|"]
        for key, name in LIBRARIES.items():
            if key in versions:
                lines.append(f"| {name} | {cells.get((job, key), 'not offered | | ')} |")
        if job == "regression":
            lines.append(f"| least squares, not private | | {truth['least squares']:.3g} | |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
