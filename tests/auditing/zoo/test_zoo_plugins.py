"""Entries of the zoo that plugins add by hook: shown with their plugin, replayed, and none stops the others."""

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import dpkit
from dpkit.auditing import zoo
from dpkit.auditing.certificates.replay import replay
from dpkit.cli import main
from dpkit.hooks.manager import load_plugins


def half(value, n, rng):
    return value + rng.laplace(scale=0.5, size=n)


def failing(value, n, rng):
    raise RuntimeError(f"the data are {value}")


def leaving(value, n, rng):
    raise SystemExit(0)


def entry(name="own", sampler=half, **changes):
    given = {"claim": dpkit.PureDP(epsilon=1.0), "pair": (0.0, 1.0), "truth": "broken", "about": "half of the noise"}
    return dpkit.ZooEntry(name=name, sampler=sampler, **given | changes)


def installed(**plugins):
    hooked = {
        name: SimpleNamespace(dpkit_zoo=dpkit.hookimpl(lambda items=items: items() if callable(items) else items))
        for name, items in plugins.items()
    }
    return load_plugins(discover=False, extra=hooked)


@pytest.fixture
def run(monkeypatch):
    """`dpkit audit --zoo` with one entry of dpkit's own and those of these plugins."""

    def of(*options, **plugins):
        monkeypatch.setattr(zoo, "ZOO", (zoo.entry_named("laplace half"),))
        found = installed(**plugins)
        monkeypatch.setattr(zoo, "installed_plugins", lambda: found)
        return CliRunner().invoke(main, ["audit", "--zoo", "--seed", "1", *options])

    return of


def test_entries_are_shown_with_their_plugin(run):
    result = run(one=[entry()])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert [line[:3] for line in lines[:2]] == [["as", "known", "dpkit"], ["as", "known", "one"]]


def test_an_entry_that_raises_is_reported_and_the_others_go_on(run):
    result = run(one=[entry("failing", failing), entry("leaving", leaving)], two=[entry("after")])
    assert result.exit_code == 1, result.output
    assert [line.split()[0] for line in result.output.splitlines()[:4]] == ["as", "FAILED", "FAILED", "as"]
    assert "RuntimeError" in result.output
    assert "the data are" not in result.output
    assert "Traceback" not in result.output


def test_certificates_are_whole_where_an_entry_raises(run):
    result = run("--json", one=[entry("failing", failing), entry("after")])
    assert result.exit_code == 1
    targets = [one["target"] for one in json.loads(result.stdout)["certificates"]]
    assert targets == ["zoo:laplace half", "zoo:after"]
    assert "failing" in result.stderr


def test_an_entry_that_is_not_as_it_says_is_shown(run):
    result = run(one=[entry(truth="right")])
    assert result.exit_code == 1
    assert result.output.splitlines()[1].startswith("NOT AS KNOWN")


def test_a_plugin_whose_hook_raises_is_left_out_alone():
    def broken():
        raise ValueError("no")

    found = installed(bad=broken, good=[entry()])
    assert [one.plugin for one in zoo.whole_zoo(found) if one.name == "own"] == ["good"]
    assert "dpkit_zoo raised ValueError" in found.registry.problems[0]


def test_the_name_of_an_own_entry_is_taken():
    with pytest.warns(dpkit.PluginWarning, match="'laplace' of the plugin bad was left out"):
        gathered = zoo.whole_zoo(installed(bad=[entry("laplace"), entry("fine")]))
    assert [one.plugin for one in gathered if one.name == "laplace"] == ["dpkit"]
    assert [one.plugin for one in gathered if one.name == "fine"] == ["bad"]


def test_two_plugins_with_one_name_are_both_left_out():
    found = installed(one=[entry()], two=[entry()])
    assert found.registry.zoo == ()
    assert all("zoo entry name 'own'" in problem for problem in found.registry.problems)


def test_a_certificate_is_replayed_with_the_plugin_and_not_without_it():
    registry = installed(one=[entry()]).registry
    certificate = zoo.entry_named("own", registry).audit(rng=3)
    assert certificate.refuted
    assert replay(certificate, registry=registry).confirmed
    with pytest.raises(dpkit.UnknownNameError, match="zoo entry"):
        replay(certificate, registry=load_plugins(discover=False).registry)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"sampler": 3},
        {"claim": 1.0},
        {"pair": (1.0,)},
        {"truth": "maybe"},
        {"about": ""},
        {"falsifiers": "black box"},
        {"falsifiers": ()},
    ],
    ids=str,
)
def test_what_is_not_an_entry_is_refused(changes):
    with pytest.raises(dpkit.InvalidValueError, match=next(iter(changes))):
        entry(**changes)
