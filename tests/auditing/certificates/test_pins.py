"""What was run is pinned: its source by a digest, the packages that it names by their versions."""

import importlib
import sys

from dpkit import Laplace
from dpkit.auditing.certificates.pins import pins_of


def test_a_change_of_the_source_changes_the_digest(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pinned_module.py").write_text("import click\n\ndef fn(d, n, rng):\n    return d\n")
    module = importlib.import_module("pinned_module")
    before = pins_of(module.fn)
    assert before["source"].startswith("sha256:")
    assert before["click"] == importlib.metadata.version("click")
    (tmp_path / "pinned_module.py").write_text("import click\n\ndef fn(d, n, rng):\n    return 2 * d\n")
    assert pins_of(module.fn)["source"] != before["source"]
    del sys.modules["pinned_module"]


def test_what_has_no_file_has_no_digest():
    space = {}
    exec("def fn(d, n, rng): return d", space)
    assert "source" not in pins_of(space["fn"])
    assert "source" in pins_of(Laplace(scale=1.0))
