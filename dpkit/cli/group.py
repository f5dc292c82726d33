"""`dpkit` as click sees it: a group of verbs that are imported when they are asked for."""

from __future__ import annotations

import os

import click

from dpkit._version import __version__
from dpkit.cli import KNOWN_VERBS, OF_PLUGINS, VERBS
from dpkit.cli.errors import DEBUG
from dpkit.cli.verbs import LazyVerbs


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
