"""`dpkit` as click sees it: a group of verbs that are imported when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

import click

from dpkit._version import __version__
from dpkit.cli import KNOWN_VERBS, OF_PLUGINS, VERBS
from dpkit.cli.errors import DEBUG

Table = Mapping[str, tuple[str, str, str]]
"""By the verb's name: the module, the command in it, and one line of help."""


class LazyVerbs(click.Group):
    """Lists verbs from a table; imports one when it runs or shows its own help.

    `known` names verbs that plugins bring, with the distribution to install.
    """

    def __init__(self, *arguments: Any, verbs: Table, known: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._verbs = verbs
        self._known = known

    @cached_property
    def _of_plugins(self) -> Mapping[str, click.Command]:
        from dpkit.cli.plugin_verbs import plugin_verbs

        return plugin_verbs(self._verbs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, imported now: from the table, else from the plugins, which are loaded only for a name that is not in it."""
        if cmd_name not in self._verbs:
            return self._of_plugins.get(cmd_name)
        module, name, _ = self._verbs[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without an import."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in self._verbs.items()])

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command as click does, but write only visible text to the terminal."""
        from dpkit.cli.terminal import visible_streams

        with visible_streams():
            return super().main(*arguments, **options)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was asked for, or a message with the plugin that brings it or the nearest one."""
        asked = args[0] if args else ""
        if asked and not asked.startswith("-") and asked not in self._verbs and asked not in self._of_plugins:
            ctx.fail(f"No such command {asked!r}.{self._hint(asked)}")
        return super().resolve_command(ctx, args)

    def _hint(self, asked: str) -> str:
        if asked in self._known:
            return f" Install the plugin that brings it: pip install {self._known[asked]}"
        from difflib import get_close_matches

        near = get_close_matches(asked, (*self._verbs, *self._of_plugins), n=1)
        return f" Did you mean {near[0]!r}?" if near else ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Whether JSON is asked for is known before a verb runs, so that what goes wrong is said in JSON, too."""
        ctx.meta["dpkit.json"] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """A mistake is a message and an exit code, never a traceback."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            from dpkit.cli.errors import refused
            from dpkit.errors import DpkitError

            if isinstance(error, DpkitError):
                raise refused(error, as_json=ctx.meta["dpkit.json"]) from error
            raise


@click.group(
    cls=LazyVerbs,
    verbs=VERBS,
    known=KNOWN_VERBS,
    epilog=OF_PLUGINS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="dpkit")
@click.option("--debug", is_flag=True, help="For authors of plugins, on made-up data only: show what a plugin raised.")
@click.pass_context
def main(context: click.Context, debug: bool) -> None:
    """Private analyses from a YAML file: every number priced before data is touched, and derived from a named theorem.

    Exit codes: 0 fine; 1 refuted or over budget; 2 wrong input.

    Example: dpkit plan analysis.yaml && dpkit run analysis.yaml
    """
    if debug:
        from dpkit.debugging import VARIABLE

        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = "1"
        context.call_on_close(lambda: _restore(VARIABLE, before))
        context.meta[DEBUG] = True


def _restore(variable: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value
