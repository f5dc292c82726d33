"""No verb replaces what dpkit did not write, and no wrong place for results costs anything."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

import dpkit
from dpkit.cli import main
from dpkit.report.html import write_outputs

CSV = "age\n" + "\n".join(str(20 + n % 50) for n in range(400)) + "\n"
YAML = """\
dpkit: 1
data: {source: people.csv, rows: 400, columns: {age: [0, 100]}}
budget: {epsilon: 1.0, delta: 1e-6, ledger: people.ledger}
steps:
  - {id: ages, run: mean, with: {column: age}}
report: out/report.html
"""
FOREIGN = "somebody else's work"

pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")


def said(*arguments, code=0):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(CSV, encoding="utf-8")
    (tmp_path / "analysis.yaml").write_text(YAML, encoding="utf-8")
    said("ledger", "create", tmp_path / "people.ledger", "--dataset", "people", "--epsilon", "9", "--delta", "1e-5")
    return tmp_path


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "ledger-" not in path.name}


PLACES = [
    "people.ledger",
    "people.ledger-wal",
    "people.csv",
    "analysis.yaml",
    "../report.html",
    "mine.html",
    "analysis-result.json",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("verb", [("run", "--yes"), ("run", "--simulate"), ("plan",), ("audit", "--samples", "100")])
def test_a_wrong_place_for_the_report_costs_nothing_and_replaces_nothing(folder, place, verb):
    (folder / "mine.html").write_text(FOREIGN)
    (folder / "analysis.yaml").write_text(YAML.replace("out/report.html", place), encoding="utf-8")
    before = files(folder)
    name, *options = verb
    assert "analysis.yaml:6:9: `report`" in said(name, folder / "analysis.yaml", *options, code=2)
    assert files(folder) == before
    with dpkit.Ledger.open(folder / "people.ledger") as ledger:
        assert ledger.spent().rho == 0.0


def test_results_go_outside_only_when_told_to(folder, tmp_path_factory):
    place = tmp_path_factory.mktemp("outside") / "report.html"
    (folder / "analysis.yaml").write_text(YAML.replace("out/report.html", str(place)), encoding="utf-8")
    said("run", folder / "analysis.yaml", "--yes", code=2)
    said("run", folder / "analysis.yaml", "--yes", "--outside")
    assert place.exists()


def test_a_simulation_keeps_what_is_not_its_own(folder):
    (folder / "out").mkdir()
    mine = folder / "out" / "simulation-analysis-result.json"
    mine.write_text(FOREIGN)
    assert "dpkit did not write it" in said("run", folder / "analysis.yaml", "--simulate", code=2)
    assert mine.read_text() == FOREIGN


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--html"])
def test_an_audit_keeps_what_is_not_its_own_and_replaces_its_like(folder, option):
    audit = ("audit", "Laplace(scale=1.0)", "--at", "l1(1.0)", "--samples", "200", "--seed", "1")
    before = files(folder)
    for place in ("people.csv", "people.ledger", "analysis.yaml"):
        assert "it is there already" in said(*audit, option, folder / place, code=2)
    assert files(folder) == before
    said(*audit, option, folder / "new")
    said(*audit, option, folder / "new")
    other = "--html" if option != "--html" else "--junit"
    assert "dpkit's" in said(*audit, other, folder / "new", code=2)
    assert "one name" in said(*audit, option, folder / "twice", other, folder / "twice", code=2)


def test_other_verbs_keep_what_is_not_their_own(folder):
    (folder / "README.md").write_text("# People\nHow to ask:\n\ndpkit: 1\n")
    before = files(folder)
    for place in ("people.csv", "people.ledger", "analysis.yaml"):
        said("compare", folder / "analysis.yaml", "--picture", folder / place, code=2)
        said("ledger", "export", folder / "people.ledger", "--to", folder / place, code=2)
    for place in ("people.csv", "people.ledger", "README.md"):
        said("init", folder / "people.csv", "--to", folder / place, "--force", code=2)
    assert files(folder) == before


def test_other_verbs_replace_what_they_wrote(folder):
    for _ in range(2):
        said("compare", folder / "analysis.yaml", "--picture", folder / "accountants.svg")
        said("ledger", "export", folder / "people.ledger", "--to", folder / "log.jsonl")
        said("ledger", "export", folder / "people.ledger", "--head-only", "--to", folder / "head.json")
        said("run", folder / "analysis.yaml", "--yes")
        said("audit", folder / "analysis.yaml", "--samples", "200", "--seed", "1")
    assert json.loads((folder / "head.json").read_text())["dpkit-ledger-head"]


WITHOUT = YAML.replace("report: out/report.html\n", "")


@pytest.mark.parametrize("text", [YAML, WITHOUT])
@pytest.mark.parametrize("mode", [("--yes",), ("--simulate",)])
def test_a_second_analysis_in_the_same_folder_replaces_nothing(folder, text, mode):
    assert text.count("report:") == (text is YAML)
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    said("run", folder / "one.yaml", *mode)
    said("audit", folder / "one.yaml", "--samples", "200", "--seed", "1")
    before = {path: content for path, content in files(folder).items() if path.name != "people.ledger"}
    said("run", folder / "two.yaml", *mode)
    said("audit", folder / "two.yaml", "--samples", "200", "--seed", "1")
    after = files(folder)
    assert {path: after[path] for path in before} == before
    new = [path.name for path in after if path not in before and path.name != "people.ledger"]
    assert len(new) == 4
    assert all("two" in name for name in new)


def test_a_rerun_leaves_the_first_report_as_it_is(folder):
    said("run", folder / "analysis.yaml", "--yes")
    before = files(folder)
    assert "there already" in said("run", folder / "analysis.yaml", "--yes")  # the ledger gives the answers back
    assert files(folder) == before
    said("run", folder / "analysis.yaml", "--yes", "--again")
    after = files(folder)
    assert {path.name for path in after if after[path] != before.get(path)} == {
        *("people.ledger", "report-2.html", "analysis-result-2.json", "analysis-trace-2.json")
    }
    (folder / "out" / "report-2.html").unlink()  # what was removed is written again
    said("run", folder / "analysis.yaml", "--yes")
    assert (folder / "out" / "report-2.html").exists()
    assert not (folder / "out" / "report-3.html").exists()


def test_a_run_that_goes_on_replaces_what_it_wrote_when_it_was_interrupted(folder):
    spec = dpkit.load(folder / "analysis.yaml")
    result = spec.plan().run()
    write_outputs(replace(result, outcomes={}))
    assert "Not every step" in (folder / "out" / "report.html").read_text()
    said("run", folder / "analysis.yaml", "--yes")
    assert "Not every step" not in (folder / "out" / "report.html").read_text()
    assert not (folder / "out" / "report-2.html").exists()
