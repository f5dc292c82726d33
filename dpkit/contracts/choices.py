"""A choice: the name of something that is registered, and parameters for it, as an analysis writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """`NAME`, or `{NAME: {parameters}}`. `given` holds the parameters, a pair each.

    `among` are the factories that the name is one of: those of the analysis, which may allow fewer plugins than are
    installed. Without it the name is one of what is installed.
    """

    name: str
    given: tuple[tuple[str, object], ...] = ()
    among: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @property
    def parameters(self) -> dict[str, object]:
        """What was given, by name."""
        return dict(self.given)

    def __str__(self) -> str:
        return self.name if not self.given else f"{self.name}({', '.join(f'{key}={value}' for key, value in self.given)})"


def as_choice(value: object) -> Choice | None:
    """A name, a mapping from one name to its parameters (or to nothing), or a choice; None for anything else."""
    if isinstance(value, Choice):
        return value
    if isinstance(value, str) and value.strip():
        return Choice(name=value)
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    ((name, given),) = value.items()
    inner = {} if given is None else given
    if not isinstance(name, str) or not name.strip() or not isinstance(inner, Mapping):
        return None
    return Choice(name=name, given=tuple((str(key), _frozen(item)) for key, item in inner.items()))


def _frozen(value: object) -> object:
    """Lists as tuples, so that choices can be compared and kept in sets."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_frozen(item) for item in value)
    return value
