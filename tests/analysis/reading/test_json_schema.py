"""The JSON Schema accepts what `load` accepts and refuses what it refuses, by an independent validator."""

import pytest

from dpkit.analysis.reading.json_schema import analysis_schema
from dpkit.analysis.reading.read_yaml import parse_yaml, plain
from dpkit.errors import SpecError

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def validator():
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parent.parent))
    from conftest import little

    schema = analysis_schema(little().registry)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def both(loaded, validator, *changes):
    """Whether the loader and the schema accept the changed file."""
    try:
        spec = loaded(*changes)
        accepted = True
        document = spec.document
    except SpecError:
        accepted = False
        document = None
    if document is None:
        from pathlib import Path

        path = Path(loaded.__closure__[0].cell_contents) / "analysis.yaml"
        document = plain(parse_yaml(path.read_bytes(), file="a"))
    return accepted, validator.is_valid(document)


@pytest.mark.parametrize(
    "change",
    [
        ("rows: 200", "rows: 200"),
        ("rows: 200", "unit: {column: id, at_most: 3}"),
        ("rows: 200", "unit: row\n  name: x"),
        ("[0, 100]", "{lower: 0, upper: 10, whole: true, missing: drop, outside: clip, nan: 3}"),
        ("{levels: [f, m]}", "boolean"),
        ("{levels: [f, m]}", "{type: boolean, missing: true}"),
        ("{levels: [f, m]}", "{levels: [1, 2], unknown: 1}"),
        ("accountant: zcdp", "ledger: a.ledger"),
        ("delta: 1e-6", "delta: 0"),
        ("id: ages", "id: ages\n    share: 0.5"),
        ("steps:", "engine: memory\nsteps:"),
        ("steps:", "engine: {blocks: }\nsteps:"),
        ("people.csv", "[a.csv, 'b*.csv']"),
    ],
)
def test_what_loads_is_valid(loaded, validator, change):
    assert both(loaded, validator, change) == (True, True)


@pytest.mark.parametrize(
    "change",
    [
        ("dpkit: 1", "dpkit: 2"),
        ("rows: 200", "rowes: 200"),
        ("rows: 200", "rows: 0"),
        ("[0, 100]", "[0]"),
        ("[0, 100]", "{lower: 0}"),
        ("[0, 100]", "{type: txt}"),
        ("epsilon: 1.0", "epsilon: 0"),
        ("epsilon: 1.0", "epsilon: yes"),
        ("delta: 1e-6", "delta: 0.6"),
        ("zcdp", "zcpd"),
        ("run: total", "run: totale"),
        ("column: age, passes: 2", "passes: 2"),
        ("passes: 2", "passes: 0"),
        ("id: ages", "id: a/b"),
        ("passes: 2", "colour: red"),
        ("  - id: ages", "  - name: ages"),
        ("steps:", "engine: memori\nsteps:"),
        ("steps:", "engine: {memory: {}, blocks: {}}\nsteps:"),
        ("steps:", "engine: {memory: {rows: 3}}\nsteps:"),
        ("steps:", "engine:\nsteps:"),
        ("people.csv", "[]"),
        ("people.csv", "[3]"),
    ],
)
def test_what_does_not_load_is_not_valid(loaded, validator, change):
    assert both(loaded, validator, change) == (False, False)
