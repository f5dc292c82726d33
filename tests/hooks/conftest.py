"""Installed distributions, faked: real metadata and modules in a folder on sys.path, found as any installed plugin is."""

import importlib
import sys

import pytest


@pytest.fixture
def install(tmp_path, monkeypatch):
    """`install(name, source, version=...)` installs a distribution `dpkit-NAME` with one module and its entry point."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(name, source, *, version="1.2", distribution=None, requires=()):
        distribution = distribution or f"dpkit-{name}"
        module = distribution.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{module}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
        lines += [f"Requires-Dist: {text}" for text in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[dpkit]\n{name} = {module}\n", encoding="utf-8")
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, module, raising=False)
        return module

    yield installed
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)
