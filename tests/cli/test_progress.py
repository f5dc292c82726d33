"""Progress: on a terminal, on stderr, in words that are public; nothing in a pipe, nothing beside JSON."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from dpkit.cli import progress
from dpkit.cli.progress import Bar, RunProgress, audit_watch, progress_bar

pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")

YAML = """\
dpkit: 1
data:
  source: people.csv
  neighbours: {relation}
  rows: 400
  columns:
    age: [0, 100]
budget: {{epsilon: 1.0, delta: 1e-6, accountant: zcdp}}
steps:
  - {{id: ages, run: mean, with: {{column: age}}}}
  - {{id: others, run: mean, with: {{column: age}}}}
"""
# The command line with a bar that is there from the start and drawn whenever something is told.
AT_ONCE = """\
import sys, threading
import dpkit.cli.progress as progress
progress.PATIENCE = 0.0
class Now(threading.Timer):
    start = lambda self: self.function()
progress.threading = type("threading", (), dict(RLock=threading.RLock, Timer=Now))
update = progress.Bar._update
progress.Bar._update = lambda self, *, refresh: update(self, refresh=True)
from dpkit.cli import main
main(sys.argv[1:], prog_name="dpkit")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("age\n" + "30\n40\n" * 200, encoding="utf-8")
    for relation in ("replace-one", "add-remove"):
        (tmp_path / f"{relation}.yaml").write_text(YAML.format(relation=relation), encoding="utf-8")
    return tmp_path


def run(folder, *arguments, terminal):
    """stdout and stderr of the command line; stderr is a terminal, or a pipe."""
    command = [sys.executable, "-c", AT_ONCE, *arguments]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "140"}
    if not terminal:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr
    ours, theirs = pty.openpty()
    shown = []

    def read():
        try:
            while chunk := os.read(ours, 65536):
                shown.append(chunk)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment, timeout=120)
    os.close(theirs)
    reader.join(10)
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(shown).decode("utf-8"))
    assert done.returncode == 0, text
    return done.stdout, text


def test_a_run_shows_steps_and_rows_of_how_many_on_a_terminal_and_nothing_in_a_pipe(folder):
    answer, shown = run(folder, "run", "replace-one.yaml", terminal=True)
    assert "rehearsing step 2 of 2: others" in shown
    assert "step 1 of 2: ages" in shown
    assert "step 2 of 2: others" in shown
    assert re.search(r"[1-9][0-9]* of 400 rows", shown)
    assert re.search(r"[0-9]+% [0-9:]+ [-0-9:]+ left", shown)
    assert "ages (mean, finished after 1 step)" in answer
    assert "step 1 of 2" not in answer
    assert run(folder, "run", "replace-one.yaml", terminal=False)[1] == ""


def test_rows_are_counted_only_where_their_number_is_public(folder):
    _, shown = run(folder, "run", "add-remove.yaml", terminal=True)
    assert "step 1 of 2: ages" in shown
    assert "rows" not in shown


