"""Finding installed plugins: one that cannot be imported, suits another version or has a name twice is named."""

import sys
from dataclasses import replace

import pytest
from hooks.made_plugins import HEALTHY, problem_of
from packaging.requirements import Requirement

import dpkit
from dpkit import PluginError
from dpkit.errors import PluginWarning
from dpkit.hooks.discovery import _plainly_suits
from dpkit.hooks.manager import installed_plugins, load_plugins


@pytest.mark.parametrize(
    "source", ["import nothing_of_that_name", "raise SystemExit(3)", "raise KeyboardInterrupt", "def broken(:"]
)
def test_a_plugin_that_fails_to_import_is_reported_with_its_version(install, source):
    install("bad", source, version="0.7")
    install("good", HEALTHY.format(name="good"))
    found = load_plugins()
    assert "import of 'dpkit_bad' failed" in problem_of("bad", found)
    assert any("'bad' (dpkit-bad 0.7) was left out" in problem for problem in found.registry.problems)
    assert "good" in {rule.name for rule in found.registry.rules}


def test_a_plugin_for_another_version_of_dpkit_is_left_out_by_name_and_not_imported(install):
    later = install("later", "raise RuntimeError('imported')", requires=["numpy", "dpkit>=99,<100"])
    install("suits", HEALTHY.format(name="suits"), requires=["dpkit>=0.0.1.dev0", 'dpkit[testing]>=99; extra == "test"'])
    found = load_plugins()
    assert f"it requires dpkit <100,>=99, and {dpkit.__version__} is installed" in problem_of("later", found)
    assert later not in sys.modules
    assert problem_of("suits", found) == ""


def test_a_plugin_whose_import_takes_seconds_is_named(install, monkeypatch):
    install("idle", HEALTHY.format(name="idle"))
    loaded_once = load_plugins(only=["idle"])
    of_dpkit, idle = loaded_once.plugins
    assert of_dpkit.slow == ""
    assert "its import took 7 s" in replace(idle, seconds=7.5).slow
    monkeypatch.setattr("dpkit.hooks.manager.SLOW_SECONDS", 1e-9)
    monkeypatch.setattr("dpkit.hooks.manager.load_plugins", lambda: loaded_once)
    installed_plugins.cache_clear()
    with pytest.warns(PluginWarning, match="The plugin 'idle' is slow"):
        installed_plugins()
    installed_plugins.cache_clear()


def test_two_distributions_with_one_plugin_name_are_refused(install):
    install("same", HEALTHY.format(name="a"), distribution="dpkit-here")
    install("same", HEALTHY.format(name="b"), distribution="dpkit-there")
    found = load_plugins()
    problems = [plugin.problems[0] for plugin in found.plugins if plugin.name == "same"]
    assert len(problems) == 2
    assert "dpkit-there 1.2" in problems[0]


def test_an_allow_list_keeps_other_modules_from_being_imported(install):
    unwanted = install("unwanted", "raise RuntimeError('imported')")
    install("wanted", HEALTHY.format(name="wanted"))
    found = load_plugins(only=["wanted"])
    assert [plugin.name for plugin in found.plugins] == ["dpkit", "wanted"]
    assert unwanted not in sys.modules


def test_an_allow_list_with_an_unknown_name_says_what_to_install():
    with pytest.raises(PluginError, match="dpkit-nonsense"):
        load_plugins(only=["nonsense"])


def test_an_import_on_a_busy_machine_is_not_slow_and_one_that_waits_is():
    from dpkit.hooks.discovery import _taken

    assert _taken(0.5, 4.0) == 0.5
    assert _taken(0.01, 4.0) == 4.0


def test_waiting_for_the_processor_is_no_waiting(monkeypatch):
    from dpkit.hooks import discovery

    queued = iter(["7 1000000000 3", "9 5000000000 4", "no numbers"])
    monkeypatch.setattr(discovery.Path, "read_text", lambda *_, **__: next(queued))
    monkeypatch.setattr(discovery.time, "perf_counter", iter([10.0, 15.0, 20.0]).__next__)
    before, after, unknown = (discovery._unqueued() for _ in range(3))
    assert after - before == pytest.approx(1.0)
    assert unknown == 20.0


@pytest.mark.parametrize("ours", ["0.1.0.dev0", "0.1", "0.2.dev3", "0.2.0", "1.0"])
@pytest.mark.parametrize(
    "needs", [">=0.1.0.dev0", ">=0.1.0.dev0,<0.2", "<0.2,>=0.1", "<1", ">=0.2.dev4", "==0.1", "~=0.1", ">=0.1rc1"]
)
def test_a_version_that_plainly_suits_suits_by_the_rules_of_packaging(ours, needs):
    said = _plainly_suits(f"dpkit{needs}", ours)
    assert not said or Requirement(f"dpkit{needs}").specifier.contains(ours, prereleases=True)
    assert _plainly_suits(f'dpkit[arrow]{needs}; extra == "test"', ours)


def test_what_our_own_plugins_require_is_plain():
    assert _plainly_suits("dpkit[arrow]>=0.1.0.dev0,<0.2", "0.1.0.dev0")
    assert not _plainly_suits("dpkit>=0.1.0.dev0,<0.2", "0.2.dev0")
