"""`dpkit audit NAME`: every mechanism of an installed plugin, at typical parameters, family-wise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpkit.auditing.certificates.certificate import AuditCertificate
    from dpkit.hooks.manager import Installed

_SUBJECTS = 2


def plugin_named(name: str) -> Installed | None:
    """The installed plugins, if one has this name (the built-ins are `dpkit`); None where none has."""
    from dpkit.hooks.manager import installed_plugins

    found = installed_plugins()
    return found if any(plugin.name == name for plugin in found.plugins) else None


def audit_plugin(
    installed: Installed,
    name: str,
    *,
    confidence: float,
    samples: int,
    seed: int,
    time: float | None,
    watch: Callable[[str, int, int], Callable[[int, float], None] | None],
) -> list[AuditCertificate]:
    """Certificates for all its mechanisms; the error probability and the time are split over them."""
    from dpkit.errors import PluginError
    from dpkit.testing.audit_laws import audit_subject
    from dpkit.testing.cases import MechanismCase

    plugin = next(one for one in installed.plugins if one.name == name)
    if not plugin.healthy:
        raise PluginError(plugin=name, reason=" ".join(plugin.problems))
    registry = installed.registry
    cases = [MechanismCase(factory=registry.mechanism(made), registry=registry) for made in plugin.adds.get("mechanisms", ())]
    if not cases:
        raise PluginError(plugin=name, reason="it adds no mechanism to audit.")
    todo = [(case, subject) for case in cases for subject in case.subjects(_SUBJECTS)[:_SUBJECTS]]
    level = 1.0 - (1.0 - confidence) / len(todo)
    return [
        certificate
        for index, (case, subject) in enumerate(todo)
        for certificate in audit_subject(
            case,
            subject,
            confidence=level,
            samples=samples,
            seed=seed + 1_000 * index,
            time=None if time is None else time / len(todo),
            watch=watch(case.factory.name, index, len(todo)),
        )
    ]
