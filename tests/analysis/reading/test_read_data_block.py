"""What an analysis declares of its data: columns written short or out, and every wrong policy."""

from analysis.reading.problems import problems

import dpkit


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
