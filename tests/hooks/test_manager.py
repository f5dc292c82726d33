"""Plugins are loaded one by one: a healthy one works whatever the others do, and each fault is named with its owner."""

import signal
import sys
import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from hooks.made_plugins import HEALTHY, loaded, plugin, problem_of, rule

import dpkit
from dpkit import (
    Citation,
    Compose,
    Event,
    LossRule,
    Neighbours,
    Parallel,
    PluginError,
    PureDP,
    PureEvent,
    Repeat,
    UnpricedEventError,
)
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.errors import PluginWarning
from dpkit.hooks.manager import installed_plugins, load_plugins


class UnspeakableError(Exception):
    def __str__(self):
        raise ValueError


class Nameless:
    @property
    def name(self):
        return 1 / 0

    def falsify(self, *arguments, **options):
        return []


def _raise(error):
    raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEvent(Event):
    epsilon: float


def test_a_plugin_s_rule_prices_its_own_event():
    found = loaded(one=plugin(dpkit_loss_rules=lambda: [replace(rule("half"), event=OwnEvent)]))
    assert dpkit.account(OwnEvent(epsilon=1.0), "pure", registry=found.registry).epsilon(delta=0.0) == 0.5
    assert not found.plugins[1].unused


@pytest.mark.parametrize("accountant", ["pure", "advanced", "zcdp", "rdp", "pld", "best"])
def test_a_plugin_s_rule_about_a_built_in_event_is_not_used_unasked(accountant):
    found = loaded(one=plugin(dpkit_loss_rules=lambda: [rule("half")]))
    event = Compose(events=(Repeat(event=PureEvent(epsilon=1.0), times=3), Parallel(events=(PureEvent(epsilon=0.5),))))
    guarantee = dpkit.account(event, accountant, registry=found.registry)
    assert guarantee.epsilon(delta=1e-9) == dpkit.account(event, accountant).epsilon(delta=1e-9)
    assert guarantee.holds
    (told,) = found.plugins[1].unused
    assert told.startswith("half: the plugin 'one' gives a rule about PureEvent")
    assert f"rule not used: {told}" in str(guarantee.explain())
    accepted = dpkit.account(event, accountant, registry=found.registry, accept=["half"])
    assert accepted.epsilon(delta=1e-9) < guarantee.epsilon(delta=1e-9)
    assert not accepted.holds
    assert "rule not used" not in str(accepted.explain())


def test_of_two_plugins_that_speak_of_one_event_only_the_one_that_defines_it_prices():
    mine, theirs = replace(rule("mine"), event=OwnEvent), replace(rule("theirs"), event=OwnEvent)
    here = SimpleNamespace(__name__=OwnEvent.__module__, dpkit_loss_rules=dpkit.hookimpl(lambda: [mine]))
    found = loaded(here=here, there=plugin(dpkit_loss_rules=lambda: [replace(theirs, bound=lambda _: PureDP(epsilon=0.0))]))
    assert found.registry.foreign.keys() == {"theirs"}
    assert dpkit.account(OwnEvent(epsilon=1.0), "pure", registry=found.registry).epsilon(delta=0.0) == 0.5
    nobody = loaded(one=plugin(dpkit_loss_rules=lambda: [mine]), other=plugin(dpkit_loss_rules=lambda: [theirs]))
    with pytest.raises(UnpricedEventError, match="somebody else's"):
        dpkit.account(OwnEvent(epsilon=1.0), "pure", registry=nobody.registry)


def test_the_default_registry_is_built_once():
    assert dpkit.default_registry() is dpkit.default_registry()
    assert loaded().registry.accountant_names[-1] == "best"


def test_two_plugins_that_claim_one_name_are_both_left_out_and_a_third_works(install):
    install("one", HEALTHY.format(name="same"), version="1.0")
    install("two", HEALTHY.format(name="same"), version="2.5")
    install("three", HEALTHY.format(name="other"))
    found = load_plugins()
    for name in ("one", "two"):
        assert "'same' is claimed by 'one' (dpkit-one 1.0) and by 'two' (dpkit-two 2.5)" in problem_of(name, found)
    assert not problem_of("three", found)
    assert "other" in {rule.name for rule in found.registry.rules}
    assert "same" not in {rule.name for rule in found.registry.rules}


