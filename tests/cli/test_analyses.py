"""The verbs of an analysis: exit codes, JSON, files, and no traceback for anybody's mistake."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import dpkit
from dpkit.cli import VERBS as VERBS_TABLE
from dpkit.cli import main
from dpkit.hooks.manager import installed_plugins

ROOT = Path(__file__).parent.parent.parent
LITTLE = ROOT / "tests" / "analysis" / "little.py"
CANARY = "41.7093817261"
YAML = """\
dpkit: 1
data:
  source: people.csv
  columns:
    age: [0, 100]
budget:
  epsilon: 1.0
  delta: 1e-6
  accountant: zcdp
steps:
  - id: ages
    run: total
    with: {column: age, passes: 3}
report: out/report.html
"""
VERBS = ("init", "check", "plan", "run", "explain", "compare", "schema")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The small plugin, installed: metadata and module in a folder on sys.path."""
    folder = tmp_path / "site"
    info = folder / "dpkit_little-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(LITTLE, folder / "dpkit_little.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dpkit-little\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[dpkit]\nlittle = dpkit_little\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    installed_plugins.cache_clear()
    yield folder
    sys.modules.pop("dpkit_little", None)
    installed_plugins.cache_clear()


@pytest.fixture
def analysis(site, tmp_path):
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(map(str, range(20, 70))) + f"\n{CANARY}\n", encoding="utf-8")
    path = tmp_path / "analysis.yaml"
    path.write_text(YAML, encoding="utf-8")
    return path


def changed(path, *changes):
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def run(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.output


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_and_json(verb):
    text = run(verb, "--help")
    assert f"Example: dpkit {verb}" in text
    assert "--json" in text


def test_the_list_of_verbs_says_what_they_say():
    text = run("--help")
    for name, (module, attribute, said) in VERBS_TABLE.items():
        command = getattr(importlib.import_module(module), attribute)
        assert command.name == name
        assert name in text
        words = " ".join(command.help.split())
        assert words.startswith(said.rstrip(".").split(",")[0]), name


@pytest.mark.parametrize("verb", ["check", "plan", "explain", "compare", "run"])
def test_every_verb_answers_in_text_and_in_json(analysis, verb):
    assert len(run(verb, analysis)) > 20
    json.loads(run(verb, analysis, "--json"))


def test_every_mistake_is_listed_and_exit_code_2(analysis):
    changed(analysis, ("epsilon: 1.0", "epsilon: -1"), ("passes: 3", "pases: 3"))
    for verb in ("check", "plan", "run", "explain", "compare"):
        text = run(verb, analysis, code=2)
        assert "analysis.yaml:7:12" in text
        assert "Did you mean 'passes'?" in text
    problems = json.loads(run("check", analysis, "--json", code=2))["problems"]
    assert [problem["path"] for problem in problems] == ["budget.epsilon", "steps[0].with.pases"]


def test_a_file_that_is_missing_is_a_message(tmp_path):
    assert "there is no such file" in run("check", tmp_path / "no.yaml", code=2)


def test_a_plan_that_cannot_be_is_exit_code_1(analysis):
    changed(analysis, ("accountant: zcdp", "accountant: pure"))
    assert "Nothing was spent" in run("plan", analysis, code=1)
    assert json.loads(run("plan", analysis, "--json", code=1))["error"] == "PlanRefusedError"


def test_a_run_writes_three_files_and_ends_with_the_guarantee(analysis, tmp_path):
    text = run("run", analysis)
    assert "differentially private" in text
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "result.json", "trace.json"]
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
    assert names == ["simulation-report.html", "simulation-result.json", "simulation-trace.json"]
    assert all("simulation" in path.read_text().lower() for path in (tmp_path / "out").iterdir())


@pytest.fixture
def ledger(analysis, tmp_path):
    path = tmp_path / "people.ledger"
    run("ledger", "create", path, "--dataset", "people", "--epsilon", "1.2", "--delta", "1e-6")
    changed(analysis, ("accountant: zcdp", "accountant: zcdp\n  ledger: people.ledger"))
    return path


def spent(path):
    with dpkit.Ledger.open(path) as opened:
        return opened.spent().rho


def test_a_ledger_is_charged_only_with_consent(analysis, ledger):
    assert "--yes" in run("run", analysis, code=2)
    assert spent(ledger) == 0.0
    first = json.loads(run("run", analysis, "--yes", "--json"))
    paid = spent(ledger)
    assert paid > 0.0
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


def test_a_ledger_may_be_bound_to_the_declared_columns(analysis, tmp_path):
    schema = json.loads(run("check", analysis, "--json"))["schema"]
    options = ("--dataset", "people", "--epsilon", "2", "--delta", "1e-6", "--schema", schema)
    run("ledger", "create", tmp_path / "people.ledger", *options)
    changed(analysis, ("accountant: zcdp", "ledger: people.ledger"))
    run("plan", analysis)
    changed(analysis, ("age: [0, 100]", "age: [0, 90]"))
    assert "`schema`" in run("plan", analysis, code=2)


def test_a_budget_that_is_gone_says_what_was_asked_spent_and_left(analysis, ledger):
    run("run", analysis, "--yes")
    changed(analysis, ("passes: 3", "passes: 4"))
    text = run("run", analysis, "--yes", code=1)
    for word in ("asked", "spent", "left", "nearest plan"):
        assert word in text
    assert "Error" in run("run", analysis, "--yes", "--again", code=1)


def test_the_ledger_of_another_dataset_is_exit_code_2(analysis, ledger):
    changed(analysis, ("source: people.csv", "source: people.csv\n  name: flights"))
    assert "'people', and 'flights' was given" in run("plan", analysis, code=2)


