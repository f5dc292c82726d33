"""The commands of tutorials and examples run, one after the other, in a folder of their own, and say what they should."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from dpkit.analysis.read_yaml import parse_yaml, plain

ROOT = Path(__file__).parent.parent
SHELL = re.compile(r"^```sh\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
STATS = ROOT / "plugins" / "dpkit-stats"


@pytest.fixture
def folder(tmp_path):
    """A folder with the examples, a `dpkit` on the path, and the plugin dpkit-stats, installed or from its source."""
    work, scripts, site = tmp_path / "work", tmp_path / "bin", tmp_path / "site"
    work.mkdir()
    scripts.mkdir()
    site.mkdir()
    shutil.copytree(ROOT / "examples", work / "examples")
    for name, module in (("dpkit", "-m dpkit.cli"), ("python", "")):
        script = scripts / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    if "stats" not in {point.name for point in entry_points(group="dpkit")}:
        if not STATS.exists():
            pytest.skip("the plugin dpkit-stats is not here")
        info = site / "dpkit_stats-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dpkit-stats\nVersion: 0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text("[dpkit]\nstats = dpkit_stats\n", encoding="utf-8")
        path = [str(site), str(STATS), *path]
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(path)}
    return work, environment


def commands(page, folder):
    work, environment = folder
    script = "set -e\n" + "\n".join(SHELL.findall(page.read_text(encoding="utf-8")))
    done = subprocess.run(["sh", "-c", script], cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def test_the_tutorial_for_analysts_runs(folder):
    out, err = commands(ROOT / "docs" / "tutorial-analyst.md", folder)
    assert out.count("exit code 2") == 2
    assert out.count("exit code 1") == 1
    assert "unknown key 'colums'" in err
    assert "Did you mean 'mean'?" in err
    assert "nearest plan that fits" in err
    assert "SIMULATION" in out
    written = json.loads((folder[0] / "out" / "result.json").read_text(encoding="utf-8"))
    assert -60 <= written["answers"]["delay"]["estimate"] <= 60


def test_the_flights_run(folder):
    out, _ = commands(ROOT / "examples" / "flights" / "README.md", folder)
    assert "flights in out/demo" in out
    assert (folder[0] / "out" / "demo" / "report.html").stat().st_size > 5_000


def test_every_example_is_valid_by_an_independent_validator(folder):
    jsonschema = pytest.importorskip("jsonschema")
    work, environment = folder
    text = subprocess.run(["dpkit", "schema"], cwd=work, env=environment, capture_output=True, text=True, check=True).stdout
    validator = jsonschema.Draft202012Validator(json.loads(text))
    files = [*(ROOT / "examples").rglob("*.yaml")]
    assert files
    for path in files:
        validator.validate(plain(parse_yaml(path.read_bytes(), file=path.name)))
        done = subprocess.run(["dpkit", "check", path], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
