"""The first line of a CSV may be a record: it leaves by no verb, unless `--header` says that it holds names."""

import importlib
import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dpkit.cli import main

SECRET = "Zebedee"
FIRST_LINES = [
    "Zebedee,41",
    "Zebedee: 41",
    "*Zebedee",
    "!Zebedee 1",
    "- Zebedee",
    '"Zebedee',
    "{Zebedee: 1, Zebedee: 2}",
    "%Zebedee",
    "&Zebedee [&Zebedee 1]",
    "Zebedee: 1\nZebedee: 2",
    "dpkit: Zebedee",
    "\tZebedee: x",
    "data: Zebedee",
    "data: Zebedee\ndata: Zebedee",
    '{"data": "Zebedee", "age": 41}',
    "steps: *Zebedee",
    "budget: !Zebedee 1",
]
VERBS = [
    ["check"],
    ["plan"],
    ["run", "--yes"],
    ["explain"],
    ["compare"],
    ["audit"],
    ["audit", "replay"],
    ["ledger", "show"],
    ["ledger", "verify"],
    ["ledger", "export"],
    ["init", "--to", "new.yaml", "--force"],
    ["init", "--to", "new.yaml", "--force", "--no-header", "--no-schema"],
]


def said(*arguments, answers=None):
    """Everything that is printed."""
    found = CliRunner().invoke(main, [str(argument) for argument in arguments], input=answers)
    assert found.exception is None or isinstance(found.exception, SystemExit)
    return found.output


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", FIRST_LINES)
@pytest.mark.parametrize("name", ["people.csv", "people.txt", "people"])
def test_no_verb_shows_it(folder, line, name):
    if name != "people.csv" and line.startswith("dpkit:"):
        return  # an analysis, to all that can be told
    (folder / name).write_text(f"{line}\nAnna,30\n", encoding="utf-8")
    for verb in VERBS:
        for more in ([], ["--json"]):
            assert SECRET not in said(*verb, name, *more), verb
    assert all(SECRET not in path.read_text() for path in folder.rglob("*") if path.is_file() and path.name != name)


@pytest.mark.parametrize("names", [["Zebede", "41"], ["age"], ["Zebedee", "age"]])
def test_an_analysis_with_other_columns_does_not_show_it(folder, names):
    (folder / "people.csv").write_text("Zebedee Secret,41,Zebedees,no hash\n", encoding="utf-8")
    columns = "".join(f"    {json.dumps(name)}: [0, 1]\n" for name in names)
    text = f"""\
dpkit: 1
data:
  source: people.csv
  columns:
{columns}budget: {{epsilon: 1, delta: 1e-6}}
steps:
  - {{id: a, run: count}}
"""
    (folder / "analysis.yaml").write_text(text, encoding="utf-8")
    for verb in (["check"], ["plan"], ["run", "--yes"]):
        for more in ([], ["--json"]):
            answer = said(*verb, "analysis.yaml", *more)
            assert "Zebedee Secret" not in answer
            assert "Zebedees" not in answer
            assert "no hash" not in answer


def test_init_writes_names_that_are_confirmed(folder, monkeypatch):
    (folder / "people.csv").write_text("age,Zebedee\n1,2\n", encoding="utf-8")
    asked = "Does its first line name the columns?"

    def written():
        return (folder / "new.yaml").read_text(encoding="utf-8")

    said("init", "people.csv", "--header", "--to", "new.yaml")
    assert "# Zebedee: [LOWER, UPPER]" in written()
    told = said("init", "people.csv", "--to", "new.yaml", "--force")
    assert "--header" in told
    assert SECRET not in written()

    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(importlib.import_module("dpkit.cli.init"), "sys", terminal)
    assert asked in said("init", "people.csv", "--to", "new.yaml", "--force", answers="n\n\n\n")
    assert SECRET not in written()
    assert asked in said("init", "people.csv", "--to", "new.yaml", "--force", answers="y\n\n\n")
    assert SECRET in written()


def test_names_in_parquet_are_names(folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"age": [4177.25]}).replace_schema_metadata({"note": SECRET})
    parquet.write_table(table, folder / "people.parquet")
    document = json.loads(said("init", "people.parquet", "--to", "new.yaml", "--json"))
    assert document["columns"] == ["age"]
    text = (folder / "new.yaml").read_text(encoding="utf-8")
    assert SECRET not in text
    assert "4177" not in text
