"""`dpkit --help` says what click would say, without importing it."""

import subprocess
import sys

from cli.invoking import ROOT
from click.testing import CliRunner

from dpkit.cli import main


def test_the_quick_help_is_what_click_would_say():
    from dpkit.cli.start import quick_help

    said = CliRunner().invoke(main, ["--help"], prog_name="dpkit", terminal_width=78).output
    assert said == quick_help()


def test_help_imports_nothing_that_is_slow():
    """`dpkit --help` at most 8 times a bare Python: click alone is more than that, so the list of verbs does without."""
    code = (
        "import sys, dpkit.cli.start as it; sys.argv = ['dpkit', '--help']; it.start(); print(len(sys.modules), *sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert said.startswith("Usage: dpkit")
    count, *modules = said.splitlines()[-1].split()
    slow = {"click", "numpy", "yaml", "pluggy", "inspect", "dataclasses", "dpkit.errors"}
    assert not slow & set(modules)
    bare = "import sys; print(len(sys.modules))"
    few = int(subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, check=True).stdout)
    assert int(count) <= few + 45, set(modules)


def test_a_command_that_ends_does_not_look_for_garbage():
    """That took a quarter of `dpkit check`; files are written and closed before."""
    code = "import gc, sys, dpkit.cli.start as it; sys.argv = ['dpkit', 'completion', '--help']\n"
    code += "import atexit; atexit.register(lambda: print('kept', gc.get_freeze_count()))\n"
    code += "before = it.atexit.register; seen = []; it.atexit.register = lambda call: seen.append(call) or before(call)\n"
    code += "try: it.start()\nexcept SystemExit: print(seen == [gc.freeze])"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout.splitlines()
    assert said[-2] == "True"
    assert int(said[-1].split()[1]) > 1000
