"""Functions by where they are written: `module:function`, `file.py:function`, `notebook.ipynb:function`."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

from dpkit.errors import InvalidValueError

_MAGIC = re.compile(r"\s*(%[A-Za-z]|!|\?{1,2}[\w.]+\s*$|[\w.]+\?{1,2}\s*$)")
"""A line that IPython alone reads. `% name`, with a space, goes on with a line of Python."""
_ASSIGNED = re.compile(r"(\s*[A-Za-z_][\w.]*(?:\s*,\s*[A-Za-z_][\w.]*)*\s*)=\s*(?:!|%[A-Za-z])")


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
    kept = ["" if source.lstrip().startswith("%%") else _without_magics(source) for source in sources]
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    vars(module)["display"] = lambda *shown, **options: None  # what notebooks show, nobody sees here
    vars(module)["get_ipython"] = _NoShell
    sys.modules[path.stem] = module
    for place, source in enumerate(kept, 1):
        try:
            exec(compile(ast.parse(source), str(path), "exec"), vars(module))
        except SyntaxError:
            raise
        except Exception as error:  # noqa: BLE001 - a cell may raise anything, and its message may hold data
            raise ImportError(f"code cell {place} of {path.name} raised {type(error).__name__}") from None
    return module


def _without_magics(source: str) -> str:
    """The cell with `pass` for its magics, commands and questions for help, and None for what these would return."""
    lines = []
    for line in source.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        assigned = _ASSIGNED.match(line)
        if assigned is not None:
            line = f"{assigned.group(1)}= None"
        elif _MAGIC.match(line):
            line = f"{indent}pass"
        lines.append(line)
    return "\n".join(lines)


class _NoShell:
    """What `get_ipython()` gives where there is none: magics that are called as functions do nothing, as those in lines."""

    def run_line_magic(self, *arguments: object) -> None:
        """Nothing."""

    run_cell_magic = magic = system = getoutput = run_line_magic