def test_nothing_is_shown_beside_json(folder):
    answer, shown = run(folder, "run", "replace-one.yaml", "--json", terminal=True)
    assert shown == ""
    assert set(json.loads(answer)["answers"]) == {"ages", "others"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@contextmanager
def on_a_terminal(*, patience=progress.PATIENCE):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", Terminal())
        patch.setenv("COLUMNS", "120")
        patch.setenv("TERM", "xterm")
        patch.setattr(progress, "PATIENCE", patience)
        yield sys.stderr


def test_what_is_quick_loads_no_library_and_shows_nothing():
    before = set(sys.modules)
    with on_a_terminal() as terminal, progress_bar("quick") as bar:
        bar.tell("quick", 1, 2)
    assert terminal.getvalue() == ""
    assert not any(name.startswith("rich") for name in set(sys.modules) - before)
    with on_a_terminal(), progress_bar("json", quiet=True) as bar:
        assert bar is None


def test_a_name_is_shown_and_never_obeyed():
    with on_a_terminal(patience=0.0) as terminal, progress_bar("[red]name", ticking=False) as bar:
        time.sleep(0.01)
        bar.tell("[bold]\x1b]0;title\x07\u202e\nstep", 1, 2)
        with bar.paused():
            terminal.write("a line of its own\n")
        bar.tell("x" * 500, 2, 2)
    text = terminal.getvalue()
    assert "[bold]\\x1b]0;title\\x07\\u202e step" in text
    assert "\x1b]0;" not in text
    assert "x" * 120 not in text
    assert "…" in text
    assert "a line of its own\n" in text


def test_a_bar_that_ticks_is_drawn_by_itself_and_leaves_no_thread():
    before = set(threading.enumerate())
    with on_a_terminal(patience=0.01) as terminal, progress_bar("waiting") as bar:
        for _ in range(500):
            if "waiting" in terminal.getvalue():
                break
            time.sleep(0.01)
    assert "waiting" in terminal.getvalue()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive()
    bar.tell("after the end", 1, 1)
    assert "after the end" not in terminal.getvalue()


class Said:
    def __init__(self):
        self.told = []

    def tell(self, words, done, total=None):
        self.told.append((words, done, total))


def planned(*steps, rows=None, knows=True):
    unit = SimpleNamespace(knows_size=lambda neighbours: knows)
    data = SimpleNamespace(rows=rows, unit=unit, neighbours=None)
    made = [SimpleNamespace(id=name, iterations=count) for name, count in steps]
    return SimpleNamespace(steps=made, spec=SimpleNamespace(data=data))


def test_a_run_is_counted_in_iterations_and_rows():
    said, source = Said(), SimpleNamespace(watch=None)
    shown = RunProgress(planned(("a", 1), ("b", 3), rows=100), source, said)
    source.watch(50)
    source.watch(500)
    shown("a", 1)
    shown("b", 1)
    source.watch(25)
    shown("b", 3)
    assert said.told == [
        ("step 1 of 2: a", 0.0, 4),
        ("step 1 of 2: a, 50 of 100 rows", 0.5, 4),
        ("step 1 of 2: a, 100 of 100 rows", 1.0, 4),
        ("step 2 of 2: b, iteration 1 of 3", 1.0, 4),
        ("step 2 of 2: b, iteration 2 of 3", 2.0, 4),
        ("step 2 of 2: b, iteration 2 of 3, 25 of 100 rows", 2.25, 4),
        ("step 2 of 2: b, iteration 3 of 3", 4, 4),
    ]


def test_a_source_is_not_watched_where_the_number_of_rows_is_private():
    for plan in (planned(("a", 1), rows=100, knows=False), planned(("a", 1), rows=None)):
        source = SimpleNamespace(watch=None)
        RunProgress(plan, source, Said())
        assert source.watch is None


def test_audits_are_counted_in_samples():
    said = Said()
    audit_watch(said, "laplace", 2, 5, samples=1000)(500, 1.234)
    audit_watch(said, "alone", 0, 1, samples=1000)(5000, 0.0)
    assert said.told == [
        ("ln e-value 1.23, 500 of 1,000 samples: audit 3 of 5: laplace", 2.5, 5),
        ("ln e-value 0.00, 5,000 of 1,000 samples: alone", 1.0, 1),
    ]
    assert audit_watch(None, "laplace", 0, 1, samples=10) is None


def test_a_bar_moves_only_when_told_where_it_must_not_disturb():
    with on_a_terminal(patience=0.0) as terminal:
        bar = Bar("measuring", ticking=False)
        assert not bar._timer.is_alive()
        time.sleep(0.01)
        bar.tell("first", 1, 2)
        drawn = terminal.getvalue()
        assert "first" in drawn
        time.sleep(0.6)
        assert terminal.getvalue() == drawn
        bar.tell("second", 2, 2)
        assert "second" in terminal.getvalue().removeprefix(drawn)
        bar.end()
