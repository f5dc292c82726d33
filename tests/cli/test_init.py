"""`dpkit init` reads names only and leaves bounds to the analyst."""

import json
from datetime import date

import pyarrow
import pytest
from cli.invoking import changed, run
from pyarrow import parquet


def test_init_reads_names_only_and_leaves_bounds_to_the_analyst(analysis, tmp_path):
    path = tmp_path / "new.yaml"
    (tmp_path / "odd.csv").write_text('age,"no, really",yes\n41.7093817261,2,3\n', encoding="utf-8")
    run("init", tmp_path / "odd.csv", "--header", "--to", path, "--epsilon", "2")
    text = path.read_text()
    assert "# age: [LOWER, UPPER]" in text
    assert '# "no, really": [LOWER, UPPER]' in text
    assert '# "yes": [LOWER, UPPER]' in text
    assert "41.7" not in text
    complaints = run("check", path, code=2)
    assert "data.columns" in complaints
    assert "2 problems" in complaints
    changed(path, ("# age: [LOWER, UPPER]", "age: [0, 100]"), ("run: NAME", "run: total"), ("with: {}", "with: {column: age}"))
    run("plan", path)
    assert "already" in run("init", "--to", path, code=2)
    document = json.loads(run("init", tmp_path / "odd.csv", "--header", "--to", path, "--force", "--json", "--person", "yes"))
    assert document["columns"] == ["age", "no, really", "yes"]


def test_a_name_suggests_and_never_declares(tmp_path):
    (tmp_path / "p.csv").write_text("age,latitude,foo\n41.7093817261,2,3\n", encoding="utf-8")
    run("init", tmp_path / "p.csv", "--header", "--to", tmp_path / "a.yaml")
    text = (tmp_path / "a.yaml").read_text()
    assert "# age: [LOWER, UPPER]  # its name suggests [0, 120]: is that so?" in text
    assert "its name suggests [-90, 90]" in text
    assert "    # foo: [LOWER, UPPER]\n" in text


def test_editors_are_told_of_the_schema(tmp_path):
    run("init", "--to", tmp_path / "a.yaml")
    assert "# yaml-language-server: $schema=dpkit-schema.json" in (tmp_path / "a.yaml").read_text()
    assert json.loads((tmp_path / "dpkit-schema.json").read_text())["title"] == "An analysis of dpkit"
    run("init", "--to", tmp_path / "b.yaml")
    (tmp_path / "dpkit-schema.json").write_text("mine")
    assert "no schema of an analysis" in run("init", "--to", tmp_path / "c.yaml", code=2)
    assert (tmp_path / "dpkit-schema.json").read_text() == "mine"
    assert not (tmp_path / "c.yaml").exists()
    run("init", "--to", tmp_path / "c.yaml", "--no-schema")
    assert "yaml-language-server" not in (tmp_path / "c.yaml").read_text()


def test_parquet_says_the_types_and_no_value_is_written(tmp_path):
    frame = {
        "age": pyarrow.array([41.7093817261, 2.0]),
        "city": pyarrow.array(["Springfield", "b"]),
        "smoker": pyarrow.array([True, None]),
        "seen": pyarrow.array([date(2024, 1, 2), None]),
        "sex": pyarrow.array([0, 1]),
    }
    parquet.write_table(pyarrow.table(frame), tmp_path / "p.parquet")
    run("init", "--from-parquet", tmp_path / "p.parquet", "--to", tmp_path / "a.yaml")
    text = (tmp_path / "a.yaml").read_text()
    for line in (
        "    # age: [LOWER, UPPER]  # its name suggests [0, 120]: is that so?\n",
        "    # city: {levels: [LEVEL, LEVEL]}\n",
        "    smoker: boolean\n",
        "    seen: date\n",
        "    # sex: [LOWER, UPPER]\n",  # numbers do not hold what its name suggests
    ):
        assert line in text
    for secret in ("41.7", "Springfield", "2024"):
        assert secret not in text
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert "is a text file" in run("init", "--from-parquet", tmp_path / "t.csv", "--to", tmp_path / "b.yaml", code=2)
    (tmp_path / "t.parquet").write_bytes(b"secret 4711")
    said = run("init", "--from-parquet", tmp_path / "t.parquet", "--to", tmp_path / "b.yaml", code=2)
    assert "4711" not in said
    assert not (tmp_path / "b.yaml").exists()


@pytest.mark.parametrize(
    ("given", "chosen", "other"), [([], "add-remove", "replace-one"), (["--replace-one"], "replace-one", "add-remove")]
)
def test_the_relation_stands_beside_the_other_one(tmp_path, given, chosen, other):
    """The comment once offered the relation that stood there already."""
    place = tmp_path / "analysis.yaml"
    run("init", *given, "--to", place)
    (line,) = [line for line in place.read_text(encoding="utf-8").splitlines() if "neighbours:" in line]
    assert line.split("#")[0].split() == ["neighbours:", chosen]
    assert line.split("#")[1].split()[1].rstrip(",") == other
