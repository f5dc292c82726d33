"""`where` and `let` in YAML: mistakes at their place, runs with and without them, and their part in what a run is."""

import numpy as np
import pytest

import dpkit
from dpkit.analysis.reading.read_yaml import Scalar, parse_yaml, place_within

HEAD = """dpkit: 1
data:
  source: rows.csv
  columns:
    age: [0, 100]
    income: {lower: 0, upper: 1000}
    region: {levels: [north, south, west]}
"""
TAIL = """budget: {epsilon: 10000, delta: 1e-6}
steps:
  - {id: n, run: count}
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(5)
    lines = [f"{rng.integers(0, 101)},{rng.integers(0, 1001)},{rng.choice(['north', 'south', 'west', ''])}" for _ in range(400)]
    (tmp_path / "rows.csv").write_text("age,income,region\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def analysis(folder, more="", tail=TAIL):
    path = folder / "a.yaml"
    path.write_text(HEAD + more + tail, encoding="utf-8")
    return path


def problems(path):
    with pytest.raises(dpkit.SpecError) as caught:
        dpkit.load(path)
    return [(problem.line, problem.column, problem.found) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("more", "line", "column"),
    [
        ('  where: "age > 3 and agee < 4"\n', 8, 23),
        ("  where: age > 3 and agee < 4\n", 8, 22),
        ("  where: 'region = ''north'' and agee < 4'\n", 8, 34),
        ("  where: |\n    age > 3 and\n    agee < 4\n", 10, 5),
        ("  where: >-\n    age > 3\n    and agee < 4\n", 10, 9),
        ('  where: "age > 3 and\n    agee < 4"\n', 9, 5),
        ("  let: {half: agee / 2}\n", 8, 15),
        ('  let:\n    half: {sql: "agee / 2", lower: 0, upper: 3}\n', 9, 18),
    ],
)
def test_a_mistake_is_refused_at_its_line_and_column(folder, more, line, column):
    ((found_line, found_column, found),) = problems(analysis(folder, more))
    assert (found_line, found_column) == (line, column)
    assert found == "there is no column named 'agee'"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("  where: age\n", "`where` is a number"),
        ("  where: [age > 3]\n", "found a list of 1"),
        ("  where:\n", "found nothing"),
        ("  let: {age: income}\n", "the name 'age' is taken"),
        ("  let: {ratio: income / age}\n", "its bounds would be 0 and inf"),
        ("  let: {ratio: {lower: 3}}\n", "the key 'sql' is missing"),
        ("  let: {x: {sql: age, lower: 5, upper: 3}}\n", "bounds from 5 to 3"),
        ("  let: {x: 'null'}\n", "it is always NULL"),
        ("  let: {x: {sql: region, lower: 5}}\n", "bounds of a text"),
        ("  let: {x: \"left(region, 0)\"}\n", "it may be an empty text"),
        ("  let: 3\n", "found 3"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(folder, more, said):
    assert said in problems(analysis(folder, more))[0][2]


def test_every_mistake_is_reported_and_what_follows_from_one_is_not(folder):
    found = problems(analysis(folder, "  let: {x: foo(age), y: x + 1, z: bar(age)}\n  where: x > 3 and baz(age) = 1\n"))
    assert [found for *_, found in found] == ["there is no function foo", "there is no function bar"]


def test_a_step_has_filters_of_its_own(folder):
    tail = """budget: {epsilon: 10000, delta: 1e-6}
steps:
  - {id: all, run: count}
  - {id: old, run: count, where: age >= 65}
  - {id: also, run: count, where: age >= 65}
  - {id: mean, run: mean, let: {double: 2 * income}, where: region = 'north', with: {column: double}}
  - {id: levels, run: histogram, let: {band: "case when age < 50 then 'a' else 'b' end"}, with: {column: band}}
