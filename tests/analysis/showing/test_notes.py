"""Notes from released values: unreadable cells and rare levels are named, good answers are left alone."""

import random

import pytest

import dpkit
from dpkit.analysis.showing.notes import wider
from dpkit.analysis.showing.tables import AnswerTable

pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")


def result(folder, *, steps, rows=2000, epsilon=5.0, comma=False, declared="rows: 2000, ", more=""):
    draw = random.Random(1)
    lines = [f"{draw.uniform(1000, 3000):.1f};{draw.choice('ab')}" for _ in range(rows)]
    text = "\n".join(["wage;kind", *lines])
    (folder / "p.csv").write_text(text.replace(".", ",") if comma else text, encoding="utf-8")
    columns = "{wage: [0, 4000], kind: {levels: [a, b, c]}}"
    data = f"{{source: p.csv, delimiter: ';', {declared}columns: {columns}{more}}}"
    (folder / "a.yaml").write_text(
        f"dpkit: 1\ndata: {data}\nbudget: {{epsilon: {epsilon}, delta: 1e-6}}\nsteps: [{steps}]\n", encoding="utf-8"
    )
    return dpkit.load(folder / "a.yaml").plan().run()


MEAN = "{id: s, run: mean, with: {column: wage}}"


@pytest.mark.parametrize(
    "steps",
    [
        MEAN,
        "{id: s, run: quantiles, with: {column: wage, probabilities: [0.5], mechanism: gaussian}}",
        "{id: s, run: mean, by: [kind], with: {column: wage}}",
    ],
)
def test_decimal_commas_that_nobody_declared_are_seen(tmp_path, steps):
    bad = result(tmp_path, steps=steps, comma=True)
    assert "the count is far below `rows`" in str(bad)
    assert "are the cells readable?" in bad._repr_html_()
    assert bad.as_json()["notes"]["s"]
    good = result(tmp_path, steps=steps, comma=True, more=", decimal: ','")
    assert "far below" not in str(good)


def test_a_chosen_median_of_cells_that_nobody_can_read_may_be_anywhere_and_says_so(tmp_path):
    median = "{id: s, run: median, with: {column: wage}}"
    whole, said = 0, "is the whole declared range, so the answer says nothing: are there enough rows"
    plan = result(tmp_path, steps=median, comma=True).plan
    for _ in range(8):
        bad = plan.run()
        answer = bad.as_json()["answers"]["s"]
        is_whole = (answer["lower"], answer["upper"]) == (0.0, 4000.0)
        assert is_whole == (said in str(bad))
        whole += is_whole
    assert whole >= 2  # by chance fewer in 1e-6, where 9 of 10 are
    assert "the interval" not in str(result(tmp_path, steps=median))


@pytest.mark.parametrize("run", ["mean, with: {column: wage}", "proportion, with: {column: kind, level: a}"])
def test_one_answer_that_may_be_anywhere_says_so_without_declared_rows_too(tmp_path, run):
    step, said = f"{{id: s, run: {run}}}", "is the whole declared range, so the answer says nothing: are there enough rows"
    plan = result(tmp_path, steps=step, rows=0, declared="").plan
    texts = [str(plan.run()) for _ in range(8)]
    assert sum(said in text for text in texts) >= 2  # most of them say so
    assert said not in str(result(tmp_path, steps=step, declared=""))


def test_a_quantile_that_may_be_anywhere_is_named():
    rows = (("a", 0.5, 10.0, 9.0, 11.0), ("b", 0.5, 60.0, 30.0, 90.0))
    table = AnswerTable(columns=("kind", "probability", "estimate", "lower", "upper"), rows=rows)
    assert wider(table, 25.0) == ["b 0.5"]
    assert not wider(table, 250.0)


def test_rows_that_a_condition_leaves_out_are_no_surprise(tmp_path):
    pytest.importorskip("sqlglot")
    assert "far below" not in str(result(tmp_path, steps=MEAN, more=', where: "wage < 1100"'))


@pytest.mark.parametrize("by", ["{column: kind, levels: [a]}", "{column: wage, edges: [0, 1500]}"])
def test_groups_that_leave_rows_out_are_asked_about_first(tmp_path, by):
    told = str(result(tmp_path, steps=f"{{id: s, run: count, by: {by}}}", declared="rows: 9000, "))
    assert "far below `rows`" in told
    assert "do the groups leave so many rows out? If not, are the cells readable?" in told


def test_of_many_wide_intervals_it_says_how_many(tmp_path):
    step = "{id: s, run: median, by: {column: wage, edges: [0, 1, 2, 3, 4, 5, 6, 7, 8]}, with: {column: wage}}"
    plan = result(tmp_path, steps=step).plan
    assert any(" more is the whole declared range" in str(plan.run()) for _ in range(20))


@pytest.mark.parametrize(
    "steps", ["{id: s, run: histogram, with: {column: kind}}", "{id: s, run: mean, by: [kind], with: {column: wage}}"]
)
def test_a_level_that_is_too_rare_is_named_and_others_are_not(tmp_path, steps):
    """Its interval holds zero in 95% of runs: never in six by chance in 2e-8."""
    runs = (str(result(tmp_path, steps=steps)) for _ in range(6))
    assert any("NOTE this level is too rare for this budget: c." in text for text in runs)


def test_a_good_answer_has_no_note(tmp_path):
    found = result(tmp_path, steps=MEAN)
    assert found.as_json()["notes"] == {}
    assert "NOTE" not in str(found)
