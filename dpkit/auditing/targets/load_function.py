"""Functions by where they are written: `module:function`, `file.py:function`, `notebook.ipynb:function`."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

from dpkit.errors import InvalidValueError


def load_function(text: str) -> object:
    """What stands there, by a dotted name after the colon. Of a notebook every code cell is run, without its magics."""
    place, _, name = text.rpartition(":")
    try:
        module: object = _module(place)
        for part in name.split("."):
            module = getattr(module, part)
    except (ImportError, AttributeError, OSError, SyntaxError) as error:
        raise InvalidValueError(
            field="target", found=f"{text} ({type(error).__name__}: {error})", where="audit",
            allowed="module:function, file.py:function or notebook.ipynb:function",
        ) from None  # fmt: skip
    return module


def _module(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix == ".ipynb":
        return _notebook(path)
    if path.suffix == ".py":
        found = importlib.util.spec_from_file_location(path.stem, path)
        if found is None or found.loader is None:
            raise ImportError(place)
        module = importlib.util.module_from_spec(found)
        sys.modules[path.stem] = module
        found.loader.exec_module(module)
        return module
    sys.path.insert(0, "")
    try:
        return importlib.import_module(place)
    finally:
        sys.path.remove("")


def _notebook(path: Path) -> ModuleType:
    """A module with what the code cells of a notebook define; lines that begin with % or ! are left out."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (KeyError, TypeError, ValueError):
        raise ImportError(f"{path.name} is no notebook") from None
    kept = [
        "\n".join("pass" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines())
        for source in sources
        if not source.lstrip().startswith("%%")
    ]
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    vars(module)["display"] = lambda *shown, **options: None  # what notebooks show, nobody sees here
    sys.modules[path.stem] = module
    for source in kept:
        exec(compile(ast.parse(source), str(path), "exec"), vars(module))
    return module
