"""A group of verbs that are imported when they are asked for, and whose mistakes are messages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

Table = Mapping[str, tuple[str, str, str]]
"""By the verb's name: the module, the command in it, and one line of help."""


class LazyVerbs(click.Group):
    """Lists verbs from a table; imports one when it runs or shows its own help."""

    def __init__(self, *arguments: Any, verbs: Table, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, imported now."""
        if cmd_name not in self._verbs:
            return None
        module, name, _ = self._verbs[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without an import."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in self._verbs.items()])

    def invoke(self, ctx: click.Context) -> object:
        """A mistake is a message and an exit code, never a traceback."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            from dpkit.cli.errors import refused
            from dpkit.errors import DpkitError

            if isinstance(error, DpkitError):
                raise refused(error) from error
            raise
