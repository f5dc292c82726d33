"""Functions of modules, files and notebooks are found by where they are written."""

import json

import pytest

from dpkit import InvalidValueError
from dpkit.auditing.targets.load_function import load_function


def test_functions_are_found_in_files_and_notebooks(tmp_path):
    (tmp_path / "written_here.py").write_text("class A:\n    @staticmethod\n    def f(data):\n        return 1\n")
    assert load_function(f"{tmp_path}/written_here.py:A.f")(0) == 1
    cells = [
        {"cell_type": "markdown", "source": ["def f(: no code"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "k = 2"]},
        {"cell_type": "code", "source": "%%bash\nls"},
        {"cell_type": "code", "source": ["def g(data):\n", "    return k\n", "!ls"]},
    ]
    (tmp_path / "page.ipynb").write_text(json.dumps({"cells": cells}))
    assert load_function(f"{tmp_path}/page.ipynb:g")(0) == 2
    assert load_function("math:sqrt")(4) == 2.0


@pytest.mark.parametrize("text", ["no_such_module:f", "math:no", "gone.py:f", "gone.ipynb:f"])
def test_what_is_not_there_is_wrong_input(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidValueError, match="target"):
        load_function(text)


def test_a_file_that_is_no_notebook_is_told(tmp_path):
    (tmp_path / "x.ipynb").write_text("{}")
    with pytest.raises(InvalidValueError, match="no notebook"):
        load_function(f"{tmp_path}/x.ipynb:f")


def test_cells_that_only_ipython_reads_are_left_out(tmp_path):
    cells = [
        "get_ipython().run_line_magic('matplotlib', 'inline')",
        "files = !ls\nspent = %time\nif True:\n    !ls\n?print\nlen?\nsaid = ('%d of %d'\n        % (1, 2))",
        "def g(data):\n    return said, files, spent",
    ]
    body = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    (tmp_path / "page.ipynb").write_text(json.dumps(body))
    assert load_function(f"{tmp_path}/page.ipynb:g")(0) == ("1 of 2", None, None)


def test_the_cell_that_fails_is_named_and_what_it_says_is_not(tmp_path):
    cells = [{"cell_type": "code", "source": "a = 1"}, {"cell_type": "code", "source": "{}['patient 7']"}]
    (tmp_path / "page.ipynb").write_text(json.dumps({"cells": cells}))
    with pytest.raises(InvalidValueError, match=r"code cell 2 of page.ipynb raised KeyError") as error:
        load_function(f"{tmp_path}/page.ipynb:g")
    assert "patient" not in str(error.value)
