"""Compiled templates are kept as Python keeps compiled modules, and are never taken for those of another source."""

import sys

import jinja2
import pytest

from dpkit.analysis.showing.template_bytecode import TemplateBytecode


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return tmp_path


def shown(folder, source):
    """What a new environment makes of a source."""
    found = jinja2.Environment(loader=jinja2.DictLoader({"page": source}), bytecode_cache=TemplateBytecode(folder))
    return found.get_template("page").render(name="x")


def test_a_template_is_compiled_once(folder, monkeypatch):
    assert shown(folder, "a {{ name }}") == "a x"
    (kept,) = (folder / "__pycache__").iterdir()
    assert kept.suffix == ".jinja"
    monkeypatch.setattr(jinja2.Environment, "compile", lambda *given, **more: pytest.fail("compiled again"))
    assert shown(folder, "a {{ name }}") == "a x"


def test_another_source_is_compiled_anew(folder):
    assert [shown(folder, source) for source in ("a {{ name }}", "b {{ name }}", "a {{ name }}")] == ["a x", "b x", "a x"]
    assert len(list((folder / "__pycache__").iterdir())) == 1


def test_what_is_damaged_is_compiled_anew(folder):
    shown(folder, "a {{ name }}")
    (kept,) = (folder / "__pycache__").iterdir()
    whole = kept.read_bytes()
    for damaged in (b"damaged", *(whole[:length] for length in range(0, len(whole), 7))):
        kept.write_bytes(damaged)
        assert shown(folder, "a {{ name }}") == "a x"


def test_nothing_is_written_where_python_writes_no_bytecode(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert shown(folder, "a {{ name }}") == "a x"
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_written_costs_nothing(folder):
    (folder / "__pycache__").write_text("a file in its place")
    assert shown(folder, "a {{ name }}") == "a x"
