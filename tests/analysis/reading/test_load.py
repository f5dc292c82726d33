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
