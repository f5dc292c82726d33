"""What `dpkit run` of one mean passes: the files and functions of dpkit that are called, by folder. Imports are not counted.

`python tests/tracing/trace_run.py` prints the numbers that docs/architecture.md shows; `--functions` prints every function.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

from click.testing import CliRunner

import dpkit
from dpkit.cli import main

ROOT = Path(dpkit.__file__).parent

ANALYSIS = """\
dpkit: 1
data:
  source: people.csv
  neighbours: replace-one
  rows: 1000
  columns:
    age: [0, 100]
budget: {epsilon: 1, delta: 1e-6, accountant: zcdp, ledger: people.ledger}
steps:
  - {id: average, run: mean, with: {column: age}}
"""


@dataclass
class Trace:
    """The named functions that were called, each once, by its file below dpkit/. What is inside a function belongs to it."""

    functions: set[tuple[str, str]] = field(default_factory=set)

    @property
    def files(self) -> set[str]:
        """The files whose functions were called."""
        return {file for file, _ in self.functions}

    def by_folder(self) -> list[tuple[str, int, int]]:
        """Each folder with its files and functions, the biggest first."""
        files = Counter(str(Path(file).parent) for file in self.files)
        functions = Counter(str(Path(file).parent) for file, _ in self.functions)
        return sorted(((folder, files[folder], functions[folder]) for folder in files), key=lambda row: -row[2])


@contextmanager
def tracing() -> Iterator[Trace]:
    """Note every call of a function of dpkit. Whatever a module does while it is imported is left out."""
    trace = Trace()
    importing: list[FrameType] = []
    inside = f"{ROOT}/"

    def note(frame: FrameType, what: str, _: object) -> None:
        code: CodeType = frame.f_code
        if importing:
            if what == "return" and frame is importing[-1]:
                importing.pop()
            return
        if what != "call":
            return
        if code.co_name == "<module>":
            importing.append(frame)
        elif code.co_filename.startswith(inside) and "<" not in code.co_qualname:
            trace.functions.add((code.co_filename.removeprefix(inside), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield trace
    finally:
        sys.setprofile(before)


def trace_run(folder: Path) -> Trace:
    """Run one mean on a new ledger, by the command line, and trace the run."""
    # so many rows that no noise makes the interval as wide as the range: a note of that would pass more functions
    (folder / "people.csv").write_text("age\n" + 250 * "20\n30\n40\n50\n")
    (folder / "analysis.yaml").write_text(ANALYSIS)
    ledger = ["ledger", "create", str(folder / "people.ledger"), "--dataset", "people", "--neighbours", "replace-one"]
    invoke([*ledger, "--epsilon", "1", "--delta", "1e-6", "--accountant", "zcdp"])
    with tracing() as trace:
        invoke(["run", str(folder / "analysis.yaml"), "--yes"])
    return trace


def invoke(arguments: list[str]) -> None:
    """One command, which succeeds."""
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code == 0, answer.output


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        found = trace_run(Path(name))
    print(f"{len(found.files)} files, {len(found.functions)} functions")
    for folder, files, functions in found.by_folder():
        print(f"{folder:24s} {files:3d} files {functions:4d} functions")
    if "--functions" in sys.argv:
        for file, function in sorted(found.functions):
            print(f"{file:40s} {function}")
