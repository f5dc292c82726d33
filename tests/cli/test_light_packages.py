"""Packages of which a command loads a part: the same functions, and the whole package for whoever asks for more."""

import json
import subprocess
import sys

import pytest

from dpkit.cli.light_packages import AT_ONCE

LIGHT = "import sys; from dpkit.cli.light_packages import lighten_packages; lighten_packages()\n"


def printed(code, *, environment=None):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.splitlines()


@pytest.mark.parametrize("package", AT_ONCE)
def test_each_name_is_the_object_that_the_whole_package_gives(package):
    names = sorted(AT_ONCE[package].names)
    code = LIGHT + f"import json, {package} as found\n"
    code += f"before = [getattr(found, name) for name in {names}]; light = type(found).__name__\n"
    code += "found.__all__\n"
    code += f"print(json.dumps([light, type(found).__name__, [getattr(found, n) is b for n, b in zip({names}, before)]]))"
    light, whole, same = json.loads(printed(code)[-1])
    assert (light, whole) == ("_Light", "module")
    assert same == [True] * len(names)


def test_nothing_else_of_scipy_is_loaded_before_it_is_asked_for():
    code = LIGHT + "from scipy.special import ndtr; print(float(ndtr(0.0)), 'scipy.special._basic' in sys.modules)\n"
    code += "from scipy.special import logsumexp; print('scipy.special._basic' in sys.modules)\n"
    code += "import scipy.special; print(scipy.special.logsumexp is logsumexp, hasattr(scipy.special, 'no_such_name'))"
    assert printed(code) == ["0.5 False", "True", "True False"]


def test_packages_that_build_on_the_whole_of_it_find_it():
    code = LIGHT + "from scipy.special import ndtri; import scipy.stats, scipy.optimize, randomgen\n"
    code += "print(scipy.stats.norm.cdf(0.0), randomgen.Philox.__name__)"
    assert printed(code) == ["0.5 Philox"]


def test_all_threads_see_one_whole_package():
    code = LIGHT + "import threading, scipy.special as found; from concurrent.futures import ThreadPoolExecutor\n"
    code += "with ThreadPoolExecutor(8) as pool: print(len({id(one) for one in pool.map(lambda _: found.softmax, range(64))}))"
    assert printed(code) == ["1"]


def test_where_other_array_libraries_are_asked_for_nothing_waits(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    assert printed(LIGHT + "import scipy.special; print(type(scipy.special).__name__)") == ["module"]


def test_a_package_that_fails_to_load_fails_again(tmp_path, monkeypatch):
    folder = tmp_path / "randomgen"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('broken')\n", encoding="utf-8")
    code = LIGHT + f"sys.path.insert(0, {str(tmp_path)!r})\nimport randomgen\n"
    code += "for turn in range(2):\n try: randomgen.Philox\n except ImportError as error: print(error)"
    assert printed(code) == ["broken", "broken"]


@pytest.mark.parametrize("module", ["scipy.special._ufuncs", "scipy.special._of_another_version"])
def test_what_another_version_keeps_elsewhere_comes_from_the_whole_package(module):
    code = LIGHT + "from dpkit.cli.light_packages import AT_ONCE, LightPart\n"
    code += f"AT_ONCE['scipy.special'] = LightPart({module!r}, frozenset(['logsumexp']))\n"
    code += "from scipy.special import logsumexp; print(float(logsumexp([0.0])), 'scipy.special._basic' in sys.modules)"
    assert printed(code) == ["0.0 True"]


@pytest.mark.parametrize("asked", ["randomgen.__version__", "'Philox' in dir(randomgen)", "'logsumexp' in dir(scipy.special)"])
def test_what_a_package_says_of_itself_is_that_of_the_whole(asked):
    code = LIGHT + f"import randomgen, scipy.special; before = {asked}\n"
    code += f"randomgen.Philox, scipy.special.logsumexp\nprint(before == ({asked}) and bool(before))"
    assert printed(code) == ["True"]
