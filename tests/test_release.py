"""What is uploaded: complete metadata, links that lead somewhere, and wheels that alone suffice for the tutorial."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
HOME = "https://example.org/owner/dpkit"
SHELL = re.compile(r"^```sh\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def release():
    spec = importlib.util.spec_from_file_location("release_script", ROOT / ".ci" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copied(tmp_path):
    """The files that a release looks at."""
    for path in [ROOT / "pyproject.toml", ROOT / "LICENSE", ROOT / "README.md", ROOT / "dpkit/_version.py"]:
        (tmp_path / path.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    for folder in (ROOT / "plugins").iterdir():
        if (folder / "pyproject.toml").is_file():
            (tmp_path / "plugins" / folder.name).mkdir(parents=True)
            for name in ("pyproject.toml", "LICENSE", "README.md"):
                shutil.copy(folder / name, tmp_path / "plugins" / folder.name / name)
    return tmp_path


def test_nothing_is_to_be_mended(release, copied):
    assert list(release.problems(copied)) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r'version = "[^"]+"', 'version = "9.9"', "its version is 9.9"),
        (r",<0\.\d+", "", "should require"),
        (r'license = "[^"]+"\n', "", "no license"),
        (r'"dpkit>=[^"]+", ', "", "does not require dpkit"),
    ],
)
def test_what_is_to_be_mended_is_named(release, copied, old, new, said):
    project = copied / "plugins/dpkit-stats/pyproject.toml"
    changed = re.sub(old, new, project.read_text(), count=1)
    assert changed != project.read_text()
    project.write_text(changed)
    assert any(said in problem and "dpkit-stats" in problem for problem in release.problems(copied))


NUMBA = [("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64")]
"""Systems and processors of which all wheels of numba are there."""


@pytest.mark.parametrize(
    ("system", "machine", "python", "allowed"),
    [
        *[(*place, python, "0.68.1") for place in NUMBA for python in ("3.11", "3.14")],
        ("darwin", "x86_64", "3.13", "0.62.1"),
        ("darwin", "x86_64", "3.14", ""),
        ("linux", "x86_64", "3.15", ""),
        ("linux", "riscv64", "3.13", ""),
    ],
)
def test_numba_comes_along_where_it_has_wheels(system, machine, python, allowed):
    """Which version is taken there, or none: pip would try to build what has no wheel, and nothing would be installed."""
    place = {"sys_platform": system, "platform_machine": machine, "python_version": python}
    place["platform_python_implementation"] = "CPython"
    text = (ROOT / "plugins/dpkit-irls/pyproject.toml").read_text(encoding="utf-8")
    needs = [Requirement(one) for one in tomllib.loads(text)["project"]["dependencies"] if one.startswith("numba")]
    asked = [one for one in needs if one.marker is not None and one.marker.evaluate(place)]
    assert len(asked) == bool(allowed)
    assert [v for v in ("0.62.1", "0.68.1") if asked and asked[0].specifier.contains(v)][-1:] == [allowed] * bool(allowed)


def test_links_lead_into_the_repository(release, copied):
    release.prepare(copied, repository=HOME)
    tag = f"v{release.version_of(ROOT)}"
    for folder in release.distributions(copied):
        links = re.findall(r"\]\(([^)\s]+)\)", (folder / "README.md").read_text())
        assert all(link.startswith(("https://", "#")) for link in links)
        for link in links:
            if link.startswith(HOME):
                kind, at, place = link.removeprefix(HOME + "/").split("/", 2)
                assert kind in ("blob", "raw")
                assert at == tag
                assert (ROOT / place.partition("#")[0]).exists(), place
        assert f'Repository = "{HOME}"' in (folder / "pyproject.toml").read_text()


@pytest.mark.slow
def test_wheels_alone_run_the_tutorial_offline(release, tmp_path):
    built, environment, work = tmp_path / "dist", tmp_path / "empty", tmp_path / "work"
    (tmp_path / "copy").mkdir()
    release.committed(tmp_path / "copy")
    release.prepare(tmp_path / "copy", repository=HOME)
    release.build(tmp_path / "copy", built)
    wheels = sorted(built.glob("*.whl"))
    assert len(wheels) == len(release.distributions(ROOT))
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            [name] = [name for name in packed.namelist() if name.endswith("METADATA")]
            found = Parser().parsestr(packed.read(name).decode())
            assert found["License-Expression"] == "Apache-2.0"
            assert any(HOME in url for url in found.get_all("Project-URL"))
            assert not [name for name in packed.namelist() if name.startswith(("tests/", "docs/"))]
    # the index is asked once, for what is not ours; the environment is then made without it
    wanted = ["dpkit[sql,arrow,frames]", "dpkit-stats", "dpkit-irls", "dpkit-sql"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "download", "--find-links", built, "-d", built, "--only-binary=:all:", "--pre", *wanted], check=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    inside = [environment / "bin/python", "-m", "pip", "-q"]
    subprocess.run([*inside, "install", "--no-index", "--find-links", built, "--pre", *wanted], check=True)
    work.mkdir()
    shutil.copytree(ROOT / "examples", work / "examples")
    script = "set -e\n" + "\n".join(SHELL.findall((ROOT / "docs/tutorial-analyst.md").read_text(encoding="utf-8")))
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    known["PATH"] = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", script], cwd=work, env=known, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (work / "out" / "analysis-result.json").is_file()
