"""The zoo: mechanisms known to be broken or right, with their claims and pairs; `dpkit audit --zoo` runs them all."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

from dpkit.auditing.audit import audit
from dpkit.auditing.betting.campaign import Watch
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.independence import KnownIndependent
from dpkit.auditing.zoo.entries import ENTRIES
from dpkit.contracts.registry import Registry
from dpkit.contracts.zoo import ZooEntry
from dpkit.errors import PluginWarning, UnknownNameError
from dpkit.hooks.manager import Installed, default_registry, installed_plugins
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditableEntry(ZooEntry):
    """An entry that can be audited. `plugin` names where it is from; dpkit's own are of `dpkit`."""

    plugin: str

    @classmethod
    def of(cls, declared: ZooEntry, *, plugin: str = "") -> AuditableEntry:
        """The entry that a plugin declares."""
        return cls(plugin=plugin, **{part.name: getattr(declared, part.name) for part in fields(ZooEntry)})

    def audit(self, **options: Any) -> AuditCertificate:
        """The certificate that decides about this entry: the refuted one, else the last. Options as in `audits`."""
        certificates = self.audits(**options)
        return next((one for one in certificates if one.refuted), certificates[-1])

    def audits(
        self,
        *,
        confidence: float = 0.999,
        samples: int = 200_000,
        rng: int = 0,
        time: float | None = None,
        watch: Watch | None = None,
    ) -> list[AuditCertificate]:
        """All certificates; where only rounding is at stake, only that one."""
        known = KnownIndependent(self.sampler) if self.plugin == "dpkit" else self.sampler
        found = audit(
            known, self.claim, self.pair, confidence, samples, rng, density=self.density, falsifiers=self.falsifiers,
            floating_point=self.floating_point, time=time, watch=watch, recipe={"zoo": self.name},
        )  # fmt: skip
        return [one for one in found if one.falsifier != "none"]


ZOO: tuple[AuditableEntry, ...] = tuple(AuditableEntry.of(entry, plugin="dpkit") for entry in ENTRIES)
"""dpkit's own entries. They are not registered by the hook: that would load the audit wherever plugins are loaded."""


def whole_zoo(installed: Installed | None = None) -> tuple[AuditableEntry, ...]:
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
                added.append(AuditableEntry.of(declared[name], plugin=plugin.name))
    return (*ZOO, *added)


def entry_named(name: str, registry: Registry | None = None) -> AuditableEntry:
    """The entry of that name: dpkit's own, else that of an installed plugin."""
    known = (*ZOO, *(default_registry() if registry is None else registry).zoo)
    for entry in known:
        if entry.name == name:
            return entry if isinstance(entry, AuditableEntry) else AuditableEntry.of(entry)
    raise UnknownNameError(kind="zoo entry", name=name, known=[entry.name for entry in known])


__all__ = ["ZOO", "AuditableEntry", "entry_named", "whole_zoo"]
