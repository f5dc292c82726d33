"""The registry is filled through hooks, by the built-ins as by plugins; names are checked once."""

from types import SimpleNamespace

import pytest

import dpkit
from dpkit import Citation, DuplicateNameError, LossRule, Neighbours, PluginError, PureDP, PureEvent
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.hooks.manager import build_manager, build_registry


def rule(name):
    return LossRule(
        name=name,
        event=PureEvent,
        loss=PureDP,
        neighbours=tuple(Neighbours),
        because=Citation(key="dpkit", locator="a test"),
        bound=lambda event: PureDP(epsilon=event.epsilon / 2),
    )


def plugin(**hooks):
    return SimpleNamespace(**{name: dpkit.hookimpl(function) for name, function in hooks.items()})


def registry_with(*plugins):
    manager = build_manager(discover=False)
    for index, item in enumerate(plugins):
        manager.register(item, name=f"plugin-{index}")
    return build_registry(manager)


def test_a_plugin_s_rule_prices_its_event():
    registry = registry_with(plugin(dpkit_loss_rules=lambda: [rule("half")]))
    assert dpkit.account(PureEvent(epsilon=1.0), "pure", registry=registry).epsilon(delta=0.0) == 0.5


def test_the_default_registry_is_built_once():
    assert dpkit.default_registry() is dpkit.default_registry()
    assert build_registry(build_manager(discover=False)).accountant_names[-1] == "best"


def test_two_plugins_that_claim_one_name_are_refused_by_name():
    one, two = plugin(dpkit_loss_rules=lambda: [rule("same")]), plugin(dpkit_loss_rules=lambda: [rule("same")])
    with pytest.raises(DuplicateNameError, match=r"'same'.*plugin-") as caught:
        registry_with(one, two)
    assert set(caught.value.owners) == {"plugin-0", "plugin-1"}


def test_a_plugin_cannot_replace_a_built_in():
    with pytest.raises(DuplicateNameError, match="zcdp"):
        registry_with(plugin(dpkit_accountants=lambda: [ZCDPAccountant()]))
    with pytest.raises(DuplicateNameError, match="laplace-pure"):
        registry_with(plugin(dpkit_loss_rules=lambda: [rule("laplace-pure")]))


@pytest.mark.parametrize(
    "hooks",
    [
        {"dpkit_loss_rules": lambda: [PureDP(epsilon=1.0)]},
        {"dpkit_loss_rules": lambda: None},
        {"dpkit_accountants": lambda: ["zcdp"]},
    ],
)
def test_a_hook_that_returns_something_else_is_named(hooks):
    with pytest.raises(PluginError, match="plugin-0"):
        registry_with(plugin(**hooks))


def test_removing_an_unknown_rule_offers_the_nearest():
    with pytest.raises(dpkit.UnknownNameError, match="laplace-zcdp"):
        dpkit.default_registry().without("laplace-zdcp")
