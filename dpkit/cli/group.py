"""`dpkit` as click sees it: a group of verbs that are imported when they are asked for."""

from __future__ import annotations

import click

from dpkit._version import __version__
from dpkit.cli import OF_PLUGINS, VERBS
from dpkit.cli.verbs import LazyVerbs


@click.group(cls=LazyVerbs, verbs=VERBS, epilog=OF_PLUGINS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpkit")
def main() -> None:
    """Private analyses from a YAML file: every number priced before data is touched, and derived from a named theorem.

    Exit codes: 0 fine; 1 refuted or over budget; 2 wrong input.

    Example: dpkit plan analysis.yaml && dpkit run analysis.yaml
    """