def test_a_ledger_that_is_missing_is_a_message(analysis):
    changed(analysis, ("accountant: zcdp", "ledger: none.ledger"))
    assert "no such file" in run("plan", analysis, code=2)


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


def test_compare_draws_a_picture(analysis, tmp_path):
    picture = tmp_path / "accountants.svg"
    text = run("compare", analysis, "--picture", picture)
    assert "gdp" in text
    assert picture.read_text().startswith("<svg")


def test_explain_names_theorems(analysis):
    text = run("explain", analysis)
    assert "100.00%  step 'ages'" in text
    assert "BS16" in text


def test_an_analysis_is_audited_at_its_own_parameters(analysis, tmp_path):
    (tmp_path / "people.csv").unlink()
    assert "not refuted" in run("audit", analysis, "--samples", "2000", "--seed", "1")
    document = json.loads(run("audit", analysis, "--samples", "2000", "--seed", "1", "--json"))
    assert document["refuted"] is False
    assert document["queries"] == ["ages/total"]
    assert json.loads((tmp_path / "out" / "audit.json").read_text())["certificates"] == document["certificates"]


def test_the_report_shows_the_audit_of_its_own_analysis_and_no_other(analysis, tmp_path):
    report = tmp_path / "out" / "report.html"
    run("run", analysis)
    assert "No audit belongs to this run" in report.read_text()
    before = (tmp_path / "out" / "result.json").read_text()
    run("audit", analysis, "--samples", "2000", "--seed", "1")  # after the run: the report is filled in, nothing is run again
    assert "Nothing that this analysis relies on was refuted" in report.read_text()
    assert (tmp_path / "out" / "result.json").read_text() == before
    run("run", analysis)  # and before a run
    assert "Nothing that this analysis relies on was refuted" in report.read_text()
    changed(analysis, ("epsilon: 1.0", "epsilon: 0.9"))
    run("run", analysis)
    assert "belongs to another analysis" in report.read_text()


def test_a_certificate_that_was_changed_is_not_shown(analysis, tmp_path):
    run("audit", analysis, "--samples", "2000", "--seed", "1")
    written = tmp_path / "out" / "audit.json"
    changed(written, ('"verdict": "not refuted"', '"verdict": "refuted"'))
    run("run", analysis)
    assert "changed after it was written" in (tmp_path / "out" / "report.html").read_text()
    written.write_text("[]")
    run("run", analysis)
    assert "not the audit of an analysis" in (tmp_path / "out" / "report.html").read_text()


def test_the_schema_has_the_plugins_parts(site):
    schema = json.loads(run("schema"))
    assert "total" in schema["properties"]["steps"]["items"]["properties"]["run"]["enum"]
    assert "Error" in run("schema", "--only", "nothing", code=2)


def test_init_reads_names_only_and_leaves_bounds_to_the_analyst(analysis, tmp_path):
    path = tmp_path / "new.yaml"
    (tmp_path / "odd.csv").write_text('age,"no, really",yes\n41.7093817261,2,3\n', encoding="utf-8")
    run("init", tmp_path / "odd.csv", "--header", "--to", path, "--epsilon", "2")
    text = path.read_text()
    assert "# age: [LOWER, UPPER]" in text
    assert '# "no, really": [LOWER, UPPER]' in text
    assert '# "yes": [LOWER, UPPER]' in text
    assert "41.7" not in text
    complaints = run("check", path, code=2)
    assert "data.columns" in complaints
    assert "2 problems" in complaints
    changed(path, ("# age: [LOWER, UPPER]", "age: [0, 100]"), ("run: NAME", "run: total"), ("with: {}", "with: {column: age}"))
    run("plan", path)
    assert "already" in run("init", "--to", path, code=2)
    document = json.loads(run("init", tmp_path / "odd.csv", "--header", "--to", path, "--force", "--json", "--person", "yes"))
    assert document["columns"] == ["age", "no, really", "yes"]


def test_there_are_no_colours_in_a_pipe(analysis):
    for verb in ("check", "plan", "explain", "compare"):
        assert "\033[" not in run(verb, analysis)


def test_completion_is_offered_for_shells():
    environment = {**os.environ, "_DPKIT_COMPLETE": "bash_source"}
    command = [sys.executable, "-m", "dpkit.cli"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "_DPKIT_COMPLETE=bash_complete" in found.stdout


def test_the_quick_help_is_what_click_would_say():
    from dpkit.cli.start import quick_help

    said = CliRunner().invoke(main, ["--help"], prog_name="dpkit", terminal_width=78).output
    assert said == quick_help()


def test_help_imports_nothing_that_is_slow():
    """`dpkit --help` at most 8 times a bare Python: click alone is more than that, so the list of verbs does without."""
    code = (
        "import sys, dpkit.cli.start as it; sys.argv = ['dpkit', '--help']; it.start(); print(len(sys.modules), *sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert said.startswith("Usage: dpkit")
    count, *modules = said.splitlines()[-1].split()
    slow = {"click", "numpy", "yaml", "pluggy", "inspect", "dataclasses", "dpkit.errors"}
    assert not slow & set(modules)
    bare = "import sys; print(len(sys.modules))"
    few = int(subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, check=True).stdout)
    assert int(count) <= few + 45, set(modules)


def test_the_help_of_click_loads_no_numpy():
    code = (
        "import sys\nfrom dpkit.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print('numpy' in sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "plan" in result.stdout
    assert result.stderr.strip() == "False"
