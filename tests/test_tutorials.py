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
from warm_dpkit import warm_dpkit

from dpkit.analysis.reading.read_yaml import parse_yaml, plain

ROOT = Path(__file__).parent.parent
SHELL = re.compile(r"^```sh\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
YAML = re.compile(r"^```yaml\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """A `dpkit` on the path, loaded once for all commands, and the plugins of the pages, installed or from their source."""
    scripts, site = tmp_path_factory.mktemp("bin"), tmp_path_factory.mktemp("site")
    script = scripts / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    for name in ("stats", "irls", "sql"):
        if name in {point.name for point in entry_points(group="dpkit")}:
            continue
        plugin = ROOT / "plugins" / f"dpkit-{name}"
        if not plugin.exists():
            pytest.skip(f"the plugin dpkit-{name} is not here")
        info = site / f"dpkit_{name}-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: dpkit-{name}\nVersion: 0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[dpkit]\n{name} = dpkit_{name}\n", encoding="utf-8")
        path = [str(site), str(plugin), *path]
    found = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(path)}
    with warm_dpkit(scripts / "dpkit", found):
        yield found


@pytest.fixture
def folder(tmp_path, environment):
    """A folder with the examples, and where commands find `dpkit`."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path, environment


def commands(page, folder):
    work, environment = folder
    script = "set -e\n" + "\n".join(SHELL.findall(page.read_text(encoding="utf-8")))
    done = subprocess.run(["sh", "-c", script], cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


FIVE = {
    "groups": ("delays", lambda data, step: step["run"] == "mean" and len(step["by"]) == 2),
    "evening": ("carriers", lambda data, step: step["run"] == "histogram" and "where" in data),
    "groups again": ("spread", lambda data, step: step["run"] == "quantiles" and "by" in step),
    "keys": ("carriers", lambda data, step: step["by"]["keys"] == "private" and data["columns"] == {"carrier": "text"}),
    "database": ("carriers", lambda data, step: data["source"]["run"] == "sqlite" and "table" in data["source"]["with"]),
}
"""Files of the tutorial that ask what analysts ask, with their steps and how the question is known: a mean by two groups, a
filtered histogram, quantiles by group, unknown keys, and a table of a database."""


def test_five_questions_take_at_most_twelve_lines_each():
    page = (ROOT / "docs" / "tutorial-analyst.md").read_text(encoding="utf-8")
    written = dict(reversed(re.findall(r"^cat > (\w+)\.yaml <<'YAML'\n(.*?)^YAML", page, flags=re.MULTILINE | re.DOTALL)))
    [(old, new)] = re.findall(r"^sed 's/(.*?)/(.*)/' keys.yaml > database.yaml", page, flags=re.MULTILINE)
    written["database"] = written["keys"].replace(old, new)
    for name, (wanted, is_asked) in FIVE.items():
        text = written[name.split()[0]]
        document = plain(parse_yaml(text.encode(), file=name))
        [step] = [step for step in document["steps"] if step["id"] == wanted]
        assert is_asked(document["data"], step), name
        assert len(text.splitlines()) <= 12, name
        assert max(map(len, text.splitlines())) <= 160, name


def test_the_tutorial_for_analysts_runs(folder):
    out, err = commands(ROOT / "docs" / "tutorial-analyst.md", folder)
    assert out.count("exit code 2") == 2
    assert out.count("exit code 1") == 1
    assert "unknown key 'colums'" in err
    assert "Did you mean 'mean'?" in err
    assert "nearest plan that fits" in err
    assert "SIMULATION" in out
    written = json.loads((folder[0] / "out" / "analysis-result.json").read_text(encoding="utf-8"))
    assert -60 <= written["answers"]["delay"]["estimate"] <= 60
    fit = json.loads((folder[0] / "regression" / "regression-result.json").read_text(encoding="utf-8"))["answers"]["fit"]
    assert fit["features"] == ["dep_delay", "hour", "carrier=B6", "carrier=EV", "carrier=DL", "carrier=other"]
    assert 0.5 < fit["coefficients"][0] < 1.5
    assert "cell" in out  # the frame, from Python
    for name in ("keys", "database"):
        table = json.loads((folder[0] / f"{name}-result.json").read_text(encoding="utf-8"))["answers"]["carriers"]["rows"]
        assert {"UA", "B6", "EV", "DL"} <= {row[0] for row in table}
    assert (folder[0] / "out" / "analysis-carriers.parquet").is_file()


def test_the_tutorial_for_reviewers_runs(folder):
    out, err = commands(ROOT / "docs" / "tutorial-reviewer.md", folder)
    assert out.count("exit code 1") == 1  # the refuted claim
    assert out.count("exit code 2") == 1  # the certificate that was edited
    assert "confirmed: refuted" in out
    assert "changed after it was written" in err
    assert "The analysis is not refuted." in out


PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]


def wrong_among(paths, folder):
    """What `dpkit check` says of those of these files that are wrong."""
    found = []
    for path in paths:
        command = ["dpkit", "check", "--without-data", str(path)]
        done = subprocess.run(command, cwd=folder[0], env=folder[1], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            found.append(f"{path} {done.stderr}")
    return found


def test_a_wrong_analysis_is_seen(folder):
    (folder[0] / "wrong.yaml").write_text("dpkit: 1\ndata: {}\n", encoding="utf-8")
    assert "wrong.yaml" in wrong_among(["wrong.yaml"], folder)[0]


def test_every_analysis_in_a_page_is_right(folder):
    every = [(page, text) for page in PAGES for text in YAML.findall(page.read_text(encoding="utf-8"))]
    written = [(page, text) for page, text in every if "dpkit:" in text or "steps:" in text]  # others are a part of one
    assert len(written) >= 2
    for place, (page, text) in enumerate(written):
        (folder[0] / f"{page.stem}-{place}.yaml").write_text(text, encoding="utf-8")
    assert wrong_among(sorted(folder[0].glob("*-*.yaml")), folder) == []


def test_every_shell_block_is_run_by_a_test():
    """The pages whose commands run are named above; a page with commands that nobody runs is a promise that nobody keeps."""
    run = {"tutorial-analyst.md", "tutorial-reviewer.md", "flights/README.md"}
    found = {
        page.name if page.parent.name == "docs" else f"{page.parent.name}/{page.name}"
        for page in PAGES
        if SHELL.search(page.read_text(encoding="utf-8"))
    }
    assert found == run


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
    assert wrong_among(files, folder) == []
