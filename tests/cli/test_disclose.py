"""`dpkit disclose` writes an entry for the registry, a page and a label, of an analysis or of a ledger."""

import json

import yaml
from click.testing import CliRunner

from dpkit import ApproxDP, Ledger
from dpkit.cli.lazy_verbs import main

ANALYSIS = """dpkit: 1
data: {source: people.csv, neighbours: replace-one, rows: 500, columns: {age: [0, 100]}}
budget: {epsilon: 1.0, delta: 1e-6}
steps:
  - {id: ages, run: mean, with: {column: age, mechanism: gaussian}}
"""


def run(*arguments):
    return CliRunner().invoke(main, ["disclose", *map(str, arguments)])


def test_an_analysis_is_disclosed_without_its_data(tmp_path):
    (tmp_path / "analysis.yaml").write_text(ANALYSIS, encoding="utf-8")
    found = run(tmp_path / "analysis.yaml")
    assert found.exit_code == 0, found.output
    assert yaml.safe_load(found.stdout)["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"
    names = sorted(path.name for path in tmp_path.rglob("analysis_*"))
    assert names == ["analysis_disclosure.yaml", "analysis_label.md", "analysis_nist_sp_800_226.md"]


def test_a_ledger_is_disclosed_into_a_folder_and_in_json(tmp_path):
    Ledger.create(tmp_path / "x.ledger", budget=ApproxDP(epsilon=1.0, delta=1e-6), dataset="people").close()
    found = run(tmp_path / "x.ledger", "--to", tmp_path / "out", "--json")
    assert json.loads(found.stdout)["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 1.0
    assert (tmp_path / "out" / "people_label.md").is_file()


def test_mistakes_end_with_exit_code_2(tmp_path):
    for source in (tmp_path / "none.yaml", tmp_path / "none.ledger"):
        assert run(source).exit_code == 2
