"""A verb of the command line, as a plugin adds it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dpkit.contracts.factories import checked_name
from dpkit.privacy.checks import checked, function, nonempty_text
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(name=checked_name, doc=nonempty_text, load=partial(function, allowed="a function that gives the verb"))
class Command:
    """`dpkit NAME ...`. `doc` is one line of help; `load()` gives the verb itself, and is called when the verb is asked for.

    A verb is a `click.Command`, or a function of the list of arguments that returns an exit code (None is 0). Loading it late
    keeps the hook quick: what the verb needs is imported by `load`.
    """

    name: str
    doc: str
    load: Callable[[], object]
