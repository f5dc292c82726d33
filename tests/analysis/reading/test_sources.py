"""A source of a plugin, through its hook: named in YAML, opened with its parameters; its errors show nothing."""

import importlib.util
import types
from pathlib import Path

import numpy as np
import pytest

import dpkit
from dpkit.analysis.reading.load import load
from dpkit.contracts.table import Batch, Cells
from dpkit.errors import SourceError, SpecError
from dpkit.hooks.manager import load_plugins

CANARY = "8675309.25"
HERE = Path(__file__).parent
YAML = """\
dpkit: 1
data:
  source: people.csv
  columns:
    age: [0, 100]
    sex: {levels: [f, m]}
budget: {epsilon: 1.0, delta: 1e-6}
steps:
  - {id: ages, run: total, with: {column: age, passes: 2}}
"""


class Halves:
    """A table of a plugin's own: a number of rows, every other one missing."""

    names = ("age", "sex")

    def __init__(self, count):
        self._count = count

    def batches(self, names, rows):
        for start in range(0, self._count, rows):
            size = min(rows, self._count - start)
            missing = (np.arange(start, start + size) % 2).astype(bool)
            cells = {
                "age": Cells(values=np.full(size, 30.0), missing=missing),
                "sex": Cells(values=np.full(size, "f", dtype=object)),
            }
            yield Batch(rows=size, cells={name: cells[name] for name in names})


def refuses(count):
    raise ValueError(f"row 3: {CANARY}")


def plugin(make):
    count = dpkit.Parameter(name="count", kind="integer", doc="Rows.", minimum=0, examples=(4,))
    module = types.ModuleType("own")
    factory = dpkit.Factory(name="own", doc="Own.", make=make, parameters=(count,))
    module.dpkit_sources = dpkit.hookimpl(specname="dpkit_sources")(lambda: [factory])
    return module


@pytest.fixture
def run(folder):
    spec = importlib.util.spec_from_file_location("little_again", HERE.parent / "little.py")
    little = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(little)

    def carry_out(make, source="{run: own, with: {count: 4000}}"):
        text = YAML.replace("source: people.csv", f"source: {source}")
        (folder / "analysis.yaml").write_text(text, encoding="utf-8")
        found = load_plugins(discover=False, extra={"little": little, "own": plugin(make)})
        return load(folder / "analysis.yaml", installed=found).plan().run()

    return carry_out


def test_an_analysis_reads_the_source_of_a_plugin(run):
    result = run(lambda count: Halves(count))
    assert result.is_complete
    columns = run(lambda count: {"age": [30.0] * count, "sex": ["f"] * count})
    assert columns.is_complete


def test_parameters_are_checked_and_errors_show_nothing(run):
    with pytest.raises(SpecError, match="count"):
        run(Halves, source="{run: own, with: {cuont: 3}}")
    with pytest.raises(SourceError, match=r"could not open it \(ValueError\)") as caught:
        run(refuses)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("change", "content"),
    [
        ("people.csv\n  delimiter: ';'\n  decimal: ','\n  encoding: latin-1\n  quote: \"'\"", "age;sex;né\n'40,5';'f';1\n" * 1),
        ("people.csv\n  delimiter: '|'\n  quote: none", "age|sex\n40.5|f\n"),
        ('people.csv\n  delimiter: "\\t"', "age\tsex\n40.5\tf\n"),
        ("people.csv\n  delimiter: ' '", "age sex\n40.5 f\n"),
    ],
)
def test_how_a_csv_is_written_is_declared(loaded, folder, change, content):
    header, *rows = content.splitlines(keepends=True)
    (folder / "people.csv").write_bytes((header + "".join(rows) * 200).encode("latin-1"))
    total = loaded(("people.csv", change), ("epsilon: 1.0", "epsilon: 1000")).plan().run()["ages"]["total"]
    assert abs(total - 200 * 40.5) < 100


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ("people.csv\n  delimiter: ';;'", "data.delimiter"),
        ("people.csv\n  encoding: klingon", "data.encoding"),
        ("people.csv\n  quote: xx", "data.quote"),
        ("people.csv\n  decimal: ';'", "data.decimal"),
        ("people.parquet\n  quote: none", "data.quote"),
    ],
)
def test_what_no_csv_is_written_in_is_refused_at_its_line(loaded, change, path):
    with pytest.raises(SpecError) as caught:
        loaded(("people.csv", change))
    (problem,) = caught.value.problems
    assert problem.path == path
    assert problem.line > 2
