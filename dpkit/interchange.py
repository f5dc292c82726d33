"""`to_json` and `from_json`: the core's serialisation, with the installed plugins' classes as the default."""

from __future__ import annotations

from dpkit.contracts.registry import Registry
from dpkit.hooks.manager import default_registry
from dpkit.pricing.serialise import dump, parse


def to_json(value: object) -> str:
    """An event, loss, claim, distance or guarantee as versioned JSON."""
    return dump(value)


def from_json(text: str, *, registry: Registry | None = None) -> object:
    """The value that `to_json` wrote, equal to the original; only classes of the registry can come out of it."""
    return parse(text, registry=default_registry() if registry is None else registry)