"""
    path = analysis(folder, "  let: {tenth: income / 10}\n  where: tenth >= 20\n", tail)
    result = dpkit.load(path).plan().run()
    rows = [line.split(",") for line in (folder / "rows.csv").read_text(encoding="utf-8").split("\n")[1:-1]]
    used = [(int(age), int(income), region) for age, income, region in rows if int(income) / 10 >= 20]
    assert round(result["all"].estimate) == len(used)
    assert round(result["old"].estimate) == round(result["also"].estimate) == sum(age >= 65 for age, _, _ in used)
    north = [2 * income for _, income, region in used if region == "north"]
    assert result["mean"].estimate == pytest.approx(np.mean(north), abs=2.0)
    assert np.round(result["levels"].estimates).tolist() == [
        sum(row[0] < 50 for row in used),
        sum(row[0] >= 50 for row in used),
    ]


def test_expressions_are_part_of_what_a_run_is(folder):
    first = dpkit.load(analysis(folder, "  where: age > 30\n"))
    second = dpkit.load(analysis(folder, "  where: age > 31\n"))
    assert first.fingerprint != second.fingerprint
    from dpkit.analysis.ledger_standing import schema_fingerprint

    assert schema_fingerprint(first) == schema_fingerprint(second)


def test_a_ledger_gives_another_filter_another_run_and_the_same_one_what_it_released(folder):
    tail = TAIL.replace("delta: 1e-6", "delta: 1e-6, ledger: rows.ledger").replace("10000", "1")
    dpkit.Ledger.create(folder / "rows.ledger", budget=dpkit.ApproxDP(epsilon=9.0, delta=1e-3), dataset="rows").close()
    young = dpkit.load(analysis(folder, "  where: age < 30\n", tail)).plan().run()["n"]
    assert dpkit.load(analysis(folder, "  where: age < 30\n", tail)).plan().run()["n"] == young
    assert dpkit.load(analysis(folder, "  where: age < 31\n", tail)).plan().run()["n"] != young


def test_a_simulation_and_an_audit_know_filters(folder):
    plan = dpkit.load(analysis(folder, "  where: age > 30\n  let: {x: sqrt(income)}\n")).plan()
    assert 400 < plan.simulate(seed=1)["n"].estimate < 900
    from dpkit.auditing.algorithms.audit_analysis import step_faults

    assert not list(step_faults(plan))


def test_places_within_texts():
    root = parse_yaml(b"a: 'x''y z'\nb: \"p\\tq r\"\n", file="f")
    quoted, escaped = root.entries["a"], root.entries["b"]
    assert isinstance(quoted, Scalar)
    assert isinstance(escaped, Scalar)
    assert place_within(quoted, 4).column == 10
    assert place_within(escaped, 4).column == 10


def test_groups_may_be_derived_and_filtered(folder):
    tail = """budget: {epsilon: 10000, delta: 1e-6}
steps:
  - id: grouped
    run: count
    let: {band: "case when age < 50 then 'young' else 'old' end", rich: income > 500}
    where: age <> 3
    by: [band, rich]
    with: {column: age}
"""
    answer = dpkit.load(analysis(folder, "", tail)).plan().run()["grouped"]
    rows = [line.split(",") for line in (folder / "rows.csv").read_text(encoding="utf-8").split("\n")[1:-1]]
    used = [(int(age) < 50, int(income) > 500) for age, income, _ in rows if int(age) != 3]
    expected = [used.count((band, rich)) for band in (True, False) for rich in (False, True)]
    assert np.round(answer.column("estimate")).tolist() == expected


JOIN = """  join: {table: regions.csv, on: {region: code}, columns: {area: [0, 500], coast: boolean}}
  let: {wide: area > 100}
  where: coast
"""


def test_rows_look_values_up_in_a_public_table(folder):
    (folder / "regions.csv").write_text("code,area,coast\nnorth,50,true\nsouth,200,true\nwest,300,false\n", encoding="utf-8")
    tail = TAIL + "  - {id: wide, run: histogram, with: {column: wide}}\n"
    spec = dpkit.load(analysis(folder, JOIN, tail))
    result = spec.plan().run()
    regions = [line.split(",")[2] for line in (folder / "rows.csv").read_text(encoding="utf-8").split("\n")[1:-1]]
    assert np.round(result["wide"].estimates).tolist() == [regions.count("north"), regions.count("south")]
    assert round(result["n"].estimate) == regions.count("north") + regions.count("south")
    (folder / "regions.csv").write_text("code,area,coast\nnorth,51,true\n", encoding="utf-8")
    assert dpkit.load(analysis(folder, JOIN, tail)).fingerprint != spec.fingerprint


def test_a_join_that_makes_no_sense_is_refused_at_its_place(folder):
    (line, column, found), *_ = problems(analysis(folder, JOIN))
    assert (line, column) == (8, 17)
    assert "regions.csv" in found
    (folder / "regions.csv").write_text("code,area,coast\nnorth,50,true\nnorth,200,true\n", encoding="utf-8")
    assert "the key 'north' twice" in problems(analysis(folder, JOIN))[0][2]
    assert "is taken" in problems(analysis(folder, JOIN.replace("{area:", "{age:")))[0][2]
    assert "unknown key 'keys'" in [found for *_, found in problems(analysis(folder, JOIN.replace("on:", "keys:")))]


def test_rows_with_null_are_counted_where_no_column_is_named(folder):
    lines = (folder / "rows.csv").read_text(encoding="utf-8").splitlines()[1:]
    without = sum(line.endswith(",") for line in lines)
    tail = TAIL + '  - {id: "null", run: count, where: "region is null"}\n'
    found = dpkit.load(analysis(folder, tail=tail)).plan().run()
    assert without > 0
    assert found["null"].estimate == pytest.approx(without, abs=1.0)
    assert found["n"].estimate == pytest.approx(len(lines), abs=1.0)
