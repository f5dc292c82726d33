"""`dpkit --debug` shows authors what their code raised, on made-up data, and nothing on data."""

import os

import pytest
from click.testing import CliRunner

import dpkit
from dpkit.cli import main
from dpkit.data.summing.sums import plan_sums
from dpkit.debugging import VARIABLE, made_up

ANALYSIS = """
dpkit: 1
data: {source: rows.csv, columns: {x: {lower: 0, upper: 1}}}
budget: {epsilon: 1, delta: 1e-6}
steps: [{id: n, run: count}]
"""


def failing(block):
    raise RuntimeError(f"the canary {block[0, 0]}")


def summed():
    query = dpkit.Query(
        name="broken",
        rows=failing,
        shape=(),
        sensitivity=lambda relation: (dpkit.l1(1.0),),
        because=dpkit.Citation(key="dpkit", locator="a test"),
    )
    return plan_sums([query], ("x",)).partial(dpkit.authoring.asfloat([[0.25], [0.5]]))


def test_what_a_query_raises_is_shown_on_made_up_data_only(capsys, monkeypatch):

    monkeypatch.setenv(VARIABLE, "1")
    summed()
    assert capsys.readouterr().err == ""
    with made_up():
        summed()
    shown = capsys.readouterr().err
    assert shown.count("RuntimeError: the canary") == 1  # one place, however many rows
    assert "`rows` of the query 'broken'" in shown
    monkeypatch.delenv(VARIABLE)
    with made_up():
        summed()
    assert capsys.readouterr().err == ""


def test_what_a_hook_raises_is_shown(capsys, monkeypatch):
    class Bad:
        @dpkit.hookimpl
        def dpkit_queries():
            return 1 / 0

    dpkit.load_plugins(discover=False, extra={"bad": Bad})
    assert capsys.readouterr().err == ""
    monkeypatch.setenv(VARIABLE, "1")
    dpkit.load_plugins(discover=False, extra={"bad": Bad})
    assert "dpkit_queries of the plugin 'bad' raised" in (shown := capsys.readouterr().err)
    assert "return 1 / 0" in shown


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
