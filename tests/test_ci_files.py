"""The action and the hook that other projects use name real options."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dpkit.cli import main

ROOT = Path(__file__).parent.parent
FILES = [ROOT / ".github" / "actions" / "audit" / "action.yml", ROOT / ".pre-commit-hooks.yaml"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_option_that_a_file_names_is_one_of_the_audit(path):
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    known = CliRunner().invoke(main, ["audit", "run", "--help"]).output
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--quiet"}
    assert named
    assert not [option for option in named if option not in known]


def test_the_action_passes_inputs_by_the_environment():
    action = yaml.safe_load(FILES[0].read_text(encoding="utf-8"))
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]


RELEASE = """
def wrong(rows, rng):
    return sum(rows) + rng.laplace(scale=0.3)


def right(rows, rng):
    return sum(rows) + rng.laplace(scale=1.0)
"""
PAIR = "[[0.5], [0.5, 1.0]]"


@pytest.fixture(scope="module")
def repository():
    """A project of somebody else, and the environment in which its commands run."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "release.py").write_text(RELEASE, encoding="utf-8")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        yield Path(folder), {**os.environ, "PATH": path}


@pytest.mark.skipif(shutil.which("bash") is None, reason="the steps of an action are for bash")
@pytest.mark.parametrize(("target", "code"), [("wrong", 1), ("right", 0)])
def test_the_step_of_the_action_runs_and_fails_where_a_claim_is_refuted(repository, target, code):
    folder, environment = repository
    action = yaml.safe_load(FILES[0].read_text(encoding="utf-8"))
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "audit"]
    given = {"target": f"release.py:{target}", "arguments": f"--epsilon 1 --pair '{PAIR}'", "samples": "1000"}
    inputs = {name: given.get(name, described["default"]) for name, described in action["inputs"].items()}
    for name, taken in step["env"].items():
        environment[name] = inputs[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", taken).group(1)]
    environment["GITHUB_OUTPUT"] = str(folder / "output")
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    assert subprocess.run(shell, cwd=folder, env=environment, capture_output=True).returncode == code
    outputs = dict(line.split("=") for line in (folder / "output").read_text(encoding="utf-8").splitlines())
    assert set(outputs) == set(action["outputs"])
    assert all((folder / name).stat().st_size > 0 for name in outputs.values())


@pytest.mark.parametrize(("target", "code"), [("wrong", 1), ("right", 0)])
def test_the_hook_runs_and_fails_where_a_claim_is_refuted(repository, target, code):
    folder, environment = repository
    (hook,) = yaml.safe_load(FILES[1].read_text(encoding="utf-8"))
    command = [*shlex.split(hook["entry"]), f"release.py:{target}", "--epsilon", "1", "--pair", PAIR, "--samples", "1000"]
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    assert found.returncode == code
