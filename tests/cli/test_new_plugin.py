"""`dpkit new-plugin` writes a complete plugin of every kind: it loads, does what it says, and passes its own tests."""

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpkit.cli import main
from dpkit.cli.plugins import new_plugin
from dpkit.cli.scaffold import KINDS
from dpkit.hooks.catalogue import BY_HOOK
from dpkit.hooks.manager import load_plugins
from dpkit.testing import laws_of_plugin

ROOT = Path(__file__).parent.parent.parent
QUICK = {
    "mechanism": "form_shows_nothing",
    "algorithm": "more_noise_never_costs_more",
    "query": "the_fast_sum_is_the_sum",
    "source": "rows_do_not_depend_on_the_batch",
    "accountant": "shares_sum_to_one",
    "engine": "totals_are_those_of_the_built_in_engine",
}
HOOKS = {kind: "dpkit_queries" if kind == "query" else f"dpkit_{kind}s" for kind in QUICK}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """`written(kind)` is the folder of a new plugin of that kind, on the path."""
    modules = []

    def write(kind):
        run = CliRunner().invoke(main, ["new-plugin", f"my-{kind}", "--kind", kind, "--into", str(tmp_path)])
        assert run.exit_code == 0, run.output
        folder = tmp_path / f"dpkit-my-{kind}"
        monkeypatch.syspath_prepend(str(folder))
        modules.append(f"dpkit_my_{kind}")
        return folder

    yield write
    for name in modules:
        sys.modules.pop(name, None)


def functions_of(path):
    """The tests of a file that are parametrised over nothing."""
    scope = {"__name__": "a_test_of_a_new_plugin"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    return [item for name, item in scope.items() if name.startswith("test_") and not inspect.signature(item).parameters]


def test_every_kind_can_be_asked_for():
    (option,) = [parameter for parameter in new_plugin.params if parameter.name == "kind"]
    assert set(option.type.choices) == set(KINDS) == set(QUICK)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_loads_obeys_a_law_and_does_what_its_tests_say(written, kind):
    folder = written(kind)
    module = importlib.import_module(f"dpkit_my_{kind}")
    (_, plugin) = load_plugins(discover=False, extra={"mine": module}).plugins
    assert plugin.problems == ()
    assert plugin.adds[BY_HOOK[HOOKS[kind]].field] == (f"my-{kind}",)
    (law,) = [check for check in laws_of_plugin(module) if check.law == QUICK[kind] and check.subject.startswith(kind)]
    law.run()
    tests = functions_of(folder / "tests" / "test_laws.py")
    assert any("would_be_caught" in test.__name__ for test in tests)  # it has a mutant of its own
    for test in tests:
        test()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_passes_all_its_own_tests_and_the_kit(written, kind):
    folder = written(kind)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])}
    info = folder / f"dpkit_my_{kind}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: dpkit-my-{kind}\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[dpkit]\nmy-{kind} = dpkit_my_{kind}\n", encoding="utf-8")
    for command in (["pytest", "-q", "-p", "no:cacheprovider"], ["dpkit.cli", "plugins", "check", f"my-{kind}"]):
        done = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, env=environment, cwd=folder, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize(("name", "kind"), [("zcdp", "accountant"), ("blocks", "engine"), ("laplace", "mechanism")])
def test_a_name_of_dpkit_s_own_is_refused(name, kind, tmp_path):
    run = CliRunner().invoke(main, ["new-plugin", name, "--kind", kind, "--into", str(tmp_path)])
    assert run.exit_code == 2


def test_a_name_that_python_keeps_is_refused_as_that_of_a_function(tmp_path):
    assert CliRunner().invoke(main, ["new-plugin", "while", "--kind", "query", "--into", str(tmp_path)]).exit_code == 2
