"""`dpkit --debug run` is refused on data, and works on made-up data."""

import os

import pytest
from click.testing import CliRunner

from dpkit.cli import main
from dpkit.debugging import VARIABLE

ANALYSIS = """
dpkit: 1
data: {source: rows.csv, columns: {x: {lower: 0, upper: 1}}}
budget: {epsilon: 1, delta: 1e-6}
steps: [{id: n, run: count}]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pytest.importorskip("dpkit_stats")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("x\n0.5\n", encoding="utf-8")
    (tmp_path / "analysis.yaml").write_text(ANALYSIS, encoding="utf-8")
    return tmp_path


def test_a_run_on_data_is_refused_with_it(folder):
    run = CliRunner().invoke(main, ["--debug", "run", "analysis.yaml"])
    assert run.exit_code == 2
    assert "--simulate" in run.output
    assert not (folder / "out").exists()


def test_a_simulation_takes_it_and_leaves_the_environment_as_it_was(folder):
    run = CliRunner().invoke(main, ["--debug", "run", "--simulate", "analysis.yaml"])
    assert run.exit_code == 0, run.output
    assert VARIABLE not in os.environ
