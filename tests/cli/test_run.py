"""`dpkit run`: what it writes, what it asks before it charges, and that a failure before the data costs nothing."""

import json
import os
from types import SimpleNamespace

import pytest
from cli.invoking import CANARY, changed, run, spent
from click.testing import CliRunner

from dpkit.cli import main


def test_a_run_writes_three_files_and_ends_with_the_guarantee(analysis, tmp_path):
    text = run("run", analysis)
    assert "differentially private" in text
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["analysis-result.json", "analysis-trace.json", "report.html"]
    assert all(CANARY not in path.read_text() for path in (tmp_path / "out").iterdir())
    assert CANARY not in text


def test_a_dry_run_reads_and_writes_nothing(analysis, tmp_path):
    (tmp_path / "people.csv").unlink()
    assert "nothing was charged or read" in run("run", analysis, "--dry-run")
    assert not (tmp_path / "out").exists()


def test_a_simulation_is_stamped_everywhere(analysis, tmp_path):
    (tmp_path / "people.csv").unlink()
    assert "SIMULATION" in run("run", analysis, "--simulate")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["simulation-analysis-result.json", "simulation-analysis-trace.json", "simulation-report.html"]
    assert all("simulation" in path.read_text().lower() for path in (tmp_path / "out").iterdir())


def test_a_ledger_is_charged_only_with_consent(analysis, ledger):
    assert "--yes" in run("run", analysis, code=2)
    assert spent(ledger) == 0.0
    first = json.loads(run("run", analysis, "--yes", "--json"))
    paid = spent(ledger)
    assert paid > 0.0
    assert "The ledger adds rho, not epsilons" in run("run", analysis)
    again = json.loads(run("run", analysis, "--json"))  # it was paid before: no consent is needed, nothing is charged
    assert again["answers"] == first["answers"]
    assert spent(ledger) == paid


def test_on_a_terminal_it_asks(analysis, ledger, monkeypatch):
    monkeypatch.setattr("dpkit.cli.run.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    refused = CliRunner().invoke(main, ["run", str(analysis)], input="n\n")
    assert refused.exit_code == 1
    assert spent(ledger) == 0.0
    agreed = CliRunner().invoke(main, ["run", str(analysis)], input="y\n")
    assert agreed.exit_code == 0, agreed.output
    assert "Charge" in agreed.stderr
    assert spent(ledger) > 0.0


def test_a_budget_that_is_gone_says_what_was_asked_spent_and_left(analysis, ledger):
    run("run", analysis, "--yes")
    changed(analysis, ("passes: 3", "passes: 4"))
    text = run("run", analysis, "--yes", code=1)
    for word in ("asked", "spent", "left", "nearest plan"):
        assert word in text
    assert "Error" in run("run", analysis, "--yes", "--again", code=1)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "people.csv").unlink(), "people.csv"),
        (lambda folder: (folder / "people.csv").write_text("agee\n3\n"), "no column named 'age'"),
        (lambda folder: (folder / "out").write_text("a file"), "Cannot write"),
    ],
    ids=["file missing", "column missing", "no place for results"],
)
def test_what_fails_before_a_run_costs_nothing(analysis, ledger, tmp_path, spoil, said):
    spoil(tmp_path)
    assert said in run("run", analysis, "--yes", code=2)
    assert spent(ledger) == 0.0


def test_an_unreadable_parquet_file_is_a_message(analysis, tmp_path):
    (tmp_path / "people.parquet").write_bytes(b"no parquet")
    changed(analysis, ("people.csv", "people.parquet"))
    assert "people.parquet" in run("run", analysis, code=2)


def test_a_full_disk_after_the_run_still_shows_the_answers(analysis, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpkit.analysis.run_plan.check_writable", lambda path: None)
    monkeypatch.setattr(os, "replace", full)
    text = run("run", analysis, code=2)
    assert "total:" in text
    assert "No space left" in text


def test_an_interrupted_run_is_exit_code_1_and_keeps_what_it_has(analysis, monkeypatch):
    import signal

    from dpkit.release import driver

    # a test run in the background is started with interrupts ignored
    monkeypatch.setattr(driver.signal, "getsignal", lambda number: signal.default_int_handler)
    finite = driver.is_finite

    def press(state):
        monkeypatch.setattr(driver, "is_finite", finite)
        os.kill(os.getpid(), signal.SIGINT)
        return finite(state)

    monkeypatch.setattr(driver, "is_finite", press)
    text = run("run", analysis, code=1)
    assert "cancelled after 1 step)" in text


def test_the_report_shows_the_audit_of_its_own_analysis_and_no_other(analysis, tmp_path):
    report = tmp_path / "out" / "report.html"
    run("run", analysis)
    assert "No audit belongs to this run" in report.read_text()
    before = (tmp_path / "out" / "analysis-result.json").read_text()
    run("audit", analysis, "--samples", "2000", "--seed", "1")  # after the run: the report is filled in, nothing is run again
    assert "Nothing that this analysis relies on was refuted" in report.read_text()
    assert (tmp_path / "out" / "analysis-result.json").read_text() == before
    run("run", analysis)  # and before a run
    assert "Nothing that this analysis relies on was refuted" in (tmp_path / "out" / "report-2.html").read_text()
    changed(analysis, ("epsilon: 1.0", "epsilon: 0.9"))
    run("run", analysis)
    assert "belongs to another analysis" in (tmp_path / "out" / "report-3.html").read_text()


def test_a_certificate_that_was_changed_is_not_shown(analysis, tmp_path):
    run("audit", analysis, "--samples", "2000", "--seed", "1")
    written = tmp_path / "out" / "analysis-audit.json"
    changed(written, ('"verdict": "not refuted"', '"verdict": "refuted"'))
    run("run", analysis)
    assert "changed after it was written" in (tmp_path / "out" / "report.html").read_text()
    written.write_text("[]")
    run("run", analysis)
    assert "not the audit of an analysis" in (tmp_path / "out" / "report-2.html").read_text()
