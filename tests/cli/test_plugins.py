"""`dpkit plugins` lists and checks; `dpkit new-plugin` touches no folder that is there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpkit.cli import main
from dpkit.cli.scaffold import render_plugin

ROOT = Path(__file__).parent.parent.parent


def invoke(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_the_table_names_version_hooks_and_what_is_added():
    run = invoke("plugins")
    assert run.exit_code == 0
    assert "dpkit_accountants" in run.output
    assert "randomized-response" in run.output


def test_the_json_is_one_object_a_plugin():
    found = {plugin["name"]: plugin for plugin in json.loads(invoke("plugins", "--json").output)}
    assert found["dpkit"]["healthy"] is True
    assert "laplace" in found["dpkit"]["adds"]["mechanisms"]


def test_checking_prints_a_line_a_law_and_succeeds():
    run = invoke("plugins", "check", "dpkit", "--law", "form_shows_nothing")
    assert run.exit_code == 0, run.output
    assert "ok        mechanism laplace" in run.output
    assert re.search(r"\b[1-9]\d* passed, 0 failed, 0 skipped", run.output)


def test_checking_an_unknown_plugin_is_a_user_s_mistake():
    run = invoke("plugins", "check", "nonsense")
    assert run.exit_code == 2
    assert "not installed" in run.output


def test_a_law_that_is_broken_gives_exit_code_one(tmp_path):
    name = "leaky"
    for path, text in render_plugin(name).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    module = tmp_path / "dpkit_leaky.py"
    source = module.read_text(encoding="utf-8")
    broken = source.replace("return -np.abs(z)", "z = 3.0 * z\n        return -np.abs(z)")
    assert broken != source
    module.write_text(broken, encoding="utf-8")
    info = tmp_path / "dpkit_leaky-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dpkit-leaky\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[dpkit]\nleaky = dpkit_leaky\n", encoding="utf-8")
    law = ["--law", "sampler_follows_its_declared_law", "--law", "form_shows_nothing"]
    run = python(tmp_path, "-m", "dpkit.cli", "plugins", "check", name, *law)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "FAILED    mechanism leaky" in run.stdout
    assert "1 passed, 1 failed, 0 skipped, 0 unchecked" in run.stdout


def test_an_existing_folder_is_not_touched(tmp_path):
    (tmp_path / "dpkit-mine").mkdir()
    run = invoke("new-plugin", "mine", "--into", str(tmp_path))
    assert run.exit_code == 2
    assert not list((tmp_path / "dpkit-mine").iterdir())


@pytest.mark.parametrize("name", ["My-Noise", "../up", "a b", "1st", "", "laplace", "none", "dpkit"])
def test_a_name_that_is_none_is_refused(name, tmp_path):
    assert invoke("new-plugin", name, "--into", str(tmp_path)).exit_code == 2


def python(path, *arguments, cwd=None):
    paths = os.pathsep.join([str(path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=cwd, check=False)


def test_a_law_that_exits_has_not_passed():
    from dpkit.testing.run_laws import Check, run_check

    found = run_check(Check(subject="query", law="law", run=lambda: sys.exit(0)))
    assert (found.outcome, found.detail) == ("failed", "raised SystemExit: 0")
