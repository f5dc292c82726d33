"""A whole analysis on two neighbouring files: as planned it stands, with less noise than it is priced by it falls."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from dpkit.analysis.plan import make_plan
from dpkit.analysis.reading.load import load
from dpkit.auditing.algorithms.end_to_end import WholeAnalysis, audit_end_to_end
from dpkit.cli import main
from dpkit.errors import InvalidValueError
from dpkit.release.ledger.ledger import Ledger

ANALYSIS = """\
dpkit: 1
data:
  source: A.csv
  neighbours: add-remove
  columns:
    age: [0, 100]
budget: {epsilon: 1.0, delta: 1e-6, ledger: people.ledger}
steps:
  - {id: sizes, run: count}
  - {id: ages, run: mean, with: {column: age}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "analysis.yaml").write_text(ANALYSIS)
    made = CliRunner().invoke(
        main, ["ledger", "create", str(tmp_path / "people.ledger"), "--dataset", "A", "--epsilon", "9", "--delta", "1e-6"]
    )
    assert made.exit_code == 0, made.output
    (tmp_path / "A.csv").write_text("age\n20\n30\n")
    (tmp_path / "B.csv").write_text("age\n20\n30\n100\n")
    return tmp_path


@pytest.fixture
def plan(folder):
    return make_plan(load(folder / "analysis.yaml"))


def test_an_output_is_everything_that_a_run_gives(plan, folder):
    one, two = WholeAnalysis(plan)(folder / "A.csv", 2, None)
    assert one.shape == two.shape
    assert one.size >= 3
    assert (one != two).any()
    with Ledger.open(folder / "people.ledger") as ledger:
        assert not [entry for entry in ledger.entries() if entry.is_paid]


def test_a_plan_stands_and_one_with_too_little_noise_falls(plan, folder):
    files = folder / "A.csv", folder / "B.csv"
    found = audit_end_to_end(plan, files, samples=160, seed=1)
    assert not found.refuted
    assert "one row more" in found.relation
    careless = replace(plan, steps=tuple(replace(step, noise=step.noise / 40.0) for step in plan.steps))
    assert audit_end_to_end(careless, files, samples=160, seed=1).refuted


def test_a_file_that_cannot_be_read_is_refused(plan, folder):
    (folder / "C.csv").write_text("height\n1\n")
    with pytest.raises(InvalidValueError, match="target") as refused:
        audit_end_to_end(plan, (folder / "C.csv", folder / "C.csv"), samples=100, seed=1)
    assert "height" not in str(refused.value)


@pytest.mark.slow
def test_the_command_line_adds_the_whole_to_the_parts(folder):
    files = [str(folder / name) for name in ("analysis.yaml", "A.csv", "B.csv")]
    found = CliRunner().invoke(main, ["audit", files[0], "--data", *files[1:], "--samples", "200", "--seed", "1"])
    assert found.exit_code == 0, found.output
    assert "end to end" in found.output
