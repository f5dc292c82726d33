"""Building the plugin manager and, from what the plugins return, the registry. Nothing here runs at import."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

import pluggy

from dpkit.accountants.best import BestAccountant
from dpkit.core.accountant import Accountant, AnyAccountant
from dpkit.core.loss_rules import LossRule
from dpkit.core.registry import Registry
from dpkit.errors import DuplicateNameError, PluginError
from dpkit.hooks import builtins, specs

Item = TypeVar("Item")


def build_manager(*, discover: bool = True) -> pluggy.PluginManager:
    """A manager with the specs and the built-ins, and with the installed plugins of the entry-point group `dpkit`."""
    manager = pluggy.PluginManager(specs.PROJECT)
    manager.add_hookspecs(specs)
    manager.register(builtins, name="dpkit")
    if discover:
        manager.load_setuptools_entrypoints(specs.PROJECT)
    manager.check_pending()
    return manager


def build_registry(manager: pluggy.PluginManager) -> Registry:
    """Everything that the plugins return, names checked once; `best` is the product of all accountants."""
    rules: dict[str, tuple[LossRule, str]] = {}
    for owner, items in _contributions(manager, "dpkit_loss_rules"):
        for rule in items:
            if not isinstance(rule, LossRule):
                raise PluginError(plugin=owner, reason=f"dpkit_loss_rules returned a {type(rule).__name__}.")
            _claim(rules, rule.name, rule, owner, kind="loss rule")
    accountants: dict[str, tuple[AnyAccountant, str]] = {}
    for owner, items in _contributions(manager, "dpkit_accountants"):
        for accountant in items:
            if not isinstance(accountant, Accountant):
                raise PluginError(plugin=owner, reason=f"dpkit_accountants returned a {type(accountant).__name__}.")
            _claim(accountants, accountant.name, accountant, owner, kind="accountant")
    components = tuple(accountant for accountant, _ in accountants.values())
    return Registry(
        rules=tuple(rule for rule, _ in rules.values()),
        accountants=(*components, BestAccountant(components=components)),
    )


@lru_cache(maxsize=1)
def default_registry() -> Registry:
    """The registry of what is installed, built once, when it is first needed."""
    return build_registry(build_manager())


def _contributions(manager: pluggy.PluginManager, hook: str) -> Iterable[tuple[str, Iterable[object]]]:
    """What each plugin returns for one hook, the built-ins first."""
    caller: pluggy.HookCaller = getattr(manager.hook, hook)
    for implementation in caller.get_hookimpls():
        returned = implementation.function()
        if not isinstance(returned, Iterable):
            raise PluginError(
                plugin=implementation.plugin_name, reason=f"{hook} returned a {type(returned).__name__}, not a list."
            )
        yield implementation.plugin_name, returned


def _claim(taken: dict[str, tuple[Item, str]], name: str, item: Item, owner: str, *, kind: str) -> None:
    if name in taken:
        raise DuplicateNameError(kind=kind, name=name, owners=[taken[name][1], owner])
    taken[name] = (item, owner)
