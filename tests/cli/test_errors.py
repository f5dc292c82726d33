"""Every mistake that an analyst makes, one by one: what is said, the exit code, and that nothing was spent."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import dpkit
from dpkit.cli import VERBS, main

ROOT = Path(__file__).parent.parent.parent
CSV = "age,city\n" + "\n".join(f"{20 + n % 50},{'ab'[n % 2]}" for n in range(400)) + "\n"
YAML = """\
dpkit: 1
data:
  source: people.csv
  neighbours: replace-one
  rows: 400
  columns:
    age: [0, 100]
    city: {levels: [a, b]}
budget: {epsilon: 1.0, delta: 1e-6, ledger: people.ledger}
steps:
  - {id: ages, run: mean, with: {column: age}}
report: out/report.html
"""

pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(CSV, encoding="utf-8")
    (tmp_path / "analysis.yaml").write_text(YAML, encoding="utf-8")
    said("ledger", "create", tmp_path / "people.ledger", "--dataset", "people", "--epsilon", "1.5", "--delta", "1e-6",
         "--neighbours", "replace-one")  # fmt: skip
    return tmp_path


def said(*arguments, code=0):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    return done.output


def changed(folder, *changes):
    text = YAML
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "analysis.yaml").write_text(text, encoding="utf-8")
    return folder / "analysis.yaml"


def spent(folder):
    with dpkit.Ledger.open(folder / "people.ledger") as ledger:
        return ledger.spent().rho


MISTAKES = {
    "file missing": ([("people.csv", "nobody.csv\n  name: people")], 2, "nobody.csv: there is no such file"),
    "column missing": ([("    age:", "    agee:"), ("column: age", "column: agee")], 2, "dpkit init FILE --header"),
    "column not declared": ([("column: age", "column: agw")], 2, "allowed: age, city. Did you mean 'age'?"),
    "bound that is a text": ([("[0, 100]", "[zero, 100]")], 2, "analysis.yaml:7:11: `data.columns.age.lower`: found the text"),
    "wrong type of column": ([("column: age", "column: city")], 2, "found 'city'; allowed: a column of numbers"),
    "negative epsilon": ([("epsilon: 1.0", "epsilon: -1")], 2, "`budget.epsilon`: found -1; allowed: a finite number > 0"),
    "epsilon that is no number": ([("epsilon: 1.0", "epsilon: .nan")], 2, "`budget.epsilon`: found nan"),
    "plugin missing": ([("dpkit: 1", "dpkit: 1\nplugins: [wavelets]")], 2, "pip install dpkit-wavelets"),
    "algorithm missing": ([("run: mean", "run: maen")], 2, "Did you mean 'mean'?"),
    "bounds missing": ([("age: [0, 100]", "age: {type: number}")], 2, "a number needs its 'lower' bound"),
    "number of rows wrong": ([("rows: 400", "rows: 401")], 2, "it has 400 rows, which are public here"),
    "ledger of another dataset": ([("people.csv", "people.csv\n  name: other")], 2, "'people', and 'other' was given"),
    "ledger missing": ([("people.ledger", "no.ledger")], 2, "dpkit ledger create"),
    "pure budget without pure noise": (
        [("delta: 1e-6", "delta: 0"), ("{column: age}", "{column: age, mechanism: gaussian}")], 1, "With `delta: 0` only pure"
    ),
    "over budget": ([("epsilon: 1.0", "epsilon: 1.9")], 1, "The nearest plan that fits: set `budget.epsilon` to"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_message_and_costs_nothing(folder, name):
    changes, code, message = MISTAKES[name]
    path = changed(folder, *changes)
    assert message in said("run", path, "--yes", code=code)
    problem = json.loads(said("run", path, "--yes", "--json", code=code))
    assert problem["error"].endswith("Error")
    assert spent(folder) == 0.0
    assert not (folder / "out" / "analysis-result.json").exists()


def test_the_nearest_plan_that_is_offered_fits(folder):
    text = said("plan", changed(folder, ("epsilon: 1.0", "epsilon: 1.9")), code=1)
    for word in ("asked", "spent", "left"):
        assert word in text
    offered = text.split("`budget.epsilon` to ")[1].split(". ")[0]
    said("plan", changed(folder, ("epsilon: 1.0", f"epsilon: {offered}")))
    said("plan", changed(folder, ("epsilon: 1.0", f"epsilon: {float(offered) * 1.02:g}")), code=1)


def test_an_installed_plugin_that_is_not_listed_is_named(folder):
    path = changed(folder, ("dpkit: 1", "dpkit: 1\nplugins: []"))
    assert "It is installed, and `plugins` does not list" in said("check", path, code=2)


@pytest.mark.parametrize("content", [b"no parquet", b"PAR1" + b"x" * 40 + b"PAR1", b""])
def test_an_unreadable_parquet_file(folder, content):
    pytest.importorskip("pyarrow")
    (folder / "people.parquet").write_bytes(content)
    assert "people.parquet" in said("run", changed(folder, ("people.csv", "people.parquet")), "--yes", code=2)
    assert spent(folder) == 0.0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_files_that_may_not_be_read_or_written(folder):
    (folder / "people.csv").chmod(0)
    assert "people.csv" in said("run", folder / "analysis.yaml", "--yes", code=2)
    assert spent(folder) == 0.0


def test_an_answer_is_shown_when_the_disk_is_full_and_is_not_paid_again(folder, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpkit.analysis.run_plan.check_writable", lambda path: None)
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", full)
        text = said("run", folder / "analysis.yaml", "--yes", code=2)
    assert "estimate" in text
    assert "No space left" in text
    paid = spent(folder)
    assert paid > 0.0
    said("run", folder / "analysis.yaml")
    assert spent(folder) == paid
    assert (folder / "out" / "report.html").exists()


def test_ctrl_c_on_the_question_charges_nothing(folder, monkeypatch):
    monkeypatch.setattr("dpkit.cli.run.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpkit.cli.run.click.confirm", interrupted)
    assert "Aborted!" in said("run", folder / "analysis.yaml", code=1)
    assert spent(folder) == 0.0


def test_few_rows_for_the_budget_are_a_warning_of_the_plan(folder):
    pytest.importorskip("dpkit_irls", reason="the plugin dpkit-irls is not installed")
    changes = ("run: mean, with: {column: age}", "run: irls, with: {target: age, features: [city]}")
    path = changed(folder, changes, ("epsilon: 1.0", "epsilon: 0.3"))
    assert "WARNING     ages: 400 rows are few for this budget" in said("plan", path)
    assert "400 rows are few" in json.loads(said("plan", path, "--json"))["steps"][0]["advice"][0]


def test_a_verb_that_is_misspelt_is_a_message():
    assert "Did you mean 'plan'?" in said("paln", code=2)
    assert "No such command 'xyzzy'." in said("xyzzy", code=2)


def test_a_verb_of_a_plugin_that_is_missing_names_the_plugin(monkeypatch):
    monkeypatch.setitem(main.__dict__, "_of_plugins", {})
    assert "No such command 'bench'. Install the plugin that brings it: pip install dpkit-bench" in said(
        "bench", "noise", code=2
    )


@pytest.mark.parametrize("verb", ["show", "verify", "export"])
def test_what_goes_wrong_is_said_in_json_by_every_verb(tmp_path, verb):
    assert json.loads(said("ledger", verb, tmp_path / "no.ledger", "--json", code=2))["message"]


def leaves():
    for name in VERBS:
        command = main.get_command(None, name)
        inner = getattr(command, "commands", None)
        if inner is None or name == "audit":
            yield (name,)
        for part in inner or ():
            yield name, part


@pytest.mark.parametrize("verb", list(leaves()), ids=" ".join)
def test_every_verb_has_help_json_and_an_example(verb):
    text = said(*verb, "--help")
    if verb not in [("audit",), ("serve",)]:  # a server answers in a browser
        assert "--json" in text
    assert "Example: dpkit" in text or "dpkit audit" in text


def test_completion_completes_verbs_and_options():
    def completed(words):
        environment = {**os.environ, "_DPKIT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "1"}
        environment["COMP_CWORD"] = str(len(words.split()) - 1)
        command = [sys.executable, "-m", "dpkit.cli"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False).stdout

    assert "plain,plan" in completed("dpkit pl")
    assert "--simulate" in completed("dpkit run --sim")


def test_no_colour_is_ever_written(folder, monkeypatch):
    for setting in ({"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}):
        for name, value in setting.items():
            monkeypatch.setenv(name, value)
        for verb in ("check", "plan", "explain", "compare"):
            assert "\033[" not in said(verb, folder / "analysis.yaml")
