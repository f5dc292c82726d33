"""Analyses are checked as a whole: every mistake at once, each with its place, what was found and what would be right."""

import pytest
from analysis.reading.problems import problems

import dpkit
from dpkit.errors import SpecError


def test_a_good_file_is_a_spec(loaded, folder):
    spec = loaded()
    assert spec.data.name == "people"
    assert spec.data.source == str(folder / "people.csv")
    assert spec.data.schema.names == ("age", "sex")
    assert spec.budget.loss == dpkit.ApproxDP(epsilon=1.0, delta=1e-6)
    assert [step.id for step in spec.steps] == ["ages"]
    assert spec.steps[0].parameters["passes"] == 2
    assert spec.report == folder / "out" / "report.html"


def test_ids_differ(loaded):
    step = "  - id: ages\n    run: total\n    with: {column: age}\n"
    (problem,) = problems(loaded, ("report:", step + "report:"))
    assert "the id 'ages' is that of steps[0]" in problem.found


def test_words_that_other_parsers_take_for_booleans_are_levels(loaded):
    spec = loaded(("[f, m]", "[yes, no, NO, on]"))
    assert spec.data.schema.columns[1].levels == ("yes", "no", "NO", "on")


def test_columns_may_be_written_out(loaded):
    text = "{type: number, lower: 0, upper: 100, whole: true, missing: 50, outside: drop}"
    column = loaded(("[0, 100]", text), ("{levels: [f, m]}", "boolean")).data.schema
    assert column.columns[0] == dpkit.Number(name="age", lower=0, upper=100, whole=True, missing=50.0, outside="drop")
    assert column.columns[1] == dpkit.Boolean(name="sex")


def test_every_wrong_policy_of_a_column_is_reported(loaded):
    found = problems(loaded, ("[0, 100]", "{lower: 0, upper: 9, missing: 10, outside: 11, nan: clip, colour: red}"))
    assert {problem.path.split(".")[-1] for problem in found} == {"missing", "outside", "nan", "colour"}


def test_an_allow_list_that_is_met_is_fine(loaded):
    assert loaded(("report:", "plugins: [little]\nreport:")).steps[0].run == "total"


def test_what_is_not_on_the_allow_list_does_not_run(loaded):
    (problem,) = problems(loaded, ("report:", "plugins: [dpkit]\nreport:"))
    assert problem.path == "steps[0].run"


@pytest.mark.parametrize("text", ["3", "[1, 2]", "just a text"])
def test_a_document_of_another_kind_is_refused(loaded, text):
    with pytest.raises(SpecError, match="begins with `dpkit: 1`"):
        loaded(text=text)


def test_errors_survive_pickling(loaded):
    import pickle

    with pytest.raises(SpecError) as caught:
        loaded(("epsilon: 1.0", "epsilon: -1"))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
