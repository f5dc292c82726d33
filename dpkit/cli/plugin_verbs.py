"""Verbs of plugins: what `dpkit_commands` returns, made into commands that load what they run when they run."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import click

from dpkit.contracts.command import Command
from dpkit.errors import DpkitError, PluginError, kind_of
from dpkit.hooks.manager import installed_plugins


def plugin_verbs(own: Collection[str]) -> Mapping[str, click.Command]:
    """By name, the verbs of the installed plugins; dpkit's own are in its table."""
    found = installed_plugins()
    owners = {name: plugin.name for plugin in found.plugins for name in plugin.adds.get("commands", ())}
    return {
        command.name: _Verb(command, owners.get(command.name, command.name))
        for command in found.registry.commands
        if command.name not in own
    }


class _Verb(click.Command):
    """Hands its arguments over as they are. What it runs is a third party's: a failure is a message that names the verb."""

    def __init__(self, command: Command, owner: str) -> None:
        super().__init__(command.name, help=command.doc, add_help_option=False)
        self._declared = command
        self._owner = owner

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        loaded = self._loaded()
        if isinstance(loaded, click.Command):
            return loaded.make_context(info_name, args, parent=parent, **extra)
        context = click.Context(self, parent=parent, info_name=info_name)
        context.meta["dpkit.verb"] = (loaded, list(args))
        return context

    def invoke(self, ctx: click.Context) -> object:
        """Run the function; its number is the exit code."""
        function, arguments = ctx.meta["dpkit.verb"]
        code = function(arguments)
        if code:
            ctx.exit(int(code))
        return None

    def _loaded(self) -> object:
        """The verb itself, or a refusal: one that does not load must not look like a bug of dpkit."""
        try:
            found = self._declared.load()
        except (DpkitError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise self._refused(f"could not be loaded ({kind_of(error)}).") from error
        if not isinstance(found, click.Command) and not callable(found):
            raise self._refused(f"is a {type(found).__name__}, not a click command or a function.")
        return found

    def _refused(self, reason: str) -> PluginError:
        return PluginError(plugin=self._owner, reason=f"its verb {self._declared.name!r} {reason}")
