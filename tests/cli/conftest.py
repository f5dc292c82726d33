"""A small analysis in a folder, with its plugin installed, and a ledger for it."""

import importlib
import shutil
import sys

import pytest
from cli.invoking import CANARY, ROOT, changed, run

from dpkit.hooks.manager import installed_plugins

LITTLE = ROOT / "tests" / "analysis" / "little.py"
YAML = """\
dpkit: 1
data:
  source: people.csv
  columns:
    age: [0, 100]
budget:
  epsilon: 1.0
  delta: 1e-6
  accountant: zcdp
steps:
  - id: ages
    run: total
    with: {column: age, passes: 3}
report: out/report.html
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The small plugin, installed: metadata and module in a folder on sys.path."""
    folder = tmp_path / "site"
    info = folder / "dpkit_little-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(LITTLE, folder / "dpkit_little.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dpkit-little\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[dpkit]\nlittle = dpkit_little\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    installed_plugins.cache_clear()
    yield folder
    sys.modules.pop("dpkit_little", None)
    installed_plugins.cache_clear()


@pytest.fixture
def analysis(site, tmp_path):
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(map(str, range(20, 70))) + f"\n{CANARY}\n", encoding="utf-8")
    path = tmp_path / "analysis.yaml"
    path.write_text(YAML, encoding="utf-8")
    return path


@pytest.fixture
def ledger(analysis, tmp_path):
    path = tmp_path / "people.ledger"
    run("ledger", "create", path, "--dataset", "people", "--epsilon", "1.2", "--delta", "1e-6")
    changed(analysis, ("accountant: zcdp", "accountant: zcdp\n  ledger: people.ledger"))
    return path
