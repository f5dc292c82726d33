"""Files of the version before: ledgers in a write-ahead log, results, certificates. Each still opens, verifies and goes on."""

import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import dpkit
from dpkit import Ledger, Repeat
from dpkit.auditing.certificates.replay import replay
from dpkit.cli import main
from dpkit.errors import LedgerCorruptError
from dpkit.release.ledger.entries import Head
from dpkit.release.ledger.verify import export_lines, verify, verify_file

HERE = Path(__file__).parent / "written_before"


def made():
    spec = importlib.util.spec_from_file_location("written_before", HERE / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = made()


@pytest.fixture
def folder(tmp_path):
    """A copy: git keeps no times, and the stamp of the data has one."""
    shutil.copytree(HERE, tmp_path / "before", ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    os.utime(tmp_path / "before" / "analysis" / "people.csv", ns=(MADE.CHANGED, MADE.CHANGED))
    return tmp_path / "before"


def shell(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


def goes_on(path, unit, head):
    """Every run of the ledger is resumed, and what it had is there."""
    plan = Repeat(event=unit, times=4)
    with Ledger.open(path) as ledger:
        before = ledger.spent()
        assert ledger.reserve("finished", plan, analysis="one").resumed
        assert [ledger.charge("finished", unit, key=key).value for key in "ab"] == [MADE.VALUE] * 2
        assert ledger.charge("free", unit, key="a").value == 1.5
        assert ledger.reserve("interrupted", plan, analysis="two", data="stamp").resumed
        assert ledger.charge("interrupted", unit, key="a").value == MADE.VALUE
        assert ledger.spent() == before
        for key in "bcd":
            charge = ledger.charge("interrupted", unit, key=key)
            assert not charge.is_released
            ledger.released(charge, 2.5)
        ledger.close_run("interrupted")
        assert ledger.spent() != before
        ledger.reserve("more", Repeat(event=unit, times=1))
        ledger.charge("more", unit, key="a")
        with pytest.raises(dpkit.PlanExceededError):
            ledger.charge("more", unit, key="b")
        assert verify(ledger, head=head).ok
    assert verify_file(path, head=head).ok


@pytest.mark.parametrize("accountant", list(MADE.TERMS))
def test_a_ledger_of_each_accountant_is_opened_shown_verified_exported_and_resumed(folder, accountant):
    path, exported = folder / f"{accountant}.ledger", (folder / f"{accountant}.export").read_text()
    head = Head.from_json(exported)
    assert verify_file(path, head=head).ok
    shown = json.loads(shell("ledger", "show", path, "--entries", "--json"))
    assert shown["head"]["hash"] == head.hash
    assert len(shown["entries"]) == head.seq + 1
    shell("ledger", "verify", path, "--head", folder / f"{accountant}.export")
    assert shell("ledger", "export", path) == exported
    shell("audit", path)
    with Ledger.open(path) as ledger:
        assert ledger.terms.accountant.name == accountant
        assert "\n".join(export_lines(ledger)) + "\n" == exported
    goes_on(path, MADE.TERMS[accountant][1], head)


@pytest.mark.parametrize("first", ["verify", "show", "export", "audit", "charge"])
def test_what_a_killed_process_left_in_a_write_ahead_log_is_found_whoever_opens_it_first(folder, first):
    path, head = folder / "killed.ledger", Head.from_json((folder / "killed.head").read_text())
    assert (folder / "killed.ledger-wal").stat().st_size > 0
    if first == "audit":
        shell("audit", path)
    elif first != "charge":
        shell("ledger", first, path)
    with Ledger.open(path) as ledger:
        assert ledger.head() == head
    goes_on(path, MADE.TERMS["zcdp"][1], head)


@pytest.mark.parametrize("name", ["finished", "best"])
def test_an_analysis_that_was_run_gives_back_its_answers(folder, name):
    where = folder / "analysis"
    before = json.loads((where / name / "result.json").read_text())
    text = shell("run", where / f"{name}.yaml")
    assert "EARLIER RELEASE" in text
    after = json.loads((where / name / f"{name}-result.json").read_text())
    for part in ("run", "endings", "declared"):
        assert after[part] == before[part]
    for step, answer in before["answers"].items():  # errors and intervals may be read better than they were
        released = {key: value for key, value in answer.items() if key in ("estimate", "estimates")}
        assert released.items() <= after["answers"][step].items()
    assert json.loads((where / name / f"{name}-trace.json").read_text())["releases"]
    shell("audit", where / name / f"{name}-trace.json")
    shell("ledger", "verify", where / "people.ledger")


def test_an_analysis_that_was_killed_goes_on(folder):
    where = folder / "analysis"
    with Ledger.open(where / "people.ledger") as ledger:
        kinds = [entry.kind for entry in ledger.entries() if entry.run.startswith("interrupted")]
        assert kinds == ["reserve", "charge", "release", "charge"]
        first = next(entry for entry in ledger.entries() if entry.run.startswith("interrupted") and entry.kind == "release")
    assert "was interrupted" in shell("run", where / "interrupted.yaml", "--yes")
    with Ledger.open(where / "people.ledger") as ledger:
        entries = [entry for entry in ledger.entries() if entry.run.startswith("interrupted")]
    assert [entry.value for entry in entries if entry.key == first.key and entry.kind == "release"] == [first.value]
    assert entries[-1].kind == "close"
    shell("ledger", "verify", where / "people.ledger")


def test_its_audit_stands_in_the_report(folder):
    where = folder / "analysis"
    shell("run", where / "finished.yaml")
    assert "Nothing that this analysis relies on was refuted" in (where / "finished" / "report.html").read_text()


def test_the_traces_of_before_are_audited(folder):
    for name in ("finished", "best"):
        shell("audit", folder / "analysis" / name / "trace.json")


@pytest.mark.parametrize("name", ["mechanism", "refuted"])
def test_certificates_are_read_and_replayed(folder, name):
    written = json.loads((folder / "analysis" / f"{name}.certificates.json").read_text())["certificates"]
    for one in written:
        certificate = dpkit.AuditCertificate.from_json(json.dumps(one))
        assert certificate.intact
        assert certificate.refuted == (name == "refuted" and one["verdict"] == "refuted")
    found = replay(dpkit.AuditCertificate.from_json(json.dumps(written[0])))
    assert found.confirmed, found.differences


def test_the_log_of_another_ledger_of_that_time_replaces_nothing(tmp_path):
    path, log = tmp_path / "a.ledger", tmp_path / "a.ledger-wal"
    shutil.copy(HERE / "zcdp.ledger", path)
    shutil.copy(HERE / "killed.ledger-wal", log)
    before = path.read_bytes(), log.read_bytes()
    with pytest.raises(LedgerCorruptError, match="belongs to another ledger"):
        Ledger.open(path)
    assert (path.read_bytes(), log.read_bytes()) == before
