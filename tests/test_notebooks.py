"""The notebooks of examples/notebooks run, and what is stored in them shows pictures."""

import importlib.util
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"
PAGES = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

spec = importlib.util.spec_from_file_location("run_notebooks", FOLDER / "run_notebooks.py")
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)


def shown(notebook):
    """The HTML that each code cell shows."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join("".join(output.get("data", {}).get("text/html", [])) for output in cell["outputs"]) for cell in cells]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_pictures(path):
    found = runner.run_notebook(path)
    stored = json.loads(path.read_text(encoding="utf-8"))
    for now, before in zip(shown(found), shown(stored), strict=True):
        assert now.count("<svg") == before.count("<svg")
    assert sum("<svg" in each for each in shown(found)) >= 3
    assert [cell["source"] for cell in found["cells"]] == [cell["source"] for cell in stored["cells"]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_page_is_made_of_it(path):
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert (PAGES / f"{path.stem}.html").read_text(encoding="utf-8") == runner.page_of(stored)
