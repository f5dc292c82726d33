"""A bar in notebooks, from the first second of work on; nothing elsewhere."""

import sys
import types
from pathlib import Path

import pytest

import dpkit
from dpkit.analysis.showing import notebook_bar as bars

YAML = """\
dpkit: 1
data: {source: data.csv, neighbours: replace-one, rows: 4, columns: {x: [0, 1]}}
budget: {epsilon: 1.0, delta: 1e-6}
steps: [{id: <middle>, run: mean, with: {column: x}}]
"""


@pytest.fixture
def pictures(monkeypatch):
    """What a kernel was asked to show, in order; the bar waits for nothing."""
    shown = []

    class Handle:
        def update(self, picture):
            shown.append(picture)

    def display(picture, *, display_id):
        assert display_id
        shown.append(picture)
        return Handle()

    module = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    module.display = types.SimpleNamespace(display=display, HTML=str)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setattr(bars, "PAUSE", 0.0)
    return shown


def analysis(folder: Path) -> dpkit.Spec:
    (folder / "data.csv").write_text("x\n0.1\n0.2\n0.9\n0.4\n")
    (folder / "a.yaml").write_text(YAML.replace("<middle>", "middle"))
    return dpkit.load(folder / "a.yaml")


def test_a_plan_and_a_run_show_a_bar_and_take_it_away(tmp_path, pictures):
    plan = analysis(tmp_path).plan()
    assert "solving the noise" in pictures[0]
    assert pictures[-1] == ""
    assert any('<progress value="0" max="1">' in picture for picture in pictures)
    pictures.clear()
    plan.run()
    assert pictures == ['<div role="status"><progress value="1" max="1"></progress> step middle</div>', ""]


def test_who_asks_to_be_told_is_told_alone(tmp_path, pictures):
    told = []
    plan = analysis(tmp_path).plan(progress=lambda words, done, total: told.append(words))
    plan.run(progress=lambda step, done: told.append(step))
    assert told[-1] == "middle"
    assert not pictures


def test_nothing_is_shown_in_the_first_second(tmp_path, pictures, monkeypatch):
    monkeypatch.setattr(bars, "PATIENCE", 1000.0)
    analysis(tmp_path).plan().run()
    assert not pictures


def test_words_are_escaped(pictures):
    with bars.notebook_bar() as bar:
        bar.tell("<b>", 1.0, 2.0)
    assert pictures[0].endswith("</progress> &lt;b&gt;</div>")


@pytest.mark.parametrize("shell", [None, types.SimpleNamespace()])
def test_a_terminal_has_no_such_bar(monkeypatch, shell):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    with bars.notebook_bar() as bar:
        assert bar is None