def test_a_second_rule_of_one_name_is_refused_within_one_plugin():
    found = loaded(one=plugin(dpkit_loss_rules=lambda: [rule("same"), rule("same")]))
    assert "claimed by 'one' twice" in problem_of("one", found)


@pytest.mark.parametrize(
    "hooks",
    [{"dpkit_accountants": lambda: [ZCDPAccountant()]}, {"dpkit_loss_rules": lambda: [rule("laplace-pure")]}],
    ids=["accountant", "rule"],
)
def test_a_plugin_cannot_replace_a_built_in(hooks):
    found = loaded(thief=plugin(**hooks))
    assert "claimed by 'dpkit' (dpkit" in problem_of("thief", found)
    assert not problem_of("dpkit", found)


def test_an_event_class_of_a_taken_name_is_refused():
    from dataclasses import dataclass

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Repeat(dpkit.Event):
        times: int

    mine = LossRule(
        name="mine",
        event=Repeat,
        loss=PureDP,
        neighbours=tuple(Neighbours),
        because=Citation(key="dpkit", locator="a test"),
        bound=lambda event: PureDP(epsilon=0.0),
    )
    assert "event name 'Repeat'" in problem_of("thief", loaded(thief=plugin(dpkit_loss_rules=lambda: [mine])))


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"dpkit_loss_rules": lambda: [PureDP(epsilon=1.0)]}, "returned a PureDP, not a LossRule"),
        ({"dpkit_loss_rules": lambda: None}, "returned a NoneType, not a list"),
        ({"dpkit_loss_rules": lambda: "abc"}, "returned a str, not a list"),
        ({"dpkit_accountants": lambda: ["zcdp"]}, "returned a str, not a Accountant"),
        ({"dpkit_accountants": lambda: 1 / 0}, "dpkit_accountants raised ZeroDivisionError"),
        ({"dpkit_accountants": lambda: sys.exit(4)}, "dpkit_accountants raised SystemExit"),
        ({"dpkit_accountants": lambda: _raise(KeyboardInterrupt())}, "dpkit_accountants raised KeyboardInterrupt"),
        (
            {"dpkit_accountants": lambda: _raise(UnspeakableError())},
            "raised UnspeakableError: (it cannot be shown)",
        ),
        ({"dpkit_auditors": lambda: [Nameless()]}, "dpkit_auditors returned a auditor whose name raises ZeroDivisionError"),
        ({"dpkit_loss_rulse": lambda: []}, "there is no hook 'dpkit_loss_rulse'. Did you mean 'dpkit_loss_rules'?"),
        ({"dpkit_loss_rules": lambda registry: []}, "wrong signature"),
    ],
)
def test_a_fault_is_named_and_the_healthy_go_on(hooks, message):
    found = loaded(bad=plugin(**hooks), good=plugin(dpkit_loss_rules=lambda: [rule("good")]))
    assert message in problem_of("bad", found)
    assert "good" in {rule.name for rule in found.registry.rules}
    assert dpkit.account(dpkit.LaplaceEvent(ratio=1.0), registry=found.registry).epsilon(delta=1e-6) > 0.0


@pytest.mark.parametrize("name", ["dpkit_loss_rules", "dpkit_loss_rule"])
def test_a_hook_that_is_not_marked_is_found(name):
    found = loaded(bad=SimpleNamespace(**{name: list}))
    assert "not marked" in problem_of("bad", found) or "Did you mean" in problem_of("bad", found)


def test_a_hook_wrapper_is_refused():
    @dpkit.hookimpl(wrapper=True)
    def dpkit_loss_rules():
        return (yield)

    assert "hook wrapper" in problem_of("bad", loaded(bad=SimpleNamespace(dpkit_loss_rules=dpkit_loss_rules)))


