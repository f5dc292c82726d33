"""An analysis in a folder, with a small plugin and a small table."""

import importlib.util
from pathlib import Path

import pytest

from dpkit.analysis.reading.load import load
from dpkit.hooks.manager import load_plugins

HERE = Path(__file__).parent

YAML = """\
dpkit: 1
data:
  source: people.csv
  neighbours: add-remove
  rows: 200
  columns:
    age: [0, 100]
    sex: {levels: [f, m]}
budget:
  epsilon: 1.0
  delta: 1e-6
  accountant: zcdp
steps:
  - id: ages
    run: total
    with: {column: age, passes: 2}
report: out/report.html
"""
CANARY = 41.7093817261


def little():
    spec = importlib.util.spec_from_file_location("little_plugin", HERE / "little.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return load_plugins(discover=False, extra={"little": module})


@pytest.fixture(scope="session")
def installed():
    return little()


@pytest.fixture
def folder(tmp_path):
    rows = "\n".join(f"{20 + n % 50},{'fm'[n % 2]}" for n in range(199))
    (tmp_path / "people.csv").write_text(f"age,sex\n{rows}\n{CANARY},f\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def loaded(folder, installed):
    """`loaded(changes...)` is the spec of the YAML after textual changes, each a pair of old and new."""

    def read(*changes, text=YAML):
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = folder / "analysis.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path, installed=installed)

    return read
