"""Reading goes on after a mistake: all are reported at once, each with its place."""

import pytest
from analysis.reading.problems import problems

import dpkit
from dpkit.errors import SpecError


def test_every_problem_is_reported_at_once_in_the_order_of_the_file(loaded):
    found = problems(
        loaded,
        ("rows: 200", "row: 200"),
        ("age: [0, 100]", "age: [100, 0]"),
        ("epsilon: 1.0", "epsilon: -1"),
        ("accountant: zcdp", "accountant: zcpd"),
        ("run: total", "run: totale"),
        ("report:", "raport:"),
    )
    assert [problem.path for problem in found] == [
        "data.row",
        "data.columns.age.upper",
        "budget.epsilon",
        "budget.accountant",
        "steps[0].run",
        "raport",
    ]
    assert [problem.line for problem in found] == [5, 7, 10, 12, 15, 17]
    offers = [problem.hint for problem in found]
    assert [offer.split("'")[1] for offer in offers if "mean" in offer] == ["rows", "zcdp", "total", "report"]
    assert "6 problems" in str(SpecError(problems=found))


@pytest.mark.parametrize(
    ("old", "new", "place", "path", "said"),
    [
        ("epsilon: 1.0", "epsilon: -1", (10, 12), "budget.epsilon", "found -1; allowed: a finite number > 0"),
        ("epsilon: 1.0", "epsilon: .nan", (10, 12), "budget.epsilon", "found nan"),
        ("epsilon: 1.0", "epsilon: .inf", (10, 12), "budget.epsilon", "found inf"),
        ("epsilon: 1.0", "epsilon: yes", (10, 12), "budget.epsilon", "found the text 'yes'"),
        ("epsilon: 1.0", "epsilon: '1.0'", (10, 12), "budget.epsilon", "Leave out the quotes"),
        ("epsilon: 1.0", "epsilon: true", (10, 12), "budget.epsilon", "found true"),
        ("epsilon: 1.0", "epsilon:", (10, 11), "budget.epsilon", "found nothing"),
        ("  epsilon: 1.0\n", "", (10, 3), "budget.epsilon", "is missing"),
        ("delta: 1e-6", "delta: 1", (11, 10), "budget.delta", "<= 0.5"),
        ("delta: 1e-6", "delta: -1e-6", (11, 10), "budget.delta", "found -1e-06"),
        ("dpkit: 1", "dpkit: 2", (1, 8), "dpkit", "found version 2; allowed: 1"),
        ("dpkit: 1", "dpkit: yes", (1, 8), "dpkit", "version"),
        ("add-remove", "add-remov", (4, 15), "data.neighbours", "Did you mean 'add-remove'?"),
        ("rows: 200", "rows: 1.5", (5, 9), "data.rows", "whole number"),
        ("rows: 200", "unit: person", (5, 9), "data.unit", "row, or {column"),
        ("rows: 200", "unit: {column: id}", (5, 9), "data.unit.at_most", "is missing"),
        ("age: [0, 100]", "age: number", (7, 10), "data.columns.age", "bounds"),
        ("age: [0, 100]", "age: {type: numbre}", (7, 17), "data.columns.age.type", "Did you mean 'number'?"),
        ("age: [0, 100]", "age: {type: number, lower: 0}", (7, 10), "data.columns.age.upper", "never read from the data"),
        ("age: [0, 100]", "age: {lower: 0, upper: 9, missing: 10}", (7, 40), "data.columns.age.missing", "from 0 to 9"),
        ("{levels: [f, m]}", "{levels: [f, f]}", (8, 19), "data.columns.sex.levels", "differ"),
        ("{levels: [f, m]}", "{levels: f}", (8, 19), "data.columns.sex.levels", "a list"),
        ("{levels: [f, m]}", "{levels: [f, m], unknown: x}", (8, 36), "data.columns.sex.unknown", "declared level"),
        ("column: age, passes: 2", "column: ago", (16, 20), "steps[0].with", "Did you mean 'age'?"),
        ("column: age, passes: 2", "passes: 2", (16, 11), "steps[0].with.column", "total needs 'column'"),
        ("passes: 2", "passes: two", (16, 33), "steps[0].with.passes", "whole number"),
        ("passes: 2", "passes: 99", (16, 33), "steps[0].with.passes", "<= 50"),
        ("passes: 2", "pases: 2", (16, 25), "steps[0].with.pases", "Did you mean 'passes'?"),
        ("passes: 2", "noise: laplas", (16, 32), "steps[0].with.noise", "Did you mean 'laplace'?"),
        ("run: total", "run: irls", (15, 10), "steps[0].run", "pip install dpkit-irls"),
        ("run: total", "run: histogram", (15, 10), "steps[0].run", "pip install dpkit-stats"),
        ("id: ages", "id: 3", (14, 9), "steps[0].id", "quotes"),
        ("id: ages", "id: a/b", (14, 9), "steps[0].id", "letters, digits"),
        ("report:", "plugins: [irls]\nreport:", (17, 10), "plugins", "pip install dpkit-irls"),
        ("report:", "engine: {blocks: {folder: a}}\nreport:", (17, 19), "engine.blocks.folder", "only with `cache: float64 or"),
        ("source: people.csv", "source: 3", (3, 11), "data.source", "a path"),
        ("source: people.csv", "source: {run: sqll}", (3, 17), "data.source.run", "no source named 'sqll'"),
        ("accountant: zcdp", "accept: [nothing]", (12, 11), "budget.accept", "no loss rule"),
    ],
)
def test_a_wrong_value_is_one_message_with_its_place(loaded, old, new, place, path, said):
    (problem,) = problems(loaded, (old, new))
    assert problem.path == path
    assert said in str(problem)
    assert (problem.line, problem.column) == place
    assert str(problem).startswith(f"analysis.yaml:{place[0]}:{place[1]}: ")


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("{epsilon: -1, delta: 1e-6}", "found -1"),
        ("{epsilon: one, delta: 1e-6}", "found the text 'one'"),
        ("{epsilonn: 1, delta: 1e-6}", "Did you mean 'epsilon'?"),
        ("{epsilon: 1, delta: 0}", "the budget has no delta"),
    ],
)
def test_one_mistake_in_a_budget_is_one_problem_beside_private_keys_too(tmp_path, budget, said):
    lines = ["dpkit: 1", "data: {source: p.csv, columns: {city: text}}", f"budget: {budget}"]
    lines.append("steps: [{id: c, run: count, by: {column: city, keys: private}}]")
    (tmp_path / "a.yaml").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        dpkit.load(tmp_path / "a.yaml")
    (problem,) = caught.value.problems
    assert said in str(problem)