def test_ctrl_c_while_a_hook_runs_is_no_fault_of_the_plugin():
    def pressed():
        signal.raise_signal(signal.SIGINT)
        return []

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            loaded(slow=plugin(dpkit_loss_rules=pressed))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_plugin_that_is_left_out_is_warned_of_and_explains_a_missing_name(install):
    install("bad", "import nothing_of_that_name")
    installed_plugins.cache_clear()
    try:
        with pytest.warns(PluginWarning, match="'bad'"):
            registry = dpkit.default_registry()
        with pytest.raises(dpkit.UnknownNameError, match=r"Installed but left out: The plugin 'bad' \(dpkit-bad 1.2\)"):
            registry.accountant("bad-accountant")
    finally:
        installed_plugins.cache_clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PluginWarning)
            dpkit.default_registry()
            installed_plugins.cache_clear()


def test_a_property_that_raises_is_not_the_end():
    class Odd:
        @property
        def dpkit_foo(self):
            raise RuntimeError

        @dpkit.hookimpl
        def dpkit_loss_rules(self):
            return [rule("odd")]

    found = loaded(odd=Odd(), good=plugin(dpkit_loss_rules=lambda: [rule("good")]))
    assert "good" in {rule.name for rule in found.registry.rules}


def test_a_plugin_without_hooks_is_told_so():
    assert "implements no hook" in problem_of("empty", loaded(empty=SimpleNamespace()))


def test_two_plugins_may_have_theorems_about_one_event():
    from dataclasses import dataclass

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Shared(dpkit.Event):
        epsilon: float

    def about(name):
        return LossRule(
            name=name,
            event=Shared,
            loss=PureDP,
            neighbours=tuple(Neighbours),
            because=Citation(key="dpkit", locator="a test"),
            bound=lambda event: PureDP(epsilon=event.epsilon),
        )

    found = loaded(
        one=plugin(dpkit_loss_rules=lambda: [about("first")]), two=plugin(dpkit_loss_rules=lambda: [about("second")])
    )
    assert not problem_of("one", found)
    assert not problem_of("two", found)


def test_an_event_may_be_named_like_something_that_the_core_imports():
    from dataclasses import make_dataclass

    kind = make_dataclass("Iterable", [("epsilon", float)], bases=(dpkit.Event,), frozen=True, kw_only=True)
    theorem = LossRule(
        name="odd",
        event=kind,
        loss=PureDP,
        neighbours=tuple(Neighbours),
        because=Citation(key="dpkit", locator="a test"),
        bound=lambda event: PureDP(epsilon=event.epsilon),
    )
    assert not problem_of("odd", loaded(odd=plugin(dpkit_loss_rules=lambda: [theorem])))


def test_what_a_plugin_prints_does_not_mix_with_what_a_command_prints(install, capsys):
    install("loud", "print('loud')\n" + HEALTHY.format(name="loud"))
    load_plugins()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "loud" in captured.err


def test_checking_a_name_of_two_distributions_names_both(install):
    from dpkit.testing.plugin_laws import laws_of_installed

    install("same", HEALTHY.format(name="a"), distribution="dpkit-here")
    install("same", HEALTHY.format(name="b"), distribution="dpkit-there")
    with pytest.raises(PluginError, match=r"dpkit-here 1\.2.*dpkit-there 1\.2"):
        laws_of_installed("same")


DEFINES = """
from dataclasses import dataclass
import dpkit

@dataclass(frozen=True, slots=True, kw_only=True)
class SilentEvent(dpkit.Event):
    ratio: float

@dpkit.hookimpl
def dpkit_sources():
    return [dpkit.Factory(name="silent", doc="Any.", make=dict)]
"""
SPEAKS = """
import dpkit
from dpkit_owner import SilentEvent

@dpkit.hookimpl
def dpkit_loss_rules():
    return [dpkit.LossRule(name="theirs", event=SilentEvent, loss=dpkit.PureDP, neighbours=tuple(dpkit.Neighbours),
                           because=dpkit.Citation(key="x", locator="y"), bound=lambda event: dpkit.PureDP(epsilon=0.0))]
"""


def test_an_event_belongs_to_the_plugin_that_defines_it_even_where_that_one_gives_no_rule(install):
    install("owner", DEFINES)
    install("speaker", SPEAKS)
    found = load_plugins(only=["owner", "speaker"])
    assert found.registry.foreign.keys() == {"theirs"}
    assert "an event of 'owner'" in found.registry.foreign["theirs"]
    assert found.plugins[-1].unused
