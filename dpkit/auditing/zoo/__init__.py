"""The zoo: mechanisms known to be broken or right, with their claims and pairs; `dpkit audit --zoo` runs them all."""

from __future__ import annotations

import warnings

from dpkit.auditing.zoo.additive import ADDITIVE
from dpkit.auditing.zoo.entry import Entry
from dpkit.auditing.zoo.selection import SELECTION
from dpkit.auditing.zoo.sparse_vector import SPARSE_VECTOR
from dpkit.auditing.zoo.surveys import SURVEYS
from dpkit.contracts.registry import Registry
from dpkit.errors import PluginWarning, UnknownNameError
from dpkit.hooks.manager import Installed, default_registry, installed_plugins

ZOO: tuple[Entry, ...] = (*ADDITIVE, *SPARSE_VECTOR, *SELECTION, *SURVEYS)
"""dpkit's own entries. They are not registered by the hook: that would load the audit wherever plugins are loaded."""


def whole_zoo(installed: Installed | None = None) -> tuple[Entry, ...]:
    """dpkit's own entries, then those of plugins; one that takes the name of dpkit's own is left out, with a warning."""
    found = installed_plugins() if installed is None else installed
    declared = {entry.name: entry for entry in found.registry.zoo}
    own = {entry.name for entry in ZOO}
    added = []
    for plugin in found.plugins:
        for name in plugin.adds.get("zoo", ()):
            if name in own:
                message = f"The zoo entry {name!r} of the plugin {plugin.name} was left out: dpkit has one of that name."
                warnings.warn(message, PluginWarning, stacklevel=2)
            else:
                added.append(Entry.of(declared[name], plugin=plugin.name))
    return (*ZOO, *added)


def entry_named(name: str, registry: Registry | None = None) -> Entry:
    """The entry of that name: dpkit's own, else that of an installed plugin."""
    for entry in ZOO:
        if entry.name == name:
            return entry
    declared = (default_registry() if registry is None else registry).zoo
    for item in declared:
        if item.name == name:
            return Entry.of(item)
    raise UnknownNameError(kind="zoo entry", name=name, known=[entry.name for entry in (*ZOO, *declared)])


__all__ = ["ZOO", "Entry", "entry_named", "whole_zoo"]
