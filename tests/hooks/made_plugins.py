"""Plugins that tests make: healthy ones, their rules, and what is told of one when it is loaded."""

from types import SimpleNamespace

import dpkit
from dpkit import Citation, LossRule, Neighbours, PureDP, PureEvent
from dpkit.hooks.manager import load_plugins

HEALTHY = """
import dpkit
from dpkit import Citation, LossRule, Neighbours, PureDP, PureEvent

@dpkit.hookimpl
def dpkit_loss_rules():
    return [LossRule(name="{name}", event=PureEvent, loss=PureDP, neighbours=tuple(Neighbours),
                     because=Citation(key="dpkit", locator="a test"), bound=lambda event: PureDP(epsilon=event.epsilon / 2))]
"""


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


def loaded(**plugins):
    return load_plugins(discover=False, extra=plugins)


def problem_of(name, installed):
    (found,) = [plugin for plugin in installed.plugins if plugin.name == name]
    return " ".join(found.problems)
