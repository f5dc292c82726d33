"""The page docs/cli.md, written from the verbs: `python tests/cli/cli_reference.py > docs/cli.md`. A test holds it true."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator

import click

from dpkit.cli import main

_HEAD = """# The command line

`dpkit VERB --help` says the same. Exit codes: 0 fine; 1 refuted or over budget (or a check that failed); 2 wrong input. A
mistake is a message, never a traceback, and never costs anything. Questions and progress appear on a terminal only, on
stderr; a pipe gets the answer alone, and so does `--json`. Progress says how much is done of how much (steps, iterations,
samples; rows where their number is declared and public), and the time left. How long a pass takes may depend on the data:
do not publish a recording of the terminal.

`dpkit completion --install` lets your shell (bash, zsh or fish) complete verbs, options and paths.

Plugins may add verbs (the hook `dpkit_commands`). `dpkit plugins` lists them, and `dpkit NAME --help` explains one;
`dpkit --help` lists dpkit's own, because it answers before any plugin is imported. One that does not load is named, and the
others work. `dpkit bench` comes with the plugin dpkit-bench.

This page is generated from the verbs themselves.
"""


def cli_reference() -> str:
    """The page, in Markdown."""
    return "\n".join([_HEAD, *_pages(main, "dpkit")])


def _pages(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    if isinstance(command, click.Group):
        if name != "dpkit":
            yield f"## `{name}`\n\n{_prose(command)}\n"
            if getattr(command, "unnamed", ""):
                inner = command.commands[command.unnamed]
                yield _options(inner, click.Context(inner, info_name=name)) + "\n"
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from _pages(found, f"{name} {inner}")
        return
    arguments = " ".join(str(item.name).upper() for item in command.params if isinstance(item, click.Argument))
    head = f"## `{name}{' ' + arguments if arguments else ''}`"
    yield f"{head}\n\n{_prose(command)}\n\n{_options(command, context)}\n"


def _options(command: click.Command, context: click.Context) -> str:
    given = [item.get_help_record(context) for item in command.params if isinstance(item, click.Option)]
    options = [record for record in given if record is not None]
    return "\n".join(["| option | what it does |", "|---|---|", *(f"| `{left}` | {_cell(right)} |" for left, right in options)])


def _prose(command: click.Command) -> str:
    """The help in lines of at most 120 characters; examples as code, one in a line and several in a block."""
    shown = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        words = " ".join(paragraph.split())
        before, example, code = words.partition("Example: ")
        if paragraph.startswith("\b\n"):
            shown.append("\n".join(["```", paragraph.removeprefix("\b\n"), "```"]))
        else:
            words = before + (f"Example: `{code}`" if example else "")
            shown.append(textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False))
    return "\n\n".join(shown)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(cli_reference(), end="")
