"""The verbs of an analysis: exit codes, JSON, files, and no traceback for anybody's mistake."""

import json

import pytest
from cli.invoking import changed, run

VERBS = ("init", "check", "plan", "run", "explain", "compare", "schema")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_and_json(verb):
    text = run(verb, "--help")
    assert f"Example: dpkit {verb}" in text
    assert "--json" in text


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


def test_a_ledger_may_be_bound_to_the_declared_columns(analysis, tmp_path):
    schema = json.loads(run("check", analysis, "--json"))["schema"]
    options = ("--dataset", "people", "--epsilon", "2", "--delta", "1e-6", "--schema", schema)
    run("ledger", "create", tmp_path / "people.ledger", *options)
    changed(analysis, ("accountant: zcdp", "ledger: people.ledger"))
    run("plan", analysis)
    changed(analysis, ("age: [0, 100]", "age: [0, 90]"))
    assert "`schema`" in run("plan", analysis, code=2)


def test_the_ledger_of_another_dataset_is_exit_code_2(analysis, ledger):
    changed(analysis, ("source: people.csv", "source: people.csv\n  name: flights"))
    assert "'people', and 'flights' was given" in run("plan", analysis, code=2)


def test_a_ledger_that_is_missing_is_a_message(analysis):
    changed(analysis, ("accountant: zcdp", "ledger: none.ledger"))
    assert "no such file" in run("plan", analysis, code=2)


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
    assert json.loads((tmp_path / "out" / "analysis-audit.json").read_text())["certificates"] == document["certificates"]


def test_the_schema_has_the_plugins_parts(site):
    schema = json.loads(run("schema"))
    assert "total" in schema["properties"]["steps"]["items"]["properties"]["run"]["enum"]
    assert "Error" in run("schema", "--only", "nothing", code=2)


def test_there_are_no_colours_in_a_pipe(analysis):
    for verb in ("check", "plan", "explain", "compare"):
        assert "\033[" not in run(verb, analysis)
