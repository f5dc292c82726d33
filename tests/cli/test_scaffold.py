"""The template of a new plugin: plugins/dpkit-hello is rendered from it, and it is short."""

import re
import tomllib
from pathlib import Path

import pytest

from dpkit.cli.scaffold import KINDS, render_plugin

ROOT = Path(__file__).parent.parent.parent


def without_release(text):
    document = tomllib.loads(text)
    for key in ("version", "license", "license-files", "classifiers"):
        document["project"].pop(key, None)
    return document


def test_the_hello_plugin_is_the_template_rendered():
    folder = ROOT / "plugins" / "dpkit-hello"
    files = render_plugin("hello")
    for path, text in files.items():
        found, wanted = (folder / path).read_text(encoding="utf-8"), text
        if path.name == "pyproject.toml":  # what is uploaded with dpkit has its version, its licence and classifiers, too
            found, wanted = without_release(found), without_release(wanted)
        assert found == wanted, f"{path}: write plugins/dpkit-hello again from the template"
    tracked = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in tracked if path.suffix in {".py", ".toml", ".md", ".yml"}} == set(files)


def test_the_smallest_complete_plugin_is_about_forty_lines():
    source = (ROOT / "plugins" / "dpkit-hello" / "dpkit_hello.py").read_text(encoding="utf-8")
    assert len([line for line in source.splitlines() if line.strip()]) <= 45


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_template_is_left(kind):
    for path, text in render_plugin("sea-horse", kind).items():
        assert not re.search(r"@[A-Za-z]+@", str(path) + text), path
