"""The group of verbs: its list says what they say, shells complete it, and its help loads no numpy."""

import importlib
import os
import subprocess
import sys

from cli.invoking import ROOT, run

from dpkit.cli import VERBS as VERBS_TABLE


def test_the_list_of_verbs_says_what_they_say():
    text = run("--help")
    for name, (module, attribute, said) in VERBS_TABLE.items():
        command = getattr(importlib.import_module(module), attribute)
        assert command.name == name
        assert name in text
        words = " ".join(command.help.split())
        assert words.startswith(said.rstrip(".").split(",")[0]), name


def test_completion_is_offered_for_shells():
    environment = {**os.environ, "_DPKIT_COMPLETE": "bash_source"}
    command = [sys.executable, "-m", "dpkit.cli"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "_DPKIT_COMPLETE=bash_complete" in found.stdout


def test_the_help_of_click_loads_no_numpy():
    code = (
        "import sys\nfrom dpkit.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print('numpy' in sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "plan" in result.stdout
    assert result.stderr.strip() == "False"
