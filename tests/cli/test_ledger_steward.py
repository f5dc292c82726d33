"""`dpkit ledger copy`, `approve`, `write-off`, and a run that waits: as a team uses them from the shell."""

import json
import threading
import time

import pytest
from click.testing import CliRunner

from dpkit.cli import main
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.steward import approve

ANALYSIS = """dpkit: 1
data:
  source: d.csv
  name: d
  rows: 200
  columns: {x: [0, 10]}
budget: {epsilon: 0.5, delta: 1e-6, ledger: d.ledger}
steps:
  - {id: m, run: mean, with: {column: x}}
"""


def shell(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    return result.output


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "d.csv").write_text("x\n" + "\n".join(str(row % 10) for row in range(200)) + "\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text(ANALYSIS, encoding="utf-8")
    return tmp_path


def create(folder, *more):
    shell("ledger", "create", folder / "d.ledger", "--dataset", "d", "--epsilon", 2, "--delta", 1e-6, *more)


def run_name(folder):
    with Ledger.open(folder / "d.ledger") as ledger:
        return next(entry.run for entry in ledger.entries() if entry.kind == "reserve")


def test_a_run_waits_for_its_approval(folder):
    create(folder, "--approve")
    said = shell("run", folder / "a.yaml", "--yes", "--no-wait", code=2)
    assert "waits for approval" in said
    run = run_name(folder)
    assert "cannot approve" in shell("ledger", "approve", folder / "d.ledger", run, "--yes", code=2)
    shown = shell("ledger", "approve", folder / "d.ledger", run)
    assert "price" in shown
    assert "not approved yet" in shown

    def later():
        time.sleep(1.0)
        with Ledger.open(folder / "d.ledger", who="boss") as ledger:
            approve(ledger, run)

    helper = threading.Thread(target=later)
    helper.start()
    document = json.loads(shell("run", folder / "a.yaml", "--yes", "--json").partition("{")[2].join(["{", ""]))
    helper.join()
    assert document["complete"]


def test_the_plan_is_shown_and_audited_before_it_is_approved(folder):
    create(folder, "--approve")
    shell("run", folder / "a.yaml", "--yes", "--no-wait", code=2)
    run = run_name(folder)
    shown = shell("ledger", "approve", folder / "d.ledger", run, "--analysis", folder / "a.yaml")
    assert "not refuted" in shown
    (folder / "a.yaml").write_text(ANALYSIS.replace("0.5", "0.6"), encoding="utf-8")
    assert "its `analysis` is" in shell("ledger", "approve", folder / "d.ledger", run, "--analysis", folder / "a.yaml", code=2)


def test_a_ledger_is_copied_and_the_old_one_is_closed(folder):
    create(folder)
    assert "--yes" in shell("ledger", "copy", folder / "d.ledger", folder / "new.ledger")
    assert not (folder / "new.ledger").exists()
    shell("ledger", "copy", folder / "d.ledger", folder / "new.ledger", "--yes")
    assert "closed for good" in shell("run", folder / "a.yaml", "--yes", code=2)
    (folder / "a.yaml").write_text(ANALYSIS.replace("d.ledger", "new.ledger"), encoding="utf-8")
    shell("run", folder / "a.yaml", "--yes")
    shell("ledger", "verify", folder / "new.ledger")


def test_a_restored_ledger_is_noticed_by_the_next_run(folder):
    create(folder)
    backup = (folder / "d.ledger").read_bytes()
    shell("run", folder / "a.yaml", "--yes")
    (folder / "d.ledger").write_bytes(backup)
    (folder / "b.yaml").write_text(ANALYSIS.replace("0.5", "0.3"), encoding="utf-8")
    said = shell("run", folder / "b.yaml", "--yes", code=2)
    assert "charges are missing" in said
    digest = said.partition("--since ")[2].split()[0]
    assert "repeat with --yes" in shell("ledger", "write-off", folder / "d.ledger", "--since", digest, "--rho", 0.02)
    shell("ledger", "write-off", folder / "d.ledger", "--since", digest, "--rho", 0.02, "--yes")
    shell("run", folder / "b.yaml", "--yes")
    shell("ledger", "verify", folder / "d.ledger")
