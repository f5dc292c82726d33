"""A verb of the command line, as a plugin adds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpkit.contracts.factories import checked_name
from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import nonempty_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`dpkit NAME ...`. `doc` is one line of help; `load()` gives the verb itself, and is called when the verb is asked for.

    A verb is a `click.Command`, or a function of the list of arguments that returns an exit code (None is 0). Loading it late
    keeps the hook quick: what the verb needs is imported by `load`.
    """

    name: str
    doc: str
    load: Callable[[], object]

    def __post_init__(self) -> None:
        checked_name(self.name, where="Command")
        where = f"Command({self.name})"
        nonempty_text(self.doc, field="doc", where=where)
        if not callable(self.load):
            raise InvalidValueError(field="load", found=self.load, allowed="a function that gives the verb", where=where)
